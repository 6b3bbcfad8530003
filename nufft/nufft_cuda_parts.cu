/* nufft_cuda_parts.cu: sorting many points into many bins, in single precision. (In double a slot fills
   a sector of memory by itself, and nothing is gained.)

   Counters and slots at random in memory that no cache holds would cost four uncoalesced accesses a
   point, most of them to DRAM.  So the points are first parted into runs of bins, in two steps
   (groups of parts, then parts), each through shared memory, so that slots are written in runs;
   then a block sorts a part in shared memory.  A heavy part, which does not fit there, is sorted by
   many blocks, whose counters meet in global memory. */
#include "nufft/nufft_cuda_points.h"

/* Measured on an H200, which has 132 processors. */
enum {
    COUNT_BLOCKS = 528,
    SORT_BLOCKS = 132,
    SCATTER_THREADS = 256,
    SCATTER_EACH = 8,   /* slots of a thread */
    SCATTER_BLOCKS = 4, /* a processor, at least */
    SCATTER_POINTS = SCATTER_THREADS * SCATTER_EACH,
    TABLE = GPU_GROUPS, /* groups, or parts that a block looks at together */
    GROUP_SHIFT = 6,    /* parts of a group: GPU_PARTS / GPU_GROUPS */
    PART_THREADS = 1024,
    COUNT_THREADS = 512,
    COUNT_EACH = 4,
    PART_MOST = 11264, /* slots that fit the shared memory */
    HEAVY_THREADS = 512,
    HEAVY_EACH = 8192
};

static __device__ __forceinline__ uint32_t part_of(const gpu_points &p, const gpu_slot &slot)
{
    return slot_bin(p, slot) >> p.part_shift;
}

static __device__ __forceinline__ uint32_t part_start(const gpu_points &p, uint32_t part)
{
    return part ? p.parts[part - 1] : 0; /* after scatter_parts each entry is its part's end */
}

static __device__ __forceinline__ bool is_heavy(uint32_t n)
{
    return n > PART_MOST;
}

/* Here as below positions are loaded before any is worked on: waiting for memory is what counts. */
static __global__ void __launch_bounds__(COUNT_THREADS)
    count_parts(const __grid_constant__ gpu_points p)
{
    extern __shared__ __align__(16) uint32_t counts[];
    for (int i = threadIdx.x; i < p.n_parts; i += COUNT_THREADS)
        counts[i] = 0;
    __syncthreads();
    for (int64_t first = (int64_t)blockIdx.x * COUNT_EACH * COUNT_THREADS; first < p.n;
         first += (int64_t)gridDim.x * COUNT_EACH * COUNT_THREADS) {
        position at[COUNT_EACH];
#pragma unroll
        for (int k = 0; k < COUNT_EACH; k++)
            at[k] = load_position(p, min(first + k * COUNT_THREADS + threadIdx.x, p.n - 1));
#pragma unroll
        for (int k = 0; k < COUNT_EACH; k++) {
            bool there = first + k * COUNT_THREADS + threadIdx.x < p.n;
            uint32_t active = __ballot_sync(0xffffffffu, there);
            if (there) count_one(counts, place_of(p, at[k]).bin >> p.part_shift, active);
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < p.n_parts; i += COUNT_THREADS)
        if (counts[i]) atomicAdd(&p.parts[i], counts[i]);
}

static __global__ void __launch_bounds__(PART_THREADS)
    scan_parts(const __grid_constant__ gpu_points p)
{
    __shared__ uint32_t shared[32];
    block_scan(p.parts, p.n_parts, shared);
    for (int i = threadIdx.x; i << GROUP_SHIFT < p.n_parts; i += PART_THREADS)
        p.groups[i] = p.parts[i << GROUP_SHIFT];
    if (threadIdx.x == 0) *p.n_slots = (uint32_t)p.n;
}

typedef struct staging {
    gpu_slot slots[SCATTER_POINTS];
    uint16_t keys[SCATTER_POINTS];
    uint32_t local[TABLE + 1], global[TABLE], shared[32];
} staging;

/* Moves a block's slots to where the counters of their keys point, in runs; those with the key TABLE
   stay. */
static __device__ void distribute(staging *s, const gpu_slot *slot, const uint32_t *key,
                                  uint32_t *counters, gpu_slot *to)
{
    uint32_t rank[SCATTER_EACH];
    for (int i = threadIdx.x; i <= TABLE; i += SCATTER_THREADS)
        s->local[i] = 0;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < SCATTER_EACH; k++)
        rank[k] = take_place(s->local, key[k], 0xffffffffu);
    __syncthreads();
    for (int i = threadIdx.x; i < TABLE; i += SCATTER_THREADS)
        if (s->local[i]) s->global[i] = atomicAdd(&counters[i], s->local[i]);
    __syncthreads();
    block_scan(s->local, TABLE + 1, s->shared);
#pragma unroll
    for (int k = 0; k < SCATTER_EACH; k++) {
        uint32_t at = s->local[key[k]] + rank[k];
        if (key[k] == TABLE) continue;
        write_slot(s->slots + at, slot[k]);
        s->keys[at] = (uint16_t)key[k];
    }
    __syncthreads();
    /* Where the slots of a key go less where they stand: not negative, as those that stand before
       them go before them too. */
    uint32_t n = s->local[TABLE];
    for (int i = threadIdx.x; i < TABLE; i += SCATTER_THREADS)
        s->global[i] -= s->local[i];
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < n; i += SCATTER_THREADS)
        write_slot(to + s->global[s->keys[i]] + i, s->slots[i]);
    __syncthreads();
}

