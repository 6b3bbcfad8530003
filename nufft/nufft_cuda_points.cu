/* nufft_cuda_points.cu: points to sorted slots: count, scan, scatter.

   Neighbours in the caller's order often fall into one bin; such runs cost one atomic, which also
   keeps a single heavy bin from serialising. */
#include "nufft/nufft_cuda_points.h"

static __global__ void __launch_bounds__(256) count_points(const __grid_constant__ gpu_points p)
{
    int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t active = __ballot_sync(0xffffffffu, j < p.n);
    if (j >= p.n) return;
    count_one(p.bins, place_of(p, load_position(p, j)).bin, active);
}

static __global__ void __launch_bounds__(256) scatter_points(const __grid_constant__ gpu_points p)
{
    int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t active = __ballot_sync(0xffffffffu, j < p.n);
    if (j >= p.n) return;
    place r = place_of(p, load_position(p, j));
    if (r.bad) *p.bad = 1;
    uint32_t to = p.sorted ? take_place(p.bins, r.bin, active) : (uint32_t)j;
    write_slot(p.slots + to, slot_of(r, (int32_t)j));
}

/* Fills the slots from a bin's end to the next multiple of pad; double precision only. */
static __global__ void __launch_bounds__(256) fill_pads(const __grid_constant__ gpu_points p)
{
    int64_t bin = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (bin >= p.g.n_bins) return;
    place r = {(uint32_t)bin, (uint32_t)bin * p.g.bin_z * p.g.bin_x, {0, 0, 0}, false};
    for (uint32_t i = p.bins[bin]; i % p.g.pad; i++)
        write_slot(p.slots + i, slot_of(r, GPU_EMPTY));
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

/* Cuts the points of each block of bins into subproblems; a warp takes a block. */
static __global__ void __launch_bounds__(256) list_subproblems(const __grid_constant__ gpu_points p)
{
    int64_t block = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    int64_t blocks = (p.g.ny + p.g.block_y - 1) / p.g.block_y, column = block / blocks;
    if (column >= (int64_t)p.g.bins_x * p.g.bins_z) return;
    int64_t from = column * p.g.ny + block % blocks * p.g.block_y;
    int64_t to = min(from + p.g.block_y, (column + 1) * p.g.ny);
    uint32_t start = from ? p.bins[from - 1] : 0, n = p.bins[to - 1] - start, at = 0;
    n = (n + GPU_SM_POINTS - 1) / GPU_SM_POINTS;
    if (lane == 0) at = atomicAdd(p.n_subproblems, n);
    at = __shfl_sync(0xffffffffu, at, 0);
    for (int64_t i = lane; i < n; i += 32)
        p.firsts[at + i] = start + (uint32_t)i * GPU_SM_POINTS;
}

static __global__ void set_number(uint32_t *to, uint32_t value)
{
    *to = value;
}

static cudaError_t sort_by_bins(const gpu_points *p, cudaStream_t stream)
{
    uint32_t blocks = (uint32_t)((p->n + 255) / 256);
    uint32_t scans = (uint32_t)(p->g.n_bins_padded / GPU_SCAN);
    cudaError_t error = cudaSuccess;
    if (p->stable)
        PRECISE(gpu_begin_stable)(p, stream);
    else
        count_points<<<blocks, 256, 0, stream>>>(*p);
    sum_bins<<<scans, 256, 0, stream>>>(*p);
    scan_sums<<<1, 256, 0, stream>>>(*p);
    scan_bins<<<scans, 256, 0, stream>>>(*p);
    if (p->stable)
        error = PRECISE(gpu_end_stable)(p, stream);
    else
        scatter_points<<<blocks, 256, 0, stream>>>(*p);
    if (p->g.pad > 1) fill_pads<<<(uint32_t)((p->g.n_bins + 255) / 256), 256, 0, stream>>>(*p);
    return error;
}

extern "C" cudaError_t PRECISE(gpu_sort)(const gpu_points *p, cudaStream_t stream)
{
    cudaMemsetAsync(p->bad, 0, sizeof *p->bad, stream);
    cudaMemsetAsync(p->n_subproblems, 0, sizeof *p->n_subproblems, stream);
    if (!p->sorted || p->n == 0) {
        uint32_t blocks = (uint32_t)((p->n + 255) / 256);
        set_number<<<1, 1, 0, stream>>>(p->n_slots, (uint32_t)p->n);
        if (p->n) scatter_points<<<blocks, 256, 0, stream>>>(*p);
        return cudaGetLastError();
    }
    cudaMemsetAsync(p->bins, 0, sizeof(uint32_t) * (size_t)p->g.n_bins_padded, stream);
    cudaError_t error = cudaSuccess;
    if (p->parted)
        gpu_sort_by_parts(p, stream);
    else
        error = sort_by_bins(p, stream);
    if (p->firsts) {
        int64_t blocks_y = (p->g.ny + p->g.block_y - 1) / p->g.block_y;
        int64_t warps = (int64_t)p->g.bins_x * p->g.bins_z * blocks_y;
        list_subproblems<<<(uint32_t)((warps + 7) / 8), 256, 0, stream>>>(*p);
    }
    return error != cudaSuccess ? error : cudaGetLastError();
}
