/* kernels_cuda.h: what the GPU's tables share: launches, scratch memory, sums in a fixed order; for
   mtip/kernels_cuda*.cu only. */
#ifndef MTIP_KERNELS_CUDA_H
#define MTIP_KERNELS_CUDA_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_runtime.h>

extern "C" {
#include "core/cuda_try.h"
#include "core/device.h"
#include "mtip/kernels.h"
}

#ifdef MTIP_SINGLE
typedef float2 complex_real;
#else
typedef double2 complex_real;
#endif

enum { THREADS = 256, WARP = 32 };

/* Arrays that live from one call to the next of the same slot. */
enum scratch_slot {
    SCRATCH_UPLOAD,
    SCRATCH_SUMS,
    SCRATCH_HALVES,
    SCRATCH_PRODUCT,
    SCRATCH_BARRIER,
    SCRATCH_SLOTS
};

/* At least `bytes` of device memory, the same until a call asks for more. */
status scratch(const device *dev, scratch_slot slot, int64_t bytes, void **memory);
/* A copy of a host array in SCRATCH_UPLOAD. */
status upload(const device *dev, int64_t bytes, const void *from_host, void **memory);
/* Room for n_sums sums of n_parts parts, and for the sums. */
status sum_room(const device *dev, int64_t n_sums, int64_t n_parts, double **parts);
/* result_host[s] = sum over n_parts of parts[s][..], device doubles, in a fixed order. parts must
   have room for n_sums more. Waits. */
status sum_parts(const device *dev, int n_sums, int n_parts, double *parts, double *result_host);
/* phase_kernels.iterate of either precision. */
extern "C" status phase_iterate_cuda_single(const device *dev, const phase_state *state,
                                            phase_step step, double beta, int count, bool *done);
extern "C" status phase_iterate_cuda_double(const device *dev, const phase_state *state,
                                            phase_step step, double beta, int count, bool *done);
/* cg_kernels.edge and .iterate likewise. */
extern "C" int64_t cg_edge_cuda_single(const device *dev, int64_t n);
extern "C" int64_t cg_edge_cuda_double(const device *dev, int64_t n);
extern "C" status cg_iterate_cuda_single(const device *dev, const cg_arrays *cg,
                                         const void *spectrum, void *half, int count);
extern "C" status cg_iterate_cuda_double(const device *dev, const cg_arrays *cg,
                                         const void *spectrum, void *half, int count);
/* The device's cublasHandle_t. */
status blas_handle(const device *dev, void **handle);

static inline int64_t divide_up(int64_t n, int64_t by)
{
    return (n + by - 1) / by;
}

/* Blocks that share the sum of n elements: a matter of n alone, so that the order is. */
static inline int sum_blocks(int64_t n)
{
    const int64_t blocks = divide_up(n, 4 * THREADS);
    return (int)(blocks < 1 ? 1 : blocks > 512 ? 512 : blocks);
}

/* A grid of a block per row (x) and THREADS columns (y), or of THREADS elements. */
static inline dim3 grid_of_rows(int64_t n_rows, int64_t n_columns)
{
    return dim3((unsigned)n_rows, (unsigned)divide_up(n_columns, THREADS));
}

static inline dim3 grid_of(int64_t n)
{
    return dim3((unsigned)divide_up(n, THREADS));
}

/* Starts a kernel on the device's stream; an empty grid is no work. void * arguments become the
   kernel's pointer types. */
template <typename... P, typename... A>
static status launch(const device *dev, dim3 grid, dim3 block, void (*kernel)(P...), A... arguments)
{
    int before;
    if (grid.x == 0 || grid.y == 0 || grid.z == 0) return STATUS_OK;
    TRY(cuda_enter(device_ordinal(dev), &before));
    kernel<<<grid, block, 0, (cudaStream_t)device_stream(dev)>>>(static_cast<P>(arguments)...);
    cudaError_t error = cudaGetLastError();
    cuda_leave(device_ordinal(dev), before);
    CUDA_TRY(error);
    return STATUS_OK;
}

/* First element of this thread in a grid_of. */
static __device__ inline int64_t element()
{
    return (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

/* Column of this thread in a grid_of_rows; the row is blockIdx.x. */
static __device__ inline int64_t column()
{
    return (int64_t)blockIdx.y * blockDim.x + threadIdx.x;
}

/* Sum over the block, in thread 0; all threads call it. */
static __device__ inline double block_sum(double value)
{
    __shared__ double parts[WARP];
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    for (int step = WARP / 2; step > 0; step /= 2)
        value += __shfl_down_sync(~0u, value, step);
    if (lane == 0) parts[warp] = value;
    __syncthreads();
    value = threadIdx.x < blockDim.x / WARP ? parts[threadIdx.x] : 0;
    for (int step = WARP / 2; warp == 0 && step > 0; step /= 2)
        value += __shfl_down_sync(~0u, value, step);
    __syncthreads();
    return value;
}

#endif