/* From the caller's points to groups of parts. */
static __global__ void __launch_bounds__(SCATTER_THREADS, SCATTER_BLOCKS)
    scatter_groups(const __grid_constant__ gpu_points p)
{
    extern __shared__ __align__(16) char memory[];
    int64_t first = (int64_t)blockIdx.x * SCATTER_POINTS;
    int n = (int)min((int64_t)SCATTER_POINTS, p.n - first);
    position at[SCATTER_EACH];
    gpu_slot slot[SCATTER_EACH];
    uint32_t key[SCATTER_EACH];
#pragma unroll
    for (int k = 0; k < SCATTER_EACH; k++)
        at[k] = load_position(p, first + min(k * SCATTER_THREADS + (int)threadIdx.x, n - 1));
#pragma unroll
    for (int k = 0; k < SCATTER_EACH; k++) {
        int i = k * SCATTER_THREADS + threadIdx.x;
        place r = place_of(p, at[k]);
        if (r.bad) *p.bad = 1;
        slot[k] = slot_of(r, (int32_t)first + i);
        key[k] = i < n ? r.bin >> (p.part_shift + GROUP_SHIFT) : TABLE;
    }
    distribute((staging *)memory, slot, key, p.groups, p.slots);
}

/* From groups to parts. The groups of a block's slots follow one another: a table holds the parts of
   some of them, almost always of all. */
static __global__ void __launch_bounds__(SCATTER_THREADS, SCATTER_BLOCKS)
    scatter_parts(const __grid_constant__ gpu_points p)
{
    extern __shared__ __align__(16) char memory[];
    int64_t first = (int64_t)blockIdx.x * SCATTER_POINTS;
    int n = (int)min((int64_t)SCATTER_POINTS, p.n - first);
    uint32_t low = part_of(p, p.slots[first]) >> GROUP_SHIFT << GROUP_SHIFT;
    uint32_t high = part_of(p, p.slots[first + n - 1]) >> GROUP_SHIFT << GROUP_SHIFT;
    gpu_slot slot[SCATTER_EACH];
#pragma unroll
    for (int k = 0; k < SCATTER_EACH; k++) {
        int i = k * SCATTER_THREADS + threadIdx.x;
        if (i < n) slot[k] = load_slot(p.slots + first + i);
    }
    for (; low <= high; low += TABLE) {
        uint32_t key[SCATTER_EACH];
#pragma unroll
        for (int k = 0; k < SCATTER_EACH; k++) {
            bool there = k * SCATTER_THREADS + (int)threadIdx.x < n;
            key[k] = there ? min(part_of(p, slot[k]) - low, (uint32_t)TABLE) : TABLE;
        }
        distribute((staging *)memory, slot, key, p.parts + low, p.parted);
    }
}

/* What sort_parts keeps in shared memory: more than the other kernels. */
typedef struct part_tables {
    gpu_slot slots[PART_MOST];
    uint32_t counts[GPU_PART_BINS], shared[32];
    uint16_t from[PART_MOST];
} part_tables;

/* The parts that are not heavy, each by one block, in shared memory. */
static __global__ void __launch_bounds__(PART_THREADS)
    sort_parts(const __grid_constant__ gpu_points p)
{
    extern __shared__ __align__(16) char memory[];
    part_tables *t = (part_tables *)memory;
    for (uint32_t part = blockIdx.x; part < (uint32_t)p.n_parts; part += gridDim.x) {
        uint32_t start = part_start(p, part), n = p.parts[part] - start;
        uint32_t bins = 1u << p.part_shift, first_bin = part << p.part_shift;
        if (is_heavy(n)) continue;
        for (uint32_t i = threadIdx.x; i < bins; i += PART_THREADS)
            t->counts[i] = 0;
        __syncthreads();
#pragma unroll 4
        for (uint32_t j = threadIdx.x; j < n; j += PART_THREADS) {
            gpu_slot slot = load_slot(p.parted + start + j);
            write_slot(t->slots + j, slot);
            atomicAdd(&t->counts[slot_bin(p, slot) - first_bin], 1);
        }
        __syncthreads();
        block_scan(t->counts, (int)bins, t->shared);
        for (uint32_t j = threadIdx.x; j < n; j += PART_THREADS)
            t->from[atomicAdd(&t->counts[slot_bin(p, t->slots[j]) - first_bin], 1)] = (uint16_t)j;
        __syncthreads();
        for (uint32_t i = threadIdx.x; i < n; i += PART_THREADS)
            write_slot(p.slots + start + i, t->slots[t->from[i]]);
        for (uint32_t i = threadIdx.x; i < bins && first_bin + i < p.g.n_bins; i += PART_THREADS)
            p.bins[first_bin + i] = start + t->counts[i];
        __syncthreads();
    }
}

