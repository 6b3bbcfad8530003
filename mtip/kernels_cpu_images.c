/* kernels_cpu_images.c: images and their products on the CPU.  They are worked on in blocks of
   ROW_BLOCK rows with one BLAS thread each, so that a row's result depends neither on the other
   rows nor on the number of threads.  Lists are worked on in strips of references, numbers of a
   pixel side by side: a photon adds a run of STRIP numbers that the cache holds. */
#include "core/integer.h"
#include "mtip/kernels.h"

#include <cblas.h>
#include <stdlib.h>
#include <string.h>

enum { ROW_BLOCK = 32, COLUMN_BLOCK = 128, STRIP = 32, LIST_BLOCK = 256 };

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

/* -- lists -- */

/* Numbers of a strip that a processor adds at once, anywhere in memory. */
typedef real lanes __attribute__((vector_size(64), aligned(8), may_alias));
enum { STRIP_LANES = STRIP * sizeof(real) / sizeof(lanes) };

typedef struct photon_list {
    int64_t n; /* photons in the first pixels only */
    const int32_t *pixel;
    const real *value;
} photon_list;

static photon_list list_of(const image_rows *rows, int64_t i, int64_t n_pixels)
{
    const int64_t *start = rows->data;
    photon_list list = {start[i + 1] - start[i], rows->pixel + start[i],
                        (const real *)rows->value + start[i]};
    while (list.n > 0 && list.pixel[list.n - 1] >= n_pixels)
        list.n--;
    return list;
}

static void count_lists(const device *dev, const image_rows *rows, int64_t n, double *sums)
{
#pragma omp parallel for num_threads(device_threads(dev)) schedule(static)
    for (int64_t i = 0; i < rows->n_rows; i++) {
        const photon_list list = list_of(rows, i, n);
        sums[i] = 0;
        for (int64_t k = 0; k < list.n; k++)
            sums[i] += (double)list.value[k];
    }
}

/* strip[p][c] = rows[c][p] of c < n_columns, 0 of the others; some pixels at once, which the first
   cache holds */
static void to_strip(int64_t n_columns, int64_t n, const real *rows, real *strip)
{
    enum { PIXELS = 64 };
    memset(strip, 0, (size_t)(n * STRIP) * sizeof *strip);
    for (int64_t from = 0; from < n; from += PIXELS)
        for (int64_t c = 0; c < n_columns; c++)
            for (int64_t p = from; p < smaller(from + PIXELS, n); p++)
                strip[p * STRIP + c] = rows[c * n + p];
}

/* rows[c][p] += strip[p][c] */
static void add_strip(int64_t n_columns, int64_t n, const real *strip, real *rows)
{
    for (int64_t c = 0; c < n_columns; c++)
        for (int64_t p = 0; p < n; p++)
            rows[c * n + p] += strip[p * STRIP + c];
}

/* Vectors by hand: sums of an array go through memory for every photon. */
static WIDEST_VECTORS void score_list(const photon_list *list, const real *strip,
                                      real scores[STRIP])
{
    lanes sums[2][STRIP_LANES] = {0};
    for (int64_t k = 0; k < list->n; k++) {
        const lanes *at = (const lanes *)(strip + (int64_t)list->pixel[k] * STRIP);
        for (int c = 0; c < STRIP_LANES; c++)
            sums[k % 2][c] += list->value[k] * at[c];
    }
    for (int c = 0; c < STRIP_LANES; c++)
        sums[0][c] += sums[1][c];
    memcpy(scores, sums[0], STRIP * sizeof *scores);
}

/* The scores of rows first .. and of references r .. */
static void score_block(const image_rows *rows, int64_t first, int64_t n, int64_t n_columns,
                        const real *strip, real *scores, int64_t ld)
{
    const int64_t last = smaller(first + LIST_BLOCK, rows->n_rows);
    for (int64_t i = first; i < last; i++) {
        const photon_list list = list_of(rows, i, n);
        real sums[STRIP];
        score_list(&list, strip, sums);
        memcpy(scores + i * ld, sums, (size_t)n_columns * sizeof *sums);
    }
}

