/* kernels_cuda_images.cu: images and their products on a GPU, by cuBLAS. */
#include "mtip/kernels_cuda.h"

#include <cublas_v2.h>
#include <cuda_fp16.h>

/* A number of a row as it is stored. */
static __device__ double wide(const real *row, int64_t p)
{
    return (double)row[p];
}

static __device__ double wide(const __half *row, int64_t p)
{
    return (double)__half2float(row[p]);
}

static __device__ void narrow(double value, real *to)
{
    *to = (real)value;
}

static __device__ void narrow(double value, __half *to)
{
    *to = __double2half(value);
}

/* A block per row. */
template <typename T>
static __global__ void store_rows(int64_t n, const float *counts, const real *weights,
                                  int64_t stride, T *rows)
{
    __shared__ double scale;
    const float *from = counts + blockIdx.x * n;
    double sum = 0;
    for (int64_t p = threadIdx.x; weights && p < n; p += blockDim.x) {
        const double value = (double)from[p] * (double)weights[p];
        sum += value * value;
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) scale = sum > 0 ? 1 / sqrt(sum) : 1;
    __syncthreads();
    for (int64_t p = threadIdx.x; p < n; p += blockDim.x)
        narrow((double)from[p] * (weights ? (double)weights[p] * scale : 1),
               rows + blockIdx.x * stride + p);
}

static status store(const device *dev, const float *counts, const void *weights,
                    const image_rows *rows)
{
    const dim3 grid((unsigned)rows->n_rows), block(THREADS);
    if (rows->format == ROWS_HALF)
        return launch(dev, grid, block, store_rows<__half>, rows->n_pixels, counts, weights,
                      rows->stride, rows->data);
    return launch(dev, grid, block, store_rows<real>, rows->n_pixels, counts, weights, rows->stride,
                  rows->data);
}

