/* nufft_cuda_state.h: the state of a plan on a GPU, and who fills it; for nufft/nufft_cuda*.c only. */
#ifndef NUFFT_CUDA_STATE_H
#define NUFFT_CUDA_STATE_H

#include "core/cuda_try.h"
#include "nufft/fft.h"
#include "nufft/nufft_cuda.h"
#include "nufft/nufft_impl.h"

typedef struct launch {
    const void *kernel;
    unsigned blocks, threads;
    size_t shared;
} launch;

typedef struct gpu {
    const device *dev;
    int ordinal, major; /* of its compute capability */
    cudaStream_t stream;
    int64_t batch;  /* of grids */
    bool real_path; /* real grids */
    bool may_part;  /* sort by parts */
    bool deterministic;
    nufft_method method;
    gpu_task task; /* what the spreading kernels get */
    gpu_modes modes;
    gpu_points points;
    launch spread, interpolate;
    launch spread_few, interpolate_few; /* for few points; without blocks if there are none */
    bool spreads_few, interpolates_few; /* the points set are few */
    fft *adjoint, *forward;
    real *grid;         /* complex, or real on the real path; flags behind it */
    real *half;         /* half complex; real path only */
    int64_t grid_bytes; /* flags included: [batch] bad strengths, the task counter */
    int64_t half_bytes, sort_bytes, exact_bytes, slot_bytes;
    int64_t n_points, capacity; /* points set; most of them so far, for which there is memory */
    void *factors, *sort_memory, *exact_memory, *slot_memory;
    gpu_slot *parted; /* for sorting by parts */
} gpu;

/* nufft_cuda_plan.c: choices, memory and transforms. destroy accepts NULL. */
status PRECISE(gpu_create)(const nufft_setup *setup, void **state);
void PRECISE(gpu_destroy)(void *state);
/* nufft_cuda_slots.c: memory for the points, and their sorting. */
status PRECISE(gpu_set_points)(void *state, int64_t n, const void *const coordinates[]);

static inline int64_t gpu_rounded(int64_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

#endif
