/* nufft_cuda_points.h: device functions that the kernels sorting points share. */
#ifndef NUFFT_CUDA_POINTS_H
#define NUFFT_CUDA_POINTS_H

#include "nufft/fold.h"
#include "nufft/nufft_cuda.h"

#include <math_constants.h>

typedef struct place {
    uint32_t bin, cell;
    real t[3];
    bool bad;
} place;

/* The first cell touched and the polynomials' argument, as in the CPU's backend. A product in double
   holds single-precision coordinates to 1e-8 cells without compensation. */
static __device__ __forceinline__ bool locate(real x, int fine, int width, int *start, real *t)
{
#ifdef MTIP_SINGLE
    double turns = (double)x * TURNS_HIGH;
    double u = (turns - rint(turns)) * fine - 0.5 * width, first = ceil(u);
    double at = 2 * (first - u) - 1;
    int s = (int)first;
#else
    double high, low;
    turns_of(x, &high, &low);
    double cells = high * fine;
    double rest = fma(high, (double)fine, -cells) + low * fine;
    double whole = rint(cells), u = (cells - whole) + rest - 0.5 * width;
    double first = ceil(u), at = 2 * (first - u) - 1;
    int s = (int)whole + (int)first;
#endif
    s = s < 0 ? s + fine : s;
    bool good = at >= -1 && at <= 1;
    *start = good && (unsigned)s < (unsigned)fine ? s : 0;
    *t = good ? (real)at : (real)CUDART_NAN;
    return good;
}

#ifdef MTIP_SINGLE
/* The same for |x| < 64 and fine <= 2^18, by products of two floats: a GPU converts and rounds doubles
   at a quarter of its rate or less. Adding 1.5 x 2^23 rounds to the nearest integer, which then
   stands in the last bits. */
static __device__ __forceinline__ void locate_near(float x, float fine, int n, int width,
                                                   int *start, float *t)
{
    const float ROUND = 0x1.8p23f, LOW = (float)(TURNS_HIGH - (double)(float)TURNS_HIGH);
    float high = x * (float)TURNS_HIGH, low = fmaf(x, (float)TURNS_HIGH, -high) + x * LOW;
    float turns = high - ((high + ROUND) - ROUND), cells = turns * fine;
    float rest = fmaf(low, fine, fmaf(turns, fine, -cells));
    float whole = cells + ROUND, u = (cells - (whole - ROUND)) + rest - (width & 1 ? 0.5f : 0);
    int first = u > 0 ? 1 : u > -1 ? 0 : -1;
    int s = __float_as_int(whole) - __float_as_int(ROUND) - width / 2 + first;
    *start = s < 0 ? s + n : s;
    *t = 2 * ((float)first - u) - 1;
}
#endif

typedef struct position {
    real x[3];
} position;

static __device__ __forceinline__ position load_position(const gpu_points &p, int64_t j)
{
    position r;
#pragma unroll
    for (int d = 0; d < 3; d++)
        r.x[d] = d < p.g.dim ? p.x[d][j] : 0;
    return r;
}

/* The cells and arguments of all dimensions; false for a point that is not finite. */
static __device__ __forceinline__ bool locate_all(const gpu_grid &g, const position &of, int at[3],
                                                  real t[3])
{
    const int fine[3] = {g.nx, g.ny, g.nz};
#ifdef MTIP_SINGLE
    bool near = fabsf(of.x[0]) < 64 && fabsf(of.x[1]) < 64 && fabsf(of.x[2]) < 64;
    if (near && g.is_near) {
#pragma unroll
        for (int d = 0; d < 3; d++)
            if (d < g.dim) locate_near(of.x[d], g.sizes[d], fine[d], g.width, &at[d], &t[d]);
        return true;
    }
#endif
    bool good = true;
#pragma unroll
    for (int d = 0; d < 3; d++)
        if (d < g.dim && !locate(of.x[d], fine[d], g.width, &at[d], &t[d])) good = false;
    if (!good) at[0] = at[1] = at[2] = 0;
    return good;
}

static __device__ __forceinline__ place place_of(const gpu_points &p, const position &of)
{
    place r = {0, 0, {0, 0, 0}, false};
    int at[3] = {0, 0, 0};
    r.bad = !locate_all(p.g, of, at, r.t);
    uint32_t x, z, xb = divide(at[0], p.g.by_bin_x, &x), zb = divide(at[2], p.g.by_bin_z, &z);
    r.bin = (zb * p.g.bins_x + xb) * p.g.ny + at[1];
    r.cell = (r.bin * p.g.bin_z + z) * p.g.bin_x + x;
    return r;
}