template <typename T>
static __global__ void count_rows(int64_t stride, int64_t n, const T *rows, double *sums)
{
    double sum = 0;
    for (int64_t p = threadIdx.x; p < n; p += blockDim.x)
        sum += wide(rows + blockIdx.x * stride, p);
    sum = block_sum(sum);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

static status count(const device *dev, const image_rows *rows, int64_t n, double *sums)
{
    const dim3 grid((unsigned)rows->n_rows), block(THREADS);
    if (rows->format == ROWS_HALF)
        return launch(dev, grid, block, count_rows<__half>, rows->stride, n, rows->data, sums);
    return launch(dev, grid, block, count_rows<real>, rows->stride, n, rows->data, sums);
}

/* c[n][m] = alpha op(a) op(b) + beta c, column-major as cuBLAS wants it; a and b of one type. */
typedef struct product {
    cublasOperation_t op_a, op_b;
    int64_t m, n, k;
    cudaDataType_t type;
    const void *a, *b;
    int64_t lda, ldb;
    real alpha, beta;
    void *c;
    int64_t ldc;
} product;

#ifdef MTIP_SINGLE
static const cudaDataType_t real_type = CUDA_R_32F;
static const cublasComputeType_t arithmetic = CUBLAS_COMPUTE_32F;
#else
static const cudaDataType_t real_type = CUDA_R_64F;
static const cublasComputeType_t arithmetic = CUBLAS_COMPUTE_64F;
#endif

static status gemm(const device *dev, const product *p)
{
    void *handle;
    int before;
    if (p->m == 0 || p->n == 0) return STATUS_OK;
    TRY(blas_handle(dev, &handle));
    TRY(cuda_enter(device_ordinal(dev), &before));
    cublasStatus_t result =
        cublasGemmEx_64((cublasHandle_t)handle, p->op_a, p->op_b, p->m, p->n, p->k, &p->alpha, p->a,
                        p->type, p->lda, p->b, p->type, p->ldb, &p->beta, p->c, real_type, p->ldc,
                        arithmetic, CUBLAS_GEMM_DEFAULT);
    cuda_leave(device_ordinal(dev), before);
    if (result == CUBLAS_STATUS_SUCCESS) return STATUS_OK;
    FAIL(result == CUBLAS_STATUS_ALLOC_FAILED ? STATUS_RESOURCE : STATUS_INTERNAL,
         "GPU: a product of %lld x %lld by %lld fails: %s", (long long)p->m, (long long)p->n,
         (long long)p->k, cublasGetStatusName(result));
}

/* What tensor cores want numbers of halves and of singles in a row to be a multiple of. */
static int64_t padded(int64_t n)
{
    return divide_up(n, 8) * 8;
}

/* high[i][j] + low[i][j] = scale * in[i][j] to 22 bits, zeros beyond n; a block per row and THREADS
   columns. */
static __global__ void split_rows(int64_t n, real scale, const real *in, int64_t ld, int64_t stride,
                                  __half *high, __half *low)
{
    const int64_t j = column(), at = blockIdx.x * stride + j;
    if (j >= stride) return;
    const float value = j < n ? (float)(scale * in[blockIdx.x * ld + j]) : 0;
    const __half top = __float2half(value);
    high[at] = top;
    low[at] = __float2half(value - __half2float(top));
}

/* Two arrays of rows of padded(n), one after the other. */
static status split(const device *dev, int64_t n_rows, int64_t n, double scale, const void *in,
                    int64_t ld, void *halves[2])
{
    const int64_t stride = padded(n);
    TRY(scratch(dev, SCRATCH_HALVES, 2 * n_rows * stride * (int64_t)sizeof(__half), &halves[0]));
    halves[1] = (__half *)halves[0] + n_rows * stride;
    return launch(dev, grid_of_rows(n_rows, stride), dim3(THREADS), split_rows, n, (real)scale, in,
                  ld, stride, halves[0], halves[1]);
}

static status score(const device *dev, const image_rows *rows, int64_t n, int64_t n_references,
                    const void *references, void *scores, int64_t ld)
{
    product p = {CUBLAS_OP_T,  CUBLAS_OP_N, n_references,
                 rows->n_rows, n,           real_type,
                 references,   rows->data,  n,
                 rows->stride, 1,           0,
                 scores,       ld};
    if (rows->format == ROWS_REAL) return gemm(dev, &p);
    void *halves[2];
    TRY(split(dev, n_references, n, 1, references, n, halves));
    p.type = CUDA_R_16F;
    p.k = p.lda = padded(n);       /* whatever images have there, references have zeros */
    for (int i = 1; i >= 0; i--) { /* the small part first */
        p.a = halves[i];
        TRY(gemm(dev, &p));
        p.beta = 1;
    }
    return STATUS_OK;
}

static __global__ void add_rows(int64_t n, const real *in, int64_t stride, real *sums)
{
    const int64_t p = column();
    if (p < n) sums[blockIdx.x * n + p] += in[blockIdx.x * stride + p];
}

/* Shares are scaled into the range where halves have all their bits. Tensor cores cut what they
   add up; between pieces of HALF_ROWS images it is rounded. */
static const double half_scale = 0x1p14;
enum { HALF_ROWS = 4096 };

static status accumulate_halves(const device *dev, const image_rows *rows, product p,
                                const real *shares, int64_t ld)
{
    void *halves[2];
    p.type = CUDA_R_16F;
    p.alpha = (real)(1 / half_scale);
    p.ldb = padded(p.n);
    for (int64_t first = 0; first < rows->n_rows; first += HALF_ROWS) {
        p.k = rows->n_rows - first < HALF_ROWS ? rows->n_rows - first : HALF_ROWS;
        p.a = (const __half *)rows->data + first * rows->stride;
        TRY(split(dev, p.k, p.n, half_scale, shares + first * ld, ld, halves));
        for (int i = 1; i >= 0; i--) {
            p.b = halves[i];
            TRY(gemm(dev, &p));
        }
    }
    return STATUS_OK;
}

static status accumulate(const device *dev, const image_rows *rows, int64_t n, int64_t n_references,
                         const void *shares, int64_t ld, void *sums)
{
    product p = {CUBLAS_OP_N,
                 CUBLAS_OP_T,
                 n,
                 n_references,
                 rows->n_rows,
                 real_type,
                 rows->data,
                 shares,
                 rows->stride,
                 ld,
                 1,
                 1,
                 sums,
                 n};
    if (rows->format == ROWS_REAL) return gemm(dev, &p);
    const int64_t bytes = n_references * padded(n) * (int64_t)sizeof(real);
    p.m = p.ldc = padded(n); /* more pixels than asked for, to be left out */
    TRY(scratch(dev, SCRATCH_PRODUCT, bytes, &p.c));
    TRY(device_zero(dev, p.c, bytes));
    TRY(accumulate_halves(dev, rows, p, (const real *)shares, ld));
    return launch(dev, grid_of_rows(n_references, n), dim3(THREADS), add_rows, n, p.c, padded(n),
                  sums);
}

extern "C" const image_kernels PRECISE(image_kernels_cuda);
extern "C" const image_kernels PRECISE(image_kernels_cuda) = {
    REAL_PRECISION == PRECISION_SINGLE, 0, store, count, score, accumulate,
};
