/* kernels_cuda_planes.h: iterations between a real volume and its half volume in one kernel, by
   blocks that all run at once and of which each holds a plane in shared memory; for
   mtip/kernels_cuda*.cu only.

   A volume of n^3 voxels, which is zero elsewhere on a grid of p^3, is transformed plane by plane
   (along x and y), then, with a barrier of the whole grid of blocks between, ky by ky along z.  What
   passes between goes through the L2 cache.  All is inlined: a plan that the compiler knows would else be
   read from memory, which takes twice the time.  Two rows of a real plane, y and y + ceil(n/2), are the
   real and imaginary parts of one complex line. */
#ifndef MTIP_KERNELS_CUDA_PLANES_H
#define MTIP_KERNELS_CUDA_PLANES_H

#include "mtip/kernels_cuda_fft.h"

enum { MOST_THREADS = 512, FEW_THREADS = 256, AHEAD = 4 };

/* Voxel i of an axis stands at i + p - shift (i < shift) or i - shift of the grid's. */
typedef struct plane_plan {
    line_plan line;
    int n, p, shift;
    int half, pairs; /* p/2+1, ceil(n/2) */
} plane_plan;

static __host__ __device__ constexpr plane_plan plane_plan_make(int n, int p, int shift)
{
    return plane_plan{
        line_plan_make(p, (p / 2 + 1) | 1), n, p, shift, p / 2 + 1, (n + 1) / 2,
    };
}

static inline bool plane_plan_works(const plane_plan &plan)
{
    return plan.p <= FEW_THREADS && (plan.p == 1 || plan.line.n_factors > 0);
}

static __device__ __forceinline__ int on_grid(const plane_plan &plan, int i)
{
    return i < plan.shift ? i + plan.p - plan.shift : i - plan.shift;
}

/* What a block works with: two arrays in shared memory that change places, and the roots; its threads
   dealt to lines of half length, to pairs of rows, to voxels of a row. */
typedef struct workspace {
    complex_real *a, *b, *roots;
    line_place half, pair, whole;
} workspace;

static inline size_t workspace_bytes(const plane_plan &plan)
{
    return (size_t)(2 * plan.line.stride + 1) * plan.p * sizeof(complex_real);
}

static __device__ __forceinline__ workspace workspace_make(const plane_plan &plan)
{
    extern __shared__ __align__(16) unsigned char memory[];
    workspace w;
    w.a = (complex_real *)memory;
    w.b = w.a + plan.p * plan.line.stride;
    w.roots = w.b + plan.p * plan.line.stride;
    w.half = line_place_of(plan.half);
    w.pair = plan.n == plan.p ? w.half : line_place_of(plan.pairs);
    w.whole = line_place_of(plan.n);
    make_roots(plan.p, w.roots);
    __syncthreads();
    return w;
}

/* The barrier numbered 1, 2, .. of all blocks, which must run at the same time. What a block's threads
   wrote before it, its first thread releases; what others wrote, it acquires for them. */
static __device__ __forceinline__ void grid_barrier(unsigned *arrived, int number)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        const unsigned all = gridDim.x * (unsigned)number;
        unsigned seen;
        asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(arrived) : "memory");
        do {
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                         : "=r"(seen)
                         : "l"(arrived)
                         : "memory");
        } while (seen < all);
    }
    __syncthreads();
}

/* The elements (row, place.line) of n_rows rows, AHEAD at a time of each thread: take(u, row) should
   start the loads of values number u, give(u, row) use them. Ends with a barrier. */
template <typename Take, typename Give>
static __device__ __forceinline__ void for_rows(line_place place, int n_rows, Take take, Give give)
{
    for (int first = place.row; first < n_rows; first += AHEAD * place.rows) {
#pragma unroll
        for (int u = 0; u < AHEAD; u++)
            if (first + u * place.rows < n_rows) take(u, first + u * place.rows);
#pragma unroll
        for (int u = 0; u < AHEAD; u++)
            if (first + u * place.rows < n_rows) give(u, first + u * place.rows);
    }
    __syncthreads();
}

static __device__ __forceinline__ void nothing(int, int)
{
}

/* Zeroes the rows of an array in which no voxel stands. No barrier. */
static __device__ __forceinline__ void clear_rows(const plane_plan &plan, line_place place,
                                                  complex_real *to)
{
    for (int i = place.row; i < plan.p - plan.n; i += place.rows)
        to[(plan.n - plan.shift + i) * plan.line.stride + place.line] = complex_real{0, 0};
}

/* All p rows of half a line each, `pitch` apart in a half volume, to or from w.a. */
static __device__ __forceinline__ void load(const plane_plan &plan, workspace &w,
                                            const complex_real *from, int pitch)
{
    complex_real value[AHEAD];
    complex_real *to = w.a + w.half.line;
    from += w.half.line;
    for_rows(
        w.half, plan.p, [&](int u, int i) { value[u] = __ldcg(from + i * pitch); },
        [&](int u, int i) { to[i * plan.line.stride] = value[u]; });
}

static __device__ __forceinline__ void store(const plane_plan &plan, workspace &w, complex_real *to,
                                             int pitch)
{
    const complex_real *from = w.a + w.half.line;
    to += w.half.line;
    for_rows(w.half, plan.p, nothing,
             [&](int, int i) { __stcg(to + i * pitch, from[i * plan.line.stride]); });
}

