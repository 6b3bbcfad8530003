/* kernels_cuda_iterate.cu: steps of phasing in one kernel, for grids a plane of which fits in shared
   memory.

   A step is two phases with a barrier of the whole grid of blocks after each.
   lines:  per volume and ky: transform along z, impose the modulus, transform back;
   planes: per volume and z: transform the plane back, update the density, transform the plane.
   The half volume between them goes through the L2 cache.  Two rows of a real plane, y and
   y + ceil(n/2), are the real and imaginary parts of one complex line. */
#include "mtip/kernels_cuda_fft.h"

enum { MOST_THREADS = 512, FEW_THREADS = 256, AHEAD = 4 };

typedef struct iteration {
    line_plan plan;
    int n, half, pairs; /* edge, n/2+1, ceil(n/2) */
    int batch, count;
    phase_step step;
    real beta, scale;
    const real *amplitude, *support;
    real *density;
    complex_real *spectrum;
    unsigned *arrived; /* blocks at the barrier, of all barriers so far */
} iteration;

/* What a block works with: two arrays in shared memory that change places, and the roots; its threads
   dealt to lines of half and of whole length. */
typedef struct workspace {
    complex_real *a, *b, *roots;
    line_place half, whole;
} workspace;

/* The barrier numbered 1, 2, .. of all blocks, which must run at the same time. What a block's threads
   wrote before it, its first thread releases; what others wrote, it acquires for them. */
static __device__ void grid_barrier(unsigned *arrived, int number)
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

static __device__ complex_real conjugate(complex_real a)
{
    return complex_real{a.x, -a.y};
}

/* The elements (row, place.line) of n_rows rows, AHEAD at a time of each thread: take(u, row) should
   start the loads of values number u, give(u, row) use them. Ends with a barrier. */
template <typename Take, typename Give>
static __device__ inline void for_rows(line_place place, int n_rows, Take take, Give give)
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

static __device__ inline void nothing(int, int)
{
}

/* n rows of half a line each, `pitch` apart in a half volume, to or from w.a. */
static __device__ void load(const iteration &it, workspace &w, const complex_real *from, int pitch)
{
    complex_real value[AHEAD];
    complex_real *to = w.a + w.half.line;
    from += w.half.line;
    for_rows(
        w.half, it.n, [&](int u, int i) { value[u] = __ldcg(from + i * pitch); },
        [&](int u, int i) { to[i * it.plan.stride] = value[u]; });
}

static __device__ void store(const iteration &it, workspace &w, complex_real *to, int pitch)
{
    const complex_real *from = w.a + w.half.line;
    to += w.half.line;
    for_rows(w.half, it.n, nothing,
             [&](int, int i) { __stcg(to + i * pitch, from[i * it.plan.stride]); });
}

static __device__ void impose_modulus(const iteration &it, workspace &w, const real *amplitude,
                                      int pitch)
{
    real a[AHEAD];
    amplitude += w.half.line;
    for_rows(
        w.half, it.n, [&](int u, int z) { a[u] = amplitude[z * pitch]; },
        [&](int u, int z) {
            complex_real *at = w.a + z * it.plan.stride + w.half.line, value = *at;
            if (a[u] >= 0) modulus_project(&value.x, &value.y, a[u]);
            *at = complex_real{value.x * it.scale, value.y * it.scale};
        });
}

static __device__ void lines(const iteration &it, workspace &w, int volume, int ky)
{
    const int pitch = it.n * it.half;
    complex_real *spectrum = it.spectrum + ((int64_t)volume * it.n * it.n + ky) * it.half;
    load(it, w, spectrum, pitch);
    transform_lines(it.plan, w.half, -1, w.roots, w.a, w.b);
    impose_modulus(it, w, it.amplitude + ky * it.half, pitch);
    transform_lines(it.plan, w.half, 1, w.roots, w.a, w.b);
    store(it, w, spectrum, pitch);
}

/* Half lines of rows p and p + pairs at [p][kx] become the complex line whose transform has the rows
   as its parts, at [k][p]; for p = pairs (of an even n) whatever is there. */