/* Where this lane's run of equal bins starts and how long it is. */
static __device__ void run_of(uint32_t bin, uint32_t active, int lane, int *head, int *length)
{
    uint32_t before = __shfl_up_sync(active, bin, 1);
    uint32_t heads = __ballot_sync(active, lane == 0 || before != bin);
    *head = 31 - __clz(heads & (0xffffffffu >> (31 - lane)));
    uint32_t later = *head == 31 ? 0 : heads & (0xfffffffeu << *head);
    int end = later ? __ffs(later) - 1 : __popc(active);
    *length = end - *head;
}

static __device__ uint32_t padded(uint32_t n, int pad)
{
    return (n + pad - 1) / pad * pad;
}

/* Inclusive sum over the threads of a block. */
static __device__ uint32_t block_sum(uint32_t value, uint32_t *shared)
{
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    for (int step = 1; step < 32; step *= 2) {
        uint32_t other = __shfl_up_sync(0xffffffffu, value, step);
        if (lane >= step) value += other;
    }
    if (lane == 31) shared[warp] = value;
    __syncthreads();
    for (int i = 0; i < warp; i++)
        value += shared[i];
    __syncthreads();
    return value;
}

#ifdef MTIP_SINGLE
/* t in [-1, 1) as a number of 22 bits, rounded. */
static __device__ __forceinline__ uint32_t packed(float t)
{
    uint32_t q = __float2uint_rn((t + 1) * 0x1p21f);
    return q < 0x3fffffu ? q : 0x3fffffu;
}
#endif

static __device__ __forceinline__ gpu_slot slot_of(const place &r, int32_t index)
{
    gpu_slot slot;
#ifdef MTIP_SINGLE
    uint32_t q0 = packed(r.t[0]), q1 = packed(r.t[1]), q2 = packed(r.t[2]);
    slot.word[0] = (r.bad ? GPU_BAD_CELL : r.cell) | q0 << 31;
    slot.word[1] = (uint32_t)index | q1 << 31;
    slot.word[2] = q0 >> 1 | q2 << 21;
    slot.word[3] = q1 >> 1 | q2 >> 11 << 21;
#else
    slot.cell = r.cell;
    slot.index = index;
    slot.t[0] = r.t[0];
    slot.t[1] = r.t[1];
    slot.t[2] = r.t[2];
#endif
    return slot;
}

/* The bin of a slot; that of a bad point is 0. */
static __device__ __forceinline__ uint32_t slot_bin(const gpu_points &p, const gpu_slot &slot)
{
#ifdef MTIP_SINGLE
    uint32_t cell = slot.word[0] & 0x7fffffffu;
    if (cell == GPU_BAD_CELL) cell = 0;
#else
    uint32_t cell = slot.cell;
#endif
    uint32_t rest;
    return divide(cell, p.g.by_bin, &rest);
}

static __device__ __forceinline__ void count_one(uint32_t *bins, uint32_t bin, uint32_t active)
{
    int lane = threadIdx.x & 31, head, length;
    run_of(bin, active, lane, &head, &length);
    if (lane == head) atomicAdd(&bins[bin], (uint32_t)length);
}

/* The next place in a bin for every lane; one atomic for a run of equal bins. */
static __device__ __forceinline__ uint32_t take_place(uint32_t *bins, uint32_t bin, uint32_t active)
{
    int lane = threadIdx.x & 31, head, length;
    uint32_t to = 0;
    run_of(bin, active, lane, &head, &length);
    if (lane == head) to = atomicAdd(&bins[bin], (uint32_t)length);
    return __shfl_sync(active, to, head) + (lane - head);
}

/* counts[0..n) become their exclusive sums, by all threads of the block. */
static __device__ void block_scan(uint32_t *counts, int n, uint32_t *shared)
{
    int each = (n + (int)blockDim.x - 1) / (int)blockDim.x, first = threadIdx.x * each;
    uint32_t sum = 0;
    for (int i = first; i < first + each && i < n; i++)
        sum += counts[i];
    uint32_t before = block_sum(sum, shared) - sum;
    for (int i = first; i < first + each && i < n; i++) {
        uint32_t count = counts[i];
        counts[i] = before;
        before += count;
    }
    __syncthreads();
}

#endif
