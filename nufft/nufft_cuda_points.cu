/* nufft_cuda_points.cu: points to sorted slots: count, scan, scatter.

   Neighbours in the caller's order often fall into one bin; such runs cost one atomic, which also
   keeps a single heavy bin from serialising. */
#include "nufft/fold.h"
#include "nufft/nufft_cuda.h"

#include <math_constants.h>

#ifdef MTIP_SINGLE
#define PART_EACH 8 /* points of a thread; their slots must fit the shared memory */
#else
#define PART_EACH 4
#endif

enum { PART_THREADS = 1024, PART_MOST = 65536, SORT_THREADS = 512, HEAVY_EACH = 8192 };

typedef struct place {
    uint32_t bin, cell;
    real t[3];
    bool bad;
} place;

/* As in the CPU's backend: the first cell touched and the polynomials' argument. A product in double
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

static __device__ place place_of(const gpu_points &p, int64_t j)
{
    place r;
    int at[3] = {0, 0, 0};
    const int fine[3] = {p.g.nx, p.g.ny, p.g.nz};
    r.bad = false;
#pragma unroll
    for (int d = 0; d < 3; d++) {
        r.t[d] = 0;
        if (d < p.g.dim && !locate(p.x[d][j], fine[d], p.g.width, &at[d], &r.t[d])) r.bad = true;
    }
    if (r.bad) at[0] = at[1] = at[2] = 0;
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

static __device__ __forceinline__ void write_slot(gpu_slot *to, const gpu_slot &slot)
{
#ifdef MTIP_SINGLE
    *(uint4 *)to = *(const uint4 *)&slot;
#else
    ((double2 *)to)[0] = ((const double2 *)&slot)[0];
    ((double2 *)to)[1] = ((const double2 *)&slot)[1];
#endif
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

static __global__ void __launch_bounds__(256) count_points(const __grid_constant__ gpu_points p)
{
    int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t active = __ballot_sync(0xffffffffu, j < p.n);
    if (j >= p.n) return;
    count_one(p.bins, place_of(p, j).bin, active);
}

static __global__ void __launch_bounds__(256) scatter_points(const __grid_constant__ gpu_points p)
{
    int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t active = __ballot_sync(0xffffffffu, j < p.n);
    if (j >= p.n) return;
    place r = place_of(p, j);
    if (r.bad) *p.bad = 1;
    uint32_t to = p.sorted ? take_place(p.bins, r.bin, active) : (uint32_t)j;
    write_slot(p.slots + to, slot_of(r, (int32_t)j));
}

/* Many points in many bins.  Counters and slots at random in memory that no cache holds would cost
   four uncoalesced accesses a point, most of them to DRAM.  So the points are first parted into
   runs of up to GPU_PART_BINS bins, through shared memory, so that they are written in runs; then
   a block sorts a part with its counters in shared memory.  A heavy part, which one block would
   take too long for, is sorted by many, whose counters meet in global memory. */

static __device__ __forceinline__ uint32_t part_start(const gpu_points &p, uint32_t part)
{
    return part ? p.parts[part - 1] : 0; /* after scatter_parts each entry is its part's end */
}