/* The n rows of voxels likewise; loading zeroes the others. */
static __device__ __forceinline__ void load_voxels(const plane_plan &plan, workspace &w,
                                                   const complex_real *from, int pitch)
{
    complex_real value[AHEAD];
    complex_real *to = w.a + w.half.line;
    from += w.half.line;
    clear_rows(plan, w.half, w.a);
    for_rows(
        w.half, plan.n, [&](int u, int i) { value[u] = __ldcg(from + i * pitch); },
        [&](int u, int i) { to[on_grid(plan, i) * plan.line.stride] = value[u]; });
}

static __device__ __forceinline__ void store_voxels(const plane_plan &plan, workspace &w,
                                                    complex_real *to, int pitch)
{
    const complex_real *from = w.a + w.half.line;
    to += w.half.line;
    for_rows(w.half, plan.n, nothing, [&](int, int i) {
        __stcg(to + i * pitch, from[on_grid(plan, i) * plan.line.stride]);
    });
}

/* The lines of w.a with exp(sign i ..): along y those of half length, along x those of pairs of rows. */
static __device__ __forceinline__ void transform_y(const plane_plan &plan, workspace &w, real sign)
{
    transform_lines(plan.line, w.half, sign, w.roots, w.a, w.b);
}

static __device__ __forceinline__ void transform_x(const plane_plan &plan, workspace &w, real sign)
{
    transform_lines(plan.line, w.pair, sign, w.roots, w.a, w.b);
}

static __device__ __forceinline__ complex_real conjugate(complex_real a)
{
    return complex_real{a.x, -a.y};
}

/* Half lines of rows i and i + pairs at [y][kx] become the complex line whose transform has the rows
   as its parts, at [k][i]; for i = pairs (of an even n) whatever is there. */
static __device__ __forceinline__ void join_rows(const plane_plan &plan, workspace &w)
{
    const int p = plan.p, stride = plan.line.stride, i = w.pair.line;
    const bool both = i + plan.pairs < plan.n;
    const complex_real *first = w.a + on_grid(plan, i) * stride;
    const complex_real *second = w.a + on_grid(plan, both ? i + plan.pairs : i) * stride;
    for_rows(w.pair, p, nothing, [&](int, int k) {
        const int kx = k < plan.half ? k : p - k;
        complex_real u = first[kx], v = {0, 0};
        if (both) v = second[kx];
        if (k == 0 || 2 * k == p) u.y = v.y = 0;
        if (k >= plan.half) u = conjugate(u), v = conjugate(v);
        w.b[k * stride + i] = complex_real{u.x - v.y, u.y + v.x};
    });
    exchange(w.a, w.b);
}

/* The inverse of join_rows; row y at [y][kx], zero where there are no voxels. */
static __device__ __forceinline__ void part_rows(const plane_plan &plan, workspace &w)
{
    const int p = plan.p, stride = plan.line.stride, kx = w.half.line;
    const complex_real *plus = w.a + kx * stride, *minus = w.a + (kx ? p - kx : 0) * stride;
    clear_rows(plan, w.half, w.b);
    for_rows(w.half, plan.pairs, nothing, [&](int, int i) {
        const complex_real u = plus[i], v = conjugate(minus[i]);
        w.b[on_grid(plan, i) * stride + kx] = complex_real{(u.x + v.x) / 2, (u.y + v.y) / 2};
        if (i + plan.pairs < plan.n)
            w.b[on_grid(plan, i + plan.pairs) * stride + kx] =
                complex_real{(u.y - v.y) / 2, (v.x - u.x) / 2};
    });
    exchange(w.a, w.b);
}

/* From real rows at [x][pair] of w.a to half lines at [ky][kx], and back. */
static __device__ __forceinline__ void plane_forward(const plane_plan &plan, workspace &w)
{
    transform_x(plan, w, -1);
    part_rows(plan, w);
    transform_y(plan, w, -1);
}

static __device__ __forceinline__ void plane_back(const plane_plan &plan, workspace &w)
{
    transform_y(plan, w, 1);
    join_rows(plan, w);
    transform_x(plan, w, 1);
}

/* Blocks and threads of each for n_items planes: as many blocks as there is work for, all running at
   once, large ones if every multiprocessor has one at most; no blocks if not even one fits. */
static inline status shape_grid(int ordinal, const void *kernel, int64_t n_items, size_t bytes,
                                int *n_blocks, int *n_threads)
{
    int processors, largest, each = 0;
    cudaFuncAttributes own;
    CUDA_TRY(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, ordinal));
    CUDA_TRY(cudaDeviceGetAttribute(&largest, cudaDevAttrMaxSharedMemoryPerBlockOptin, ordinal));
    CUDA_TRY(cudaFuncGetAttributes(&own, kernel));
    *n_threads = n_items <= processors ? MOST_THREADS : FEW_THREADS;
    if (bytes + own.sharedSizeBytes <= (size_t)largest) {
        CUDA_TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                      largest - (int)own.sharedSizeBytes));
        CUDA_TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, *n_threads, bytes));
    }
    *n_blocks = (int)(n_items < each * processors ? n_items : each * processors);
    return STATUS_OK;
}

/* Runs kernel(*argument) by n_blocks blocks, all at once. */
static inline status launch_together(const device *dev, const void *kernel, const plane_plan &plan,
                                     int n_blocks, int n_threads, void *argument)
{
    void *arguments[] = {argument};
    CUDA_TRY(cudaLaunchCooperativeKernel(kernel, dim3(n_blocks), dim3(n_threads), arguments,
                                         workspace_bytes(plan), (cudaStream_t)device_stream(dev)));
    return STATUS_OK;
}

#endif