static status score_lists(const device *dev, const image_rows *rows, int64_t n,
                          int64_t n_references, const real *references, real *scores, int64_t ld)
{
    const int64_t n_strips = (n_references + STRIP - 1) / STRIP;
    real *strips = malloc((size_t)(n_strips * STRIP * n) * sizeof *strips + 1);
    if (!strips)
        FAIL(STATUS_RESOURCE, "out of host memory for %lld slices", (long long)n_references);
#pragma omp parallel num_threads(device_threads(dev))
    {
#pragma omp for schedule(static)
        for (int64_t s = 0; s < n_strips; s++)
            to_strip(smaller(STRIP, n_references - s * STRIP), n, references + s * STRIP * n,
                     strips + s * STRIP * n);
#pragma omp for schedule(dynamic) collapse(2)
        for (int64_t s = 0; s < n_strips; s++)
            for (int64_t i = 0; i < rows->n_rows; i += LIST_BLOCK)
                score_block(rows, i, n, smaller(STRIP, n_references - s * STRIP),
                            strips + s * STRIP * n, scores + s * STRIP, ld);
    }
    free(strips);
    return STATUS_OK;
}

static WIDEST_VECTORS void accumulate_list(const photon_list *list, const real shares[STRIP],
                                           real *strip)
{
    lanes own[STRIP_LANES];
    memcpy(own, shares, sizeof own);
    for (int64_t k = 0; k < list->n; k++) {
        lanes *at = (lanes *)(strip + (int64_t)list->pixel[k] * STRIP);
        for (int c = 0; c < STRIP_LANES; c++)
            at[c] += list->value[k] * own[c];
    }
}

/* Most images have no share in most strips. */
static void accumulate_strip(const image_rows *rows, int64_t n, int64_t n_columns,
                             const real *shares, int64_t ld, real *strip)
{
    for (int64_t i = 0; i < rows->n_rows; i++) {
        real own[STRIP] = {0};
        bool any = false;
        for (int64_t c = 0; c < n_columns; c++) {
            own[c] = shares[i * ld + c];
            any = any || own[c] != 0;
        }
        if (!any) continue;
        const photon_list list = list_of(rows, i, n);
        accumulate_list(&list, own, strip);
    }
}

static status accumulate_lists(const device *dev, const image_rows *rows, int64_t n,
                               int64_t n_references, const real *shares, int64_t ld, real *sums)
{
    const int64_t n_strips = (n_references + STRIP - 1) / STRIP;
    real *strips = calloc((size_t)(n_strips * STRIP * n) + 1, sizeof *strips);
    if (!strips)
        FAIL(STATUS_RESOURCE, "out of host memory for %lld slices", (long long)n_references);
#pragma omp parallel for num_threads(device_threads(dev)) schedule(dynamic)
    for (int64_t s = 0; s < n_strips; s++) {
        const int64_t n_columns = smaller(STRIP, n_references - s * STRIP);
        real *strip = strips + s * STRIP * n;
        accumulate_strip(rows, n, n_columns, shares + s * STRIP, ld, strip);
        add_strip(n_columns, n, strip, sums + s * STRIP * n);
    }
    free(strips);
    return STATUS_OK;
}

/* -- rows -- */

static status count(const device *dev, const image_rows *rows, int64_t n, double *sums)
{
    if (rows->format == ROWS_LISTS) {
        count_lists(dev, rows, n, sums);
        return STATUS_OK;
    }
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
    if (rows->format == ROWS_LISTS)
        return score_lists(dev, rows, n, n_references, references, scores, ld);
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
    if (rows->format == ROWS_LISTS)
        return accumulate_lists(dev, rows, n, n_references, shares, ld, sums);
    openblas_set_num_threads(1);
#pragma omp parallel for num_threads(device_threads(dev)) schedule(dynamic)
    for (int64_t r = 0; r < n_references; r += COLUMN_BLOCK)
        gemm(CblasTrans, CblasNoTrans, smaller(COLUMN_BLOCK, n_references - r), n, rows->n_rows,
             (const real *)shares + r, ld, rows->data, rows->stride, 1, (real *)sums + r * n, n);
    return STATUS_OK;
}

extern const image_kernels PRECISE(image_kernels_cpu);
const image_kernels PRECISE(image_kernels_cpu) = {false, CPU_LISTS_PHOTONS, store, count,
                                                  score, accumulate};
