/* nufft_cuda_kernel.h: device functions that the spreading and interpolating kernels share. */
#ifndef NUFFT_CUDA_KERNEL_H
#define NUFFT_CUDA_KERNEL_H

#include <math_constants.h>

#include "nufft/nufft_cuda.h"

#ifdef MTIP_SINGLE
typedef float2 real_pair;
#else
typedef double2 real_pair;
#endif

#define ALL_LANES 0xffffffffu

static __device__ __forceinline__ int32_t slot_index(const gpu_task &a, uint32_t at)
{
#ifdef MTIP_SINGLE
    return a.index[at];
#else
    return a.slots[at].index;
#endif
}

/* Where a cell number stands: offsets in the bin, column and y. */
typedef struct spot {
    uint32_t bin;
    int column, y, x, z; /* x, z in the bin */
} spot;

static __device__ __forceinline__ spot spot_of(const gpu_grid &g, uint32_t cell)
{
    spot s;
    uint32_t rest = cell / g.bin_x;
    s.x = (int)(cell - rest * g.bin_x);
    s.bin = rest / g.bin_z;
    s.z = (int)(rest - s.bin * g.bin_z);
    s.column = (int)(s.bin / g.ny);
    s.y = (int)(s.bin - (uint32_t)s.column * g.ny);
    return s;
}

/* A strength; both parts NaN if one is not finite, and the vector marked. */
template <bool REAL>
static __device__ __forceinline__ void load_strength(const gpu_task &a, int64_t vector,
                                                     int32_t index, real value[2])
{
    value[0] = value[1] = 0;
    if (index < 0) return;
    int64_t at = vector * a.n_points + index;
    bool good;
    if (REAL) {
        value[0] = __ldg(a.values + at);
        good = isfinite(value[0]);
    } else {
        real_pair v = __ldg((const real_pair *)a.values + at);
        value[0] = v.x, value[1] = v.y;
        good = isfinite(v.x) && isfinite(v.y);
    }
    if (good) return;
    a.bad[vector] = 1;
    value[0] = value[1] = (real)CUDART_NAN;
}

template <bool REAL>
static __device__ __forceinline__ void store_value(const gpu_task &a, int64_t vector, int32_t index,
                                                   const real value[2])
{
    if (index < 0) return;
    int64_t at = vector * a.n_points + index;
    if (REAL)
        a.values[at] = value[0];
    else
        ((real_pair *)a.values)[at] = real_pair{value[0], value[1]};
}

/* grid[cell] += value */
template <bool REAL>
static __device__ __forceinline__ void add_cell(real *grid, uint32_t cell, real re, real im)
{
    if (REAL) {
        atomicAdd(grid + cell, re);
        return;
    }
#if defined(MTIP_SINGLE) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    atomicAdd((float2 *)grid + cell, make_float2(re, im));
#else
    atomicAdd(grid + 2 * (int64_t)cell, re);
    atomicAdd(grid + 2 * (int64_t)cell + 1, im);
#endif
}

/* Tasks: runs of a vector's slots, long ones first, the last eighth in short ones, handed out by
   a counter. Lengths are multiples of 32. */
typedef struct task_list {
    uint32_t n_slots, long_size, n_long, per_vector;
} task_list;

static __device__ __forceinline__ task_list make_tasks(const gpu_task &a, uint32_t workers)
{
    task_list t;
    t.n_slots = *a.n_slots;
    uint64_t share = (uint64_t)t.n_slots * a.batch / ((uint64_t)workers * 6);
    uint32_t size = share > 8192 ? 8192 : ((uint32_t)share + 255) / 256 * 256;
    t.long_size = size < 256 ? 256 : size;
    t.n_long = (t.n_slots - t.n_slots / 8) / t.long_size;
    uint32_t rest = t.n_slots - t.n_long * t.long_size, small = t.long_size / 8;
    t.per_vector = t.n_long + (rest + small - 1) / small;
    return t;
}

/* The slots [*first, *end) and the vector of task number `task`; false past the last. */
static __device__ __forceinline__ bool find_task(const gpu_task &a, const task_list &t,
                                                 uint32_t task, int *vector, uint32_t *first,
                                                 uint32_t *end)
{
    if (t.per_vector == 0 || task >= (uint64_t)t.per_vector * a.batch) return false;
    *vector = (int)(task / t.per_vector);
    uint32_t i = task - (uint32_t)*vector * t.per_vector;
    uint32_t size = i < t.n_long ? t.long_size : t.long_size / 8;
    *first = i < t.n_long ? i * size : t.n_long * t.long_size + (i - t.n_long) * size;
    *end = t.n_slots - *first < size ? t.n_slots : *first + size;
    return true;
}

#endif
