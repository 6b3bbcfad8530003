/* nufft_cuda_points.cu: points to sorted slots: count, scan, scatter.

   Neighbours in the caller's order often fall into one bin; such runs cost one atomic, which also
   keeps a single heavy bin from serialising. */
#include "nufft/fold.h"
#include "nufft/nufft_cuda.h"

#include <math_constants.h>

typedef struct place {
    uint32_t bin, cell;
    real t[3];
    bool bad;
} place;

/* As locate in the CPU's backend: the first cell touched and the polynomials' argument. */
static __device__ bool locate(double x, int fine, int width, int *start, real *t)
{
    double high, low;
    turns_of(x, &high, &low);
    double cells = high * fine;
    double rest = fma(high, (double)fine, -cells) + low * fine;
    double whole = rint(cells), u = (cells - whole) + rest - 0.5 * width;
    double first = ceil(u), at = 2 * (first - u) - 1;
    *start = 0;
    *t = (real)CUDART_NAN;
    if (!(at >= -1 && at <= 1)) return false;
    long long s = ((long long)whole + (long long)first) % fine;
    *start = (int)(s < 0 ? s + fine : s);
    *t = (real)at;
    return true;
}

static __device__ place place_of(const gpu_points &p, int64_t j)
{
    place r;
    int at[3] = {0, 0, 0};
    const int fine[3] = {p.g.nx, p.g.ny, p.g.nz};
    r.bad = false;
#pragma unroll
    for (int d = 0; d < 3; d++) {
        r.t[d] = 0;
        if (d < p.g.dim && !locate((double)p.x[d][j], fine[d], p.g.width, &at[d], &r.t[d]))
            r.bad = true;
    }
    uint32_t xb = (uint32_t)at[0] / p.g.bin_x, zb = (uint32_t)at[2] / p.g.bin_z;
    r.bin = (zb * p.g.bins_x + xb) * p.g.ny + at[1];
    r.cell = (r.bin * p.g.bin_z + (at[2] - zb * p.g.bin_z)) * p.g.bin_x + (at[0] - xb * p.g.bin_x);
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

static __global__ void __launch_bounds__(256) count_points(const __grid_constant__ gpu_points p)
{
    int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t active = __ballot_sync(0xffffffffu, j < p.n);
    if (j >= p.n) return;
    place r = place_of(p, j);
    if (r.bad) *p.bad = 1;
    int lane = threadIdx.x & 31, head, length;
    run_of(r.bin, active, lane, &head, &length);
    if (lane == head) atomicAdd(&p.bins[r.bin], (uint32_t)length);
}

static __global__ void __launch_bounds__(256) scatter_points(const __grid_constant__ gpu_points p)
{
    int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t active = __ballot_sync(0xffffffffu, j < p.n);
    if (j >= p.n) return;
    place r = place_of(p, j);
    if (r.bad) *p.bad = 1;
    uint32_t to = (uint32_t)j;
    if (p.sorted) {
        int lane = threadIdx.x & 31, head, length;
        run_of(r.bin, active, lane, &head, &length);
        if (lane == head) to = atomicAdd(&p.bins[r.bin], (uint32_t)length);
        to = __shfl_sync(active, to, head) + (lane - head);
    }
    gpu_slot slot;
    slot.cell = r.cell;
    slot.t[0] = r.t[0];
    slot.t[1] = r.t[1];
    slot.t[2] = r.t[2];
#ifdef MTIP_SINGLE
    p.index[to] = (int32_t)j;
    *(float4 *)&p.slots[to] = *(const float4 *)&slot;
#else
    slot.index = (int32_t)j;
    ((double2 *)&p.slots[to])[0] = ((const double2 *)&slot)[0];
    ((double2 *)&p.slots[to])[1] = ((const double2 *)&slot)[1];
#endif
}

/* Fills the slots from a bin's end to the next multiple of pad. */
static __global__ void __launch_bounds__(256) fill_pads(const __grid_constant__ gpu_points p)
{
    int64_t bin = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (bin >= p.g.n_bins) return;
    for (uint32_t i = p.bins[bin]; i % p.g.pad; i++) {
        gpu_slot slot;
        slot.cell = (uint32_t)bin * p.g.bin_z * p.g.bin_x;
        slot.t[0] = slot.t[1] = slot.t[2] = 0;
#ifdef MTIP_SINGLE
        p.index[i] = GPU_EMPTY;
#else
        slot.index = GPU_EMPTY;
#endif
        p.slots[i] = slot;
    }
}

static __device__ uint32_t padded(uint32_t n, int pad)
{
    return (n + pad - 1) / pad * pad;
}

/* Inclusive sum over the threads of a block of 256. */
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

static __global__ void __launch_bounds__(256) sum_bins(const __grid_constant__ gpu_points p)
{
    __shared__ uint32_t shared[8];
    const uint4 *from = (const uint4 *)p.bins + (int64_t)blockIdx.x * (GPU_SCAN / 4);
    uint32_t sum = 0;
    for (int i = 0; i < 4; i++) {
        uint4 v = from[threadIdx.x + 256 * i];
        sum += padded(v.x, p.g.pad) + padded(v.y, p.g.pad) + padded(v.z, p.g.pad) +
               padded(v.w, p.g.pad);
    }
    sum = block_sum(sum, shared);
    if (threadIdx.x == 255) p.sums[blockIdx.x] = sum;
}

static __global__ void __launch_bounds__(256) scan_sums(const __grid_constant__ gpu_points p)
{
    __shared__ uint32_t shared[8], total;
    int64_t n = p.g.n_bins_padded / GPU_SCAN;
    uint32_t before = 0;
    for (int64_t first = 0; first < n; first += 256) {
        int64_t i = first + threadIdx.x;
        uint32_t value = i < n ? p.sums[i] : 0;
        uint32_t sum = block_sum(value, shared);
        if (i < n) p.sums[i] = before + sum - value;
        if (threadIdx.x == 255) total = sum;
        __syncthreads();
        before += total;
        __syncthreads();
    }
    if (threadIdx.x == 0) *p.n_slots = before;
}

static __global__ void __launch_bounds__(256) scan_bins(const __grid_constant__ gpu_points p)
{
    __shared__ uint32_t shared[8];
    uint4 *bins = (uint4 *)p.bins + (int64_t)blockIdx.x * (GPU_SCAN / 4) + 4 * threadIdx.x;
    uint4 v[4];
    uint32_t sum = 0;
    for (int i = 0; i < 4; i++) {
        uint4 n = bins[i];
        v[i].x = sum, sum += padded(n.x, p.g.pad);
        v[i].y = sum, sum += padded(n.y, p.g.pad);
        v[i].z = sum, sum += padded(n.z, p.g.pad);
        v[i].w = sum, sum += padded(n.w, p.g.pad);
    }
    uint32_t before = block_sum(sum, shared) - sum + p.sums[blockIdx.x];
    for (int i = 0; i < 4; i++) {
        v[i].x += before, v[i].y += before, v[i].z += before, v[i].w += before;
        bins[i] = v[i];
    }
}

static __global__ void set_number(uint32_t *to, uint32_t value)
{
    *to = value;
}

extern "C" cudaError_t PRECISE(gpu_sort)(const gpu_points *p, cudaStream_t stream)
{
    uint32_t blocks = (uint32_t)((p->n + 255) / 256);
    uint32_t scans = (uint32_t)(p->g.n_bins_padded / GPU_SCAN);
    cudaMemsetAsync(p->bad, 0, sizeof *p->bad, stream);
    if (!p->sorted || p->n == 0) {
        set_number<<<1, 1, 0, stream>>>(p->n_slots, (uint32_t)p->n);
        if (p->n) scatter_points<<<blocks, 256, 0, stream>>>(*p);
        return cudaGetLastError();
    }
    cudaMemsetAsync(p->bins, 0, sizeof(uint32_t) * (size_t)p->g.n_bins_padded, stream);
    count_points<<<blocks, 256, 0, stream>>>(*p);
    sum_bins<<<scans, 256, 0, stream>>>(*p);
    scan_sums<<<1, 256, 0, stream>>>(*p);
    scan_bins<<<scans, 256, 0, stream>>>(*p);
    scatter_points<<<blocks, 256, 0, stream>>>(*p);
    if (p->g.pad > 1) fill_pads<<<(uint32_t)((p->g.n_bins + 255) / 256), 256, 0, stream>>>(*p);
    return cudaGetLastError();
}