static __device__ __forceinline__ bool is_heavy(uint32_t n)
{
    return n > PART_MOST;
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

static __global__ void __launch_bounds__(PART_THREADS)
    count_parts(const __grid_constant__ gpu_points p)
{
    __shared__ uint32_t counts[GPU_PARTS];
    for (int i = threadIdx.x; i < p.n_parts; i += PART_THREADS)
        counts[i] = 0;
    __syncthreads();
    for (int64_t first = (int64_t)blockIdx.x * PART_THREADS; first < p.n;
         first += (int64_t)gridDim.x * PART_THREADS) {
        int64_t j = first + threadIdx.x;
        uint32_t active = __ballot_sync(0xffffffffu, j < p.n);
        if (j < p.n) count_one(counts, place_of(p, j).bin >> p.part_shift, active);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < p.n_parts; i += PART_THREADS)
        if (counts[i]) atomicAdd(&p.parts[i], counts[i]);
}

static __global__ void __launch_bounds__(PART_THREADS)
    scan_parts(const __grid_constant__ gpu_points p)
{
    __shared__ uint32_t shared[32];
    block_scan(p.parts, p.n_parts, shared);
    if (threadIdx.x == 0) *p.n_slots = (uint32_t)p.n;
}

/* What scatter_parts keeps in shared memory, beside one slot for each of its points. */
typedef struct part_tables {
    uint32_t local[GPU_PARTS], global[GPU_PARTS], shared[32];
} part_tables;

static __global__ void __launch_bounds__(PART_THREADS)
    scatter_parts(const __grid_constant__ gpu_points p)
{
    extern __shared__ __align__(16) char memory[];
    gpu_slot *staged = (gpu_slot *)memory;
    part_tables *t = (part_tables *)(staged + PART_THREADS * PART_EACH);
    for (int i = threadIdx.x; i < p.n_parts; i += PART_THREADS)
        t->local[i] = 0;
    __syncthreads();
    int64_t first = (int64_t)blockIdx.x * (PART_THREADS * PART_EACH);
    gpu_slot slot[PART_EACH];
    uint32_t part[PART_EACH], rank[PART_EACH];
#pragma unroll
    for (int k = 0; k < PART_EACH; k++) {
        int64_t j = first + k * PART_THREADS + threadIdx.x;
        uint32_t active = __ballot_sync(0xffffffffu, j < p.n);
        if (j >= p.n) continue;
        place r = place_of(p, j);
        if (r.bad) *p.bad = 1;
        slot[k] = slot_of(r, (int32_t)j);
        part[k] = r.bin >> p.part_shift;
        rank[k] = take_place(t->local, part[k], active);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < p.n_parts; i += PART_THREADS)
        if (t->local[i]) t->global[i] = atomicAdd(&p.parts[i], t->local[i]);
    __syncthreads();
    block_scan(t->local, p.n_parts, t->shared);
#pragma unroll
    for (int k = 0; k < PART_EACH; k++)
        if (first + k * PART_THREADS + threadIdx.x < p.n)
            write_slot(staged + t->local[part[k]] + rank[k], slot[k]);
    __syncthreads();
    for (int i = threadIdx.x; i < PART_THREADS * PART_EACH && first + i < p.n; i += PART_THREADS) {
        uint32_t at = slot_bin(p, staged[i]) >> p.part_shift;
        write_slot(p.parted + t->global[at] + (i - t->local[at]), staged[i]);
    }
}

/* A part that is not heavy, by one block: its permutation is made in shared memory, so that the
   slots are read at random, from cache, and written in order. */
static __global__ void __launch_bounds__(PART_THREADS)
    sort_part(const __grid_constant__ gpu_points p)
{
    extern __shared__ __align__(16) char memory[];
    uint32_t *counts = (uint32_t *)memory, *shared = counts + GPU_PART_BINS;
    uint16_t *from = (uint16_t *)(shared + 32);
    uint32_t start = part_start(p, blockIdx.x), n = p.parts[blockIdx.x] - start;
    uint32_t bins = 1u << p.part_shift, first_bin = blockIdx.x << p.part_shift;
    if (is_heavy(n)) return;
    const gpu_slot *slots = p.parted + start;
    for (uint32_t i = threadIdx.x; i < bins; i += PART_THREADS)
        counts[i] = 0;
    __syncthreads();
#pragma unroll 4
    for (uint32_t j = threadIdx.x; j < n; j += PART_THREADS)
        atomicAdd(&counts[slot_bin(p, slots[j]) - first_bin], 1);
    __syncthreads();
    block_scan(counts, (int)bins, shared);
#pragma unroll 4
    for (uint32_t j = threadIdx.x; j < n; j += PART_THREADS)
        from[atomicAdd(&counts[slot_bin(p, slots[j]) - first_bin], 1)] = (uint16_t)j;
    __syncthreads();
#pragma unroll 4
    for (uint32_t i = threadIdx.x; i < n; i += PART_THREADS)
        write_slot(p.slots + start + i, slots[from[i]]);
    for (uint32_t i = threadIdx.x; i < bins && first_bin + i < p.g.n_bins; i += PART_THREADS)
        p.bins[first_bin + i] = start + counts[i];
}

/* The heavy parts among HEAVY_EACH points: counts them into the bins, or (scatter) moves them. */
template <bool SCATTER>
static __global__ void __launch_bounds__(SORT_THREADS)
    sort_heavy(const __grid_constant__ gpu_points p)
{
    __shared__ uint32_t counts[GPU_PART_BINS];
    int64_t at = (int64_t)blockIdx.x * HEAVY_EACH, limit = min(at + HEAVY_EACH, p.n);
    uint32_t bins = 1u << p.part_shift;
    while (at < limit) {
        uint32_t part = slot_bin(p, p.parted[at]) >> p.part_shift, end = p.parts[part];
        int64_t stop = min((int64_t)end, limit);
        uint32_t first_bin = part << p.part_shift;
        if (is_heavy(end - part_start(p, part))) {
            for (uint32_t i = threadIdx.x; i < bins; i += SORT_THREADS)
                counts[i] = 0;
            __syncthreads();
            for (int64_t first = at; first < stop; first += SORT_THREADS) {
                int64_t j = first + threadIdx.x;
                uint32_t active = __ballot_sync(0xffffffffu, j < stop);
                if (j < stop) count_one(counts, slot_bin(p, p.parted[j]) - first_bin, active);
            }
            __syncthreads();
            for (uint32_t i = threadIdx.x; i < bins; i += SORT_THREADS)
                if (counts[i]) counts[i] = atomicAdd(&p.bins[first_bin + i], counts[i]);
            __syncthreads();
            for (int64_t first = at; SCATTER && first < stop; first += SORT_THREADS) {
                int64_t j = first + threadIdx.x;
                uint32_t active = __ballot_sync(0xffffffffu, j < stop);
                if (j >= stop) continue;
                gpu_slot slot = p.parted[j];
                uint32_t to = take_place(counts, slot_bin(p, slot) - first_bin, active);
                write_slot(p.slots + to, slot);
            }
            __syncthreads();
        }
        at = stop;
    }
}

/* Counts of a heavy part's bins to starts. */
static __global__ void __launch_bounds__(SORT_THREADS)
    scan_heavy(const __grid_constant__ gpu_points p)
{
    __shared__ uint32_t counts[GPU_PART_BINS], shared[32];
    uint32_t start = part_start(p, blockIdx.x), bins = 1u << p.part_shift;
    if (!is_heavy(p.parts[blockIdx.x] - start)) return;
    uint32_t *from = p.bins + ((int64_t)blockIdx.x << p.part_shift);
    int64_t n = min((int64_t)bins, p.g.n_bins - ((int64_t)blockIdx.x << p.part_shift));
    for (uint32_t i = threadIdx.x; i < bins; i += SORT_THREADS)
        counts[i] = i < n ? from[i] : 0;
    __syncthreads();
    block_scan(counts, (int)bins, shared);
    for (uint32_t i = threadIdx.x; i < n; i += SORT_THREADS)
        from[i] = start + counts[i];
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

/* Of scatter_parts and of sort_part. */
extern "C" int PRECISE(gpu_part_memory)(void)
{
    int scatter = (int)(PART_THREADS * PART_EACH * sizeof(gpu_slot) + sizeof(part_tables));
    int sort = (GPU_PART_BINS + 32) * 4 + PART_MOST * 2;
    return scatter > sort ? scatter : sort;
}

static cudaError_t sort_by_parts(const gpu_points *p, cudaStream_t stream)
{
    int64_t each = PART_THREADS * PART_EACH;
    uint32_t blocks = (uint32_t)((p->n + each - 1) / each);
    uint32_t heavy = (uint32_t)((p->n + HEAVY_EACH - 1) / HEAVY_EACH);
    int part_blocks = blocks < 264 ? (int)blocks : 264;
    int bytes = PRECISE(gpu_part_memory)();
    cudaError_t error =
        cudaFuncSetAttribute(scatter_parts, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (error != cudaSuccess) return error;
    error = cudaFuncSetAttribute(sort_part, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (error != cudaSuccess) return error;
    cudaMemsetAsync(p->parts, 0, sizeof(uint32_t) * (size_t)p->n_parts, stream);
    count_parts<<<part_blocks, PART_THREADS, 0, stream>>>(*p);
    scan_parts<<<1, PART_THREADS, 0, stream>>>(*p);
    scatter_parts<<<blocks, PART_THREADS, bytes, stream>>>(*p);
    sort_part<<<p->n_parts, PART_THREADS, bytes, stream>>>(*p);
    sort_heavy<false><<<heavy, SORT_THREADS, 0, stream>>>(*p);
    scan_heavy<<<p->n_parts, SORT_THREADS, 0, stream>>>(*p);
    sort_heavy<true><<<heavy, SORT_THREADS, 0, stream>>>(*p);
    return cudaGetLastError();
}

static void sort_by_bins(const gpu_points *p, cudaStream_t stream)
{
    uint32_t blocks = (uint32_t)((p->n + 255) / 256);
    uint32_t scans = (uint32_t)(p->g.n_bins_padded / GPU_SCAN);
    count_points<<<blocks, 256, 0, stream>>>(*p);
    sum_bins<<<scans, 256, 0, stream>>>(*p);
    scan_sums<<<1, 256, 0, stream>>>(*p);
    scan_bins<<<scans, 256, 0, stream>>>(*p);
    scatter_points<<<blocks, 256, 0, stream>>>(*p);
    if (p->g.pad > 1) fill_pads<<<(uint32_t)((p->g.n_bins + 255) / 256), 256, 0, stream>>>(*p);
}

extern "C" cudaError_t PRECISE(gpu_sort)(const gpu_points *p, cudaStream_t stream)
{
    cudaError_t error = cudaSuccess;
    cudaMemsetAsync(p->bad, 0, sizeof *p->bad, stream);
    cudaMemsetAsync(p->n_subproblems, 0, sizeof *p->n_subproblems, stream);
    if (!p->sorted || p->n == 0) {
        uint32_t blocks = (uint32_t)((p->n + 255) / 256);
        set_number<<<1, 1, 0, stream>>>(p->n_slots, (uint32_t)p->n);
        if (p->n) scatter_points<<<blocks, 256, 0, stream>>>(*p);
        return cudaGetLastError();
    }
    cudaMemsetAsync(p->bins, 0, sizeof(uint32_t) * (size_t)p->g.n_bins_padded, stream);
    if (p->parted)
        error = sort_by_parts(p, stream);
    else
        sort_by_bins(p, stream);
    if (p->firsts) {
        int64_t blocks_y = (p->g.ny + p->g.block_y - 1) / p->g.block_y;
        int64_t warps = (int64_t)p->g.bins_x * p->g.bins_z * blocks_y;
        list_subproblems<<<(uint32_t)((warps + 7) / 8), 256, 0, stream>>>(*p);
    }
    return error != cudaSuccess ? error : cudaGetLastError();
}
