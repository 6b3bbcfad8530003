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

/* A slot, unpacked. */
typedef struct point {
    uint32_t cell;
    int32_t index;
    real t[3];
} point;

#ifdef MTIP_SINGLE
/* A number of 22 bits as t in [-1, 1): through the mantissa of a number in [1, 2). */
static __device__ __forceinline__ float unpacked(uint32_t q)
{
    return 2 * __uint_as_float(0x3f800000u | q << 1) - 3;
}
#endif

static __device__ __forceinline__ point point_of(const gpu_slot &slot)
{
    point p;
#ifdef MTIP_SINGLE
    const uint32_t *w = slot.word;
    p.cell = w[0] & 0x7fffffffu;
    p.index = (int32_t)(w[1] & 0x7fffffffu);
    p.t[0] = unpacked((w[2] & 0x1fffffu) << 1 | w[0] >> 31);
    p.t[1] = unpacked((w[3] & 0x1fffffu) << 1 | w[1] >> 31);
    p.t[2] = unpacked(w[2] >> 21 | w[3] >> 21 << 11);
    if (p.cell == GPU_BAD_CELL) {
        p.cell = 0;
        p.t[0] = (real)CUDART_NAN;
    }
#else
    p.cell = slot.cell;
    p.index = slot.index;
    for (int d = 0; d < 3; d++)
        p.t[d] = slot.t[d];
#endif
    return p;
}

/* Where a cell number stands: offsets in the bin, column and y. */
typedef struct spot {
    uint32_t bin;
    int column, y, x, z; /* x, z in the bin */
} spot;

static __device__ __forceinline__ spot spot_of(const gpu_grid &g, uint32_t cell)
{
    spot s;
    uint32_t x, y, z, rest = divide(cell, g.by_bin_x, &x);
    s.bin = divide(rest, g.by_bin_z, &z);
    s.column = (int)divide(s.bin, g.by_ny, &y);
    s.x = (int)x, s.y = (int)y, s.z = (int)z;
    return s;
}

/* A strength as it is; 0 for an empty slot. */
template <bool REAL>
static __device__ __forceinline__ real_pair load_strength(const gpu_task &a, int64_t vector,
                                                          int32_t index)
{
    if (index < 0) return real_pair{0, 0};
    int64_t at = vector * a.n_points + index;
    if (REAL) return real_pair{__ldg(a.values + at), 0};
    return __ldg((const real_pair *)a.values + at);
}

/* Both parts NaN if one is not finite, and the vector marked. */
static __device__ __forceinline__ void check_strength(const gpu_task &a, int64_t vector,
                                                      real_pair *value)
{
    if (isfinite(value->x) && isfinite(value->y)) return;
    a.bad[vector] = 1;
    value->x = value->y = (real)CUDART_NAN;
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

/* A number to the sums of a deterministic plan: see nufft_cuda_exact.cu. */
static __device__ __forceinline__ void add_exactly(const gpu_task &a, int64_t vector, int64_t at,
                                                   double value)
{
    double *to = a.exact + vector * a.grid_step + at;
    double unit = a.rounding[2 * vector], high = (value + unit) - unit;
    atomicAdd(to, high);
    if (GPU_EXACT_WORDS < 2) return;
    unit = a.rounding[2 * vector + 1];
    atomicAdd(to + a.batch * a.grid_step, (value - high + unit) - unit);
}

/* grid[cell] += value; grid is the vector's. FIXED: to the sums of a deterministic plan instead. */
template <bool REAL, bool FIXED>
static __device__ __forceinline__ void add_cell(const gpu_task &a, int64_t vector, real *grid,
                                                uint32_t cell, real re, real im)
{
    if (FIXED) {
        add_exactly(a, vector, REAL ? cell : 2 * (int64_t)cell, re);
        if (!REAL) add_exactly(a, vector, 2 * (int64_t)cell + 1, im);
        return;
    }
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

/* Cells of the window past the end of the grid; the grid is larger than the window. */
static __device__ __forceinline__ uint32_t wrapped(uint32_t i, uint32_t n)
{
    return i < n ? i : i - n;
}

/* Tasks: runs of a vector's slots, long ones first, the last eighth in short ones, handed out by
   a counter. Lengths are multiples of 32, `least` at least where that leaves no worker without a task,
   `most` at most: with long tasks more of the grid is in work than the L2 cache holds, with short
   ones more of it is written twice at their ends. */
typedef struct task_list {
    uint32_t n_slots, long_size, short_size, n_long, per_vector;
} task_list;

static __device__ __forceinline__ task_list make_tasks(const gpu_task &a, uint32_t workers,
                                                       uint32_t least, uint32_t most)
{
    task_list t;
    t.n_slots = *a.n_slots;
    uint64_t slots = (uint64_t)t.n_slots * a.batch, share = slots / ((uint64_t)workers * 6);
    uint32_t size = share > most ? most : ((uint32_t)share + 255) / 256 * 256, fewest = 256;
    while (fewest > least && slots < (uint64_t)fewest * workers)
        fewest /= 2;
    t.long_size = share < 256 ? fewest : size;
    t.short_size = t.long_size < 256 ? 32 : t.long_size / 8;
    t.n_long = (t.n_slots - t.n_slots / 8) / t.long_size;
    uint32_t rest = t.n_slots - t.n_long * t.long_size;
    t.per_vector = t.n_long + (rest + t.short_size - 1) / t.short_size;
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
    uint32_t size = i < t.n_long ? t.long_size : t.short_size;
    *first = i < t.n_long ? i * size : t.n_long * t.long_size + (i - t.n_long) * size;
    *end = t.n_slots - *first < size ? t.n_slots : *first + size;
    return true;
}

#endif