/* The heavy parts among HEAVY_EACH points: counts them into the bins, or (scatter) moves them. */
template <bool SCATTER>
static __global__ void __launch_bounds__(HEAVY_THREADS)
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
            for (uint32_t i = threadIdx.x; i < bins; i += HEAVY_THREADS)
                counts[i] = 0;
            __syncthreads();
            for (int64_t first = at; first < stop; first += HEAVY_THREADS) {
                int64_t j = first + threadIdx.x;
                uint32_t active = __ballot_sync(0xffffffffu, j < stop);
                if (j < stop) count_one(counts, slot_bin(p, p.parted[j]) - first_bin, active);
            }
            __syncthreads();
            for (uint32_t i = threadIdx.x; i < bins; i += HEAVY_THREADS)
                if (counts[i]) counts[i] = atomicAdd(&p.bins[first_bin + i], counts[i]);
            __syncthreads();
            for (int64_t first = at; SCATTER && first < stop; first += HEAVY_THREADS) {
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
static __global__ void __launch_bounds__(HEAVY_THREADS)
    scan_heavy(const __grid_constant__ gpu_points p)
{
    __shared__ uint32_t counts[GPU_PART_BINS], shared[32];
    uint32_t start = part_start(p, blockIdx.x), bins = 1u << p.part_shift;
    if (!is_heavy(p.parts[blockIdx.x] - start)) return;
    uint32_t *from = p.bins + ((int64_t)blockIdx.x << p.part_shift);
    int64_t n = min((int64_t)bins, p.g.n_bins - ((int64_t)blockIdx.x << p.part_shift));
    for (uint32_t i = threadIdx.x; i < bins; i += HEAVY_THREADS)
        counts[i] = i < n ? from[i] : 0;
    __syncthreads();
    block_scan(counts, (int)bins, shared);
    for (uint32_t i = threadIdx.x; i < n; i += HEAVY_THREADS)
        from[i] = start + counts[i];
}

extern "C" cudaError_t gpu_prepare_parts(int available, bool *fits)
{
    const void *kernels[] = {(const void *)count_parts, (const void *)scatter_groups,
                             (const void *)scatter_parts, (const void *)sort_parts};
    *fits = (int)sizeof(part_tables) <= available;
    for (int i = 0; *fits && i < 4; i++) {
        cudaError_t error = cudaFuncSetAttribute(
            kernels[i], cudaFuncAttributeMaxDynamicSharedMemorySize, (int)sizeof(part_tables));
        if (error != cudaSuccess) return error;
    }
    return cudaSuccess;
}

extern "C" void gpu_sort_by_parts(const gpu_points *p, cudaStream_t stream)
{
    uint32_t blocks = (uint32_t)((p->n + SCATTER_POINTS - 1) / SCATTER_POINTS);
    uint32_t heavy = (uint32_t)((p->n + HEAVY_EACH - 1) / HEAVY_EACH);
    uint32_t sorting = p->n_parts < SORT_BLOCKS ? p->n_parts : SORT_BLOCKS;
    uint32_t counting = blocks < COUNT_BLOCKS ? blocks : COUNT_BLOCKS;
    cudaMemsetAsync(p->parts, 0, sizeof(uint32_t) * (size_t)p->n_parts, stream);
    count_parts<<<counting, COUNT_THREADS, 4 * p->n_parts, stream>>>(*p);
    scan_parts<<<1, PART_THREADS, 0, stream>>>(*p);
    scatter_groups<<<blocks, SCATTER_THREADS, sizeof(staging), stream>>>(*p);
    scatter_parts<<<blocks, SCATTER_THREADS, sizeof(staging), stream>>>(*p);
    sort_parts<<<sorting, PART_THREADS, sizeof(part_tables), stream>>>(*p);
    sort_heavy<false><<<heavy, HEAVY_THREADS, 0, stream>>>(*p);
    scan_heavy<<<p->n_parts, HEAVY_THREADS, 0, stream>>>(*p);
    sort_heavy<true><<<heavy, HEAVY_THREADS, 0, stream>>>(*p);
}