static __device__ void join_rows(const iteration &it, workspace &w)
{
    const int n = it.n, stride = it.plan.stride, p = w.half.line;
    const complex_real *first = w.a + p * stride, *second = first + it.pairs * stride;
    const bool both = p + it.pairs < n;
    for_rows(w.half, n, nothing, [&](int, int k) {
        const int kx = k < it.half ? k : n - k;
        complex_real u = first[kx], v = {0, 0};
        if (both) v = second[kx];
        if (k == 0 || 2 * k == n) u.y = v.y = 0;
        if (k >= it.half) u = conjugate(u), v = conjugate(v);
        w.b[k * stride + p] = complex_real{u.x - v.y, u.y + v.x};
    });
    exchange(w.a, w.b);
}

/* The inverse of join_rows; row y at [y][kx]. */
static __device__ void part_rows(const iteration &it, workspace &w)
{
    const int n = it.n, stride = it.plan.stride, kx = w.half.line;
    const complex_real *plus = w.a + kx * stride, *minus = w.a + (kx ? n - kx : 0) * stride;
    for_rows(w.half, it.pairs, nothing, [&](int, int p) {
        const complex_real u = plus[p], v = conjugate(minus[p]);
        complex_real *to = w.b + p * stride + kx;
        to[0] = complex_real{(u.x + v.x) / 2, (u.y + v.y) / 2};
        if (p + it.pairs < n)
            to[it.pairs * stride] = complex_real{(u.y - v.y) / 2, (v.x - u.x) / 2};
    });
    exchange(w.a, w.b);
}

/* The density's rows at [x][pair] of w.a, after an update from what stands there unless this is the
   beginning. */
static __device__ void update_rows(const iteration &it, workspace &w, int64_t plane, bool begin)
{
    const int n = it.n, x = w.whole.line, other = it.pairs * n;
    const real *support = it.support + plane * n * n + x;
    real *density = it.density + plane * n * n + x;
    real old[AHEAD][2], inside[AHEAD][2];
    for_rows(
        w.whole, it.pairs,
        [&](int u, int p) {
            const bool both = p + it.pairs < n;
            old[u][0] = density[p * n];
            old[u][1] = both ? density[p * n + other] : 0;
            inside[u][0] = begin ? 0 : support[p * n];
            inside[u][1] = !begin && both ? support[p * n + other] : 0;
        },
        [&](int u, int p) {
            const bool both = p + it.pairs < n;
            complex_real *at = w.a + x * it.plan.stride + p;
            complex_real now = {old[u][0], old[u][1]};
            if (!begin) {
                now.x = density_update(it.step, now.x, at->x, inside[u][0], it.beta);
                now.y = density_update(it.step, now.y, at->y, inside[u][1], it.beta);
                density[p * n] = now.x;
                if (both) density[p * n + other] = now.y;
            }
            *at = complex_real{now.x, both ? now.y : 0};
        });
}

static __device__ void planes(const iteration &it, workspace &w, int64_t plane, bool begin,
                              bool end)
{
    complex_real *spectrum = it.spectrum + plane * it.n * it.half;
    if (!begin) {
        load(it, w, spectrum, it.half);
        transform_lines(it.plan, w.half, 1, w.roots, w.a, w.b);
        join_rows(it, w);
        transform_lines(it.plan, w.half, 1, w.roots, w.a, w.b);
    }
    update_rows(it, w, plane, begin);
    if (end) return;
    transform_lines(it.plan, w.half, -1, w.roots, w.a, w.b);
    part_rows(it, w);
    transform_lines(it.plan, w.half, -1, w.roots, w.a, w.b);
    store(it, w, spectrum, it.half);
}

/* The lengths of grids of edge n. */
static __host__ __device__ constexpr line_plan plan_of(int n)
{
    return line_plan_make(n, (n / 2 + 1) | 1);
}

