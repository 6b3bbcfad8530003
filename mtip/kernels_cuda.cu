/* kernels_cuda.cu: what a GPU keeps for the stages between calls, the same in both precisions. */
#include "mtip/kernels_cuda.h"

#include <cublas_v2.h>

typedef struct kept {
    cublasHandle_t blas;
    void *memory[SCRATCH_SLOTS];
    int64_t bytes[SCRATCH_SLOTS];
} kept;

static status blas_status(cublasStatus_t result)
{
    if (result == CUBLAS_STATUS_SUCCESS) return STATUS_OK;
    FAIL(result == CUBLAS_STATUS_ALLOC_FAILED || result == CUBLAS_STATUS_NOT_INITIALIZED
             ? STATUS_RESOURCE
             : STATUS_INTERNAL,
         "GPU: cuBLAS fails: %s", cublasGetStatusName(result));
}

static void destroy(const device *dev, void *object)
{
    kept *k = (kept *)object;
    int before;
    for (int i = 0; i < SCRATCH_SLOTS; i++)
        device_free(dev, k->memory[i]);
    if (k->blas && cuda_try_enter(device_ordinal(dev), &before) == cudaSuccess) {
        (void)cublasDestroy(k->blas);
        cuda_leave(device_ordinal(dev), before);
    }
    free(k);
}

static status make(const device *dev, void **object)
{
    (void)dev;
    *object = calloc(1, sizeof(kept));
    if (!*object) FAIL(STATUS_RESOURCE, "out of host memory");
    return STATUS_OK;
}

status scratch(const device *dev, scratch_slot slot, int64_t bytes, void **memory)
{
    void *object;
    TRY(device_keep(dev, make, destroy, &object));
    kept *k = (kept *)object;
    if (bytes > k->bytes[slot]) {
        device_free(dev, k->memory[slot]);
        k->memory[slot] = NULL;
        k->bytes[slot] = 0;
        TRY(device_alloc(dev, bytes + bytes / 4, &k->memory[slot]));
        k->bytes[slot] = bytes + bytes / 4;
    }
    *memory = k->memory[slot];
    return STATUS_OK;
}

status upload(const device *dev, int64_t bytes, const void *from_host, void **memory)
{
    TRY(scratch(dev, SCRATCH_UPLOAD, bytes, memory));
    return device_from_host(dev, *memory, from_host, bytes);
}

status sum_room(const device *dev, int64_t n_sums, int64_t n_parts, double **parts)
{
    void *memory;
    TRY(scratch(dev, SCRATCH_SUMS, n_sums * (n_parts + 1) * (int64_t)sizeof(double), &memory));
    *parts = (double *)memory;
    return STATUS_OK;
}

static __global__ void add_parts(int n_parts, const double *parts, double *sums)
{
    double sum = 0;
    for (int i = threadIdx.x; i < n_parts; i += blockDim.x)
        sum += parts[blockIdx.x * (int64_t)n_parts + i];
    sum = block_sum(sum);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

status sum_parts(const device *dev, int n_sums, int n_parts, double *parts, double *result_host)
{
    double *sums = parts + (int64_t)n_sums * n_parts;
    TRY(launch(dev, dim3(n_sums), dim3(THREADS), add_parts, n_parts, parts, sums));
    return device_to_host(dev, result_host, sums, n_sums * (int64_t)sizeof(double));
}

/* Plain FP32 and FP64: the default mode takes no shorter formats. */
static status make_blas(const device *dev, kept *k)
{
    TRY(blas_status(cublasCreate(&k->blas)));
    return blas_status(cublasSetStream(k->blas, (cudaStream_t)device_stream(dev)));
}

status blas_handle(const device *dev, void **handle)
{
    void *object;
    TRY(device_keep(dev, make, destroy, &object));
    kept *k = (kept *)object;
    if (!k->blas) {
        int before;
        TRY(cuda_enter(device_ordinal(dev), &before));
        status result = make_blas(dev, k);
        cuda_leave(device_ordinal(dev), before);
        TRY(result);
    }
    *handle = k->blas;
    return STATUS_OK;
}
