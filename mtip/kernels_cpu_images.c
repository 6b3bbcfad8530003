/* kernels_cpu_images.c: images and their products on the CPU.  They are worked on in blocks of
   ROW_BLOCK rows with one BLAS thread each, so that a row's result depends neither on the other
   rows nor on the number of threads. */
#include "core/integer.h"
#include "mtip/kernels.h"

#include <cblas.h>

enum { ROW_BLOCK = 32, COLUMN_BLOCK = 128 };

static void store_row(int64_t n, const float *counts, const real *weights, real *row)
{
    double sum = 0;
    for (int64_t p = 0; p < n; p++) {
        const double value = (double)counts[p] * (weights ? (double)weights[p] : 1);
        row[p] = (real)value;
        sum += value * value;
    }
    const double scale = sum > 0 ? 1 / sqrt(sum) : 1;
    for (int64_t p = 0; weights && p < n; p++)
        row[p] = (real)((double)counts[p] * (double)weights[p] * scale);
}

static status store(const device *dev, const float *counts, const void *weights,
                    const image_rows *rows)
{
    const int64_t n = rows->n_pixels;
#pragma omp parallel for num_threads(device_threads(dev)) schedule(static)
    for (int64_t i = 0; i < rows->n_rows; i++)
        store_row(n, counts + i * n, weights, (real *)rows->data + i * rows->stride);
    return STATUS_OK;
}

static status count(const device *dev, const image_rows *rows, int64_t n, double *sums)
{
#pragma omp parallel for num_threads(device_threads(dev)) schedule(static)
    for (int64_t i = 0; i < rows->n_rows; i++) {
        const real *row = (const real *)rows->data + i * rows->stride;
        double sum = 0;
        for (int64_t p = 0; p < n; p++)
            sum += (double)row[p];
        sums[i] = sum;
    }
    return STATUS_OK;
}

/* A matrix product has the parameters that BLAS gives it. NOLINTBEGIN(readability-function-size) */
static void gemm(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int64_t m, int64_t n, int64_t k,
                 const real *a, int64_t lda, const real *b, int64_t ldb, real beta, real *c,
                 int64_t ldc)
{
#ifdef MTIP_SINGLE
    cblas_sgemm(CblasRowMajor, ta, tb, (int)m, (int)n, (int)k, 1, a, (int)lda, b, (int)ldb, beta, c,
                (int)ldc);
#else
    cblas_dgemm(CblasRowMajor, ta, tb, (int)m, (int)n, (int)k, 1, a, (int)lda, b, (int)ldb, beta, c,
                (int)ldc);
#endif
}
/* NOLINTEND(readability-function-size) */

static status score(const device *dev, const image_rows *rows, int64_t n, int64_t n_references,
                    const void *references, void *scores, int64_t ld)
{
    const real *images = rows->data;
    openblas_set_num_threads(1);
#pragma omp parallel for num_threads(device_threads(dev)) schedule(dynamic)
    for (int64_t i = 0; i < rows->n_rows; i += ROW_BLOCK)
        gemm(CblasNoTrans, CblasTrans, smaller(ROW_BLOCK, rows->n_rows - i), n_references, n,
             images + i * rows->stride, rows->stride, references, n, 0, (real *)scores + i * ld,
             ld);
    return STATUS_OK;
}

static status accumulate(const device *dev, const image_rows *rows, int64_t n, int64_t n_references,
                         const void *shares, int64_t ld, void *sums)
{
    openblas_set_num_threads(1);
#pragma omp parallel for num_threads(device_threads(dev)) schedule(dynamic)
    for (int64_t r = 0; r < n_references; r += COLUMN_BLOCK)
        gemm(CblasTrans, CblasNoTrans, smaller(COLUMN_BLOCK, n_references - r), n, rows->n_rows,
             (const real *)shares + r, ld, rows->data, rows->stride, 1, (real *)sums + r * n, n);
    return STATUS_OK;
}

extern const image_kernels PRECISE(image_kernels_cpu);
const image_kernels PRECISE(image_kernels_cpu) = {false, store, count, score, accumulate};