/* For edge N, which the compiler then knows: factors, loops and indices; 0 for any. */
template <int N>
static __global__ void __launch_bounds__(MOST_THREADS)
    iterate_all(const __grid_constant__ iteration given)
{
    iteration it = given;
    if (N > 0) {
        constexpr line_plan plan = plan_of(N);
        it.plan = plan;
        it.n = N;
        it.half = N / 2 + 1;
        it.pairs = (N + 1) / 2;
    }
    extern __shared__ __align__(16) unsigned char memory[];
    const int64_t n_items = (int64_t)it.batch * it.n;
    workspace w;
    w.a = (complex_real *)memory;
    w.b = w.a + it.n * it.plan.stride;
    w.roots = w.b + it.n * it.plan.stride;
    w.half = line_place_of(it.half);
    w.whole = line_place_of(it.n);
    make_roots(it.n, w.roots);
    __syncthreads();
    for (int64_t i = blockIdx.x; i < n_items; i += gridDim.x)
        planes(it, w, i, true, it.count == 0);
    for (int step = 1; step <= it.count; step++) {
        grid_barrier(it.arrived, 2 * step - 1);
        for (int64_t i = blockIdx.x; i < n_items; i += gridDim.x)
            lines(it, w, (int)(i / it.n), (int)(i % it.n));
        grid_barrier(it.arrived, 2 * step);
        for (int64_t i = blockIdx.x; i < n_items; i += gridDim.x)
            planes(it, w, i, false, step == it.count);
    }
}

/* The kernel for edge n; some edges have their own. */
static const void *kernel_of(int n)
{
#define SIZE(N) \
    case N:     \
        return (const void *)iterate_all<N>;
    switch (n) {
        SIZE(42)
        SIZE(54)
        SIZE(64)
        SIZE(81)
        SIZE(96)
        SIZE(105)
    default:
        return (const void *)iterate_all<0>;
    }
#undef SIZE
}

/* Blocks and threads of each: as many blocks as there is work for, all running at once, large ones if
   every multiprocessor has one at most; no blocks if not even one fits. */
static status shape_grid(int ordinal, const void *kernel, int64_t n_items, size_t bytes,
                         int *n_blocks, int *n_threads)
{
    int processors, largest, each = 0;
    CUDA_TRY(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, ordinal));
    CUDA_TRY(cudaDeviceGetAttribute(&largest, cudaDevAttrMaxSharedMemoryPerBlockOptin, ordinal));
    *n_threads = n_items <= processors ? MOST_THREADS : FEW_THREADS;
    if (bytes <= (size_t)largest) {
        CUDA_TRY(
            cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, largest));
        CUDA_TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, *n_threads, bytes));
    }
    *n_blocks = (int)(n_items < each * processors ? n_items : each * processors);
    return STATUS_OK;
}

static status launch_all(const device *dev, iteration *it, bool *done)
{
    const size_t bytes = (size_t)(2 * it->plan.stride + 1) * it->n * sizeof(complex_real);
    const int64_t n_items = (int64_t)it->batch * it->n;
    void *arguments[] = {it};
    int n_blocks, n_threads;
    const void *kernel = kernel_of(it->n);
    TRY(shape_grid(device_ordinal(dev), kernel, n_items, bytes, &n_blocks, &n_threads));
    *done = n_blocks > 0;
    if (*done)
        CUDA_TRY(cudaLaunchCooperativeKernel(kernel, dim3(n_blocks), dim3(n_threads), arguments,
                                             bytes, (cudaStream_t)device_stream(dev)));
    return STATUS_OK;
}

extern "C" status PRECISE(phase_iterate_cuda)(const device *dev, const phase_state *state,
                                              phase_step step, double beta, int count, bool *done)
{
    const int n = (int)state->grid, half = n / 2 + 1;
    iteration it = {};
    void *arrived;
    int before;
    *done = false;
    it.plan = plan_of(n);
    if (n > FEW_THREADS || (n > 1 && it.plan.n_factors == 0)) return STATUS_OK;
    TRY(scratch(dev, SCRATCH_BARRIER, sizeof *it.arrived, &arrived));
    TRY(device_zero(dev, arrived, sizeof *it.arrived));
    it.arrived = (unsigned *)arrived;
    it.n = n;
    it.half = half;
    it.pairs = (n + 1) / 2;
    it.batch = (int)state->batch;
    it.count = count;
    it.step = step;
    it.beta = (real)beta;
    it.scale = (real)(1 / ((double)n * n * n));
    it.amplitude = (const real *)state->amplitude;
    it.support = (const real *)state->support;
    it.density = (real *)state->density;
    it.spectrum = (complex_real *)state->half;
    TRY(cuda_enter(device_ordinal(dev), &before));
    status result = launch_all(dev, &it, done);
    cuda_leave(device_ordinal(dev), before);
    return result;
}
