/* nufft_cuda_stable.cu: sorting for deterministic plans, whose slots must not stand in the order in
   which atomics happen to be served: bins, and in a bin points in the caller's order. */
#include "nufft/nufft_cuda_points.h"

static __global__ void __launch_bounds__(256) make_pairs(const __grid_constant__ gpu_points p)
{
    int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t active = __ballot_sync(0xffffffffu, j < p.n);
    if (j >= p.n) return;
    place r = place_of(p, load_position(p, j));
    if (r.bad) *p.bad = 1;
    p.pairs.keys[0][j] = r.bin;
    p.pairs.values[0][j] = (uint32_t)j;
    count_one(p.bins, r.bin, active);
}

static __global__ void __launch_bounds__(256) find_heads(const __grid_constant__ gpu_points p)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= p.n) return;
    const uint32_t *bins = p.pairs.keys[1];
    if (i == 0 || bins[i] != bins[i - 1]) p.heads[bins[i]] = (uint32_t)i;
}

static __global__ void __launch_bounds__(256) gather_slots(const __grid_constant__ gpu_points p)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= p.n) return;
    uint32_t bin = p.pairs.keys[1][i], j = p.pairs.values[1][i];
    write_slot(p.slots + p.bins[bin] + (i - p.heads[bin]),
               slot_of(place_of(p, load_position(p, j)), (int32_t)j));
}

/* Starts of bins to ends. */
static __global__ void __launch_bounds__(256) find_ends(const __grid_constant__ gpu_points p)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= p.n) return;
    const uint32_t *bins = p.pairs.keys[1];
    uint32_t bin = bins[i];
    if (i + 1 == p.n || bins[i + 1] != bin) p.bins[bin] += (uint32_t)i + 1 - p.heads[bin];
}

extern "C" void PRECISE(gpu_begin_stable)(const gpu_points *p, cudaStream_t stream)
{
    make_pairs<<<(uint32_t)((p->n + 255) / 256), 256, 0, stream>>>(*p);
}

extern "C" cudaError_t PRECISE(gpu_end_stable)(const gpu_points *p, cudaStream_t stream)
{
    uint32_t blocks = (uint32_t)((p->n + 255) / 256);
    int bits = 1;
    while (p->g.n_bins > (int64_t)1 << bits)
        bits++;
    cudaError_t error = gpu_sort_pairs(&p->pairs, p->n, bits, stream);
    if (error != cudaSuccess) return error;
    find_heads<<<blocks, 256, 0, stream>>>(*p);
    gather_slots<<<blocks, 256, 0, stream>>>(*p);
    find_ends<<<blocks, 256, 0, stream>>>(*p);
    return cudaGetLastError();
}
