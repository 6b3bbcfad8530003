/* kernels_cuda_iterate.cu: steps of phasing in one kernel, for grids a plane of which fits in shared
   memory.

   A step is two phases with a barrier of the whole grid of blocks after each.
   lines:  per volume and ky: transform along z, impose the modulus, transform back;
   planes: per volume and z: transform the plane back, update the density, transform the plane.
   The half volume between them goes through the L2 cache.  Two rows of a real plane, y and
   y + ceil(n/2), are the real and imaginary parts of one complex line. */
#include "mtip/kernels_cuda_fft.h"

enum { MOST_THREADS = 512, AHEAD = 4, LARGEST_PLANES = 64 << 10 /* bytes */ };

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

/* What a block works with: two arrays in shared memory that change places, and the roots. */
typedef struct workspace {
    complex_real *a, *b, *roots;
} workspace;

/* The barrier numbered 1, 2, .. of all blocks, which must run at the same time. */
static __device__ void grid_barrier(unsigned *arrived, int number)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        const unsigned all = gridDim.x * (unsigned)number;
        __threadfence();
        atomicAdd(arrived, 1);
        while (*(volatile unsigned *)arrived < all)
            ;
        __threadfence();
    }
    __syncthreads();
}

static __device__ complex_real conjugate(complex_real a)
{
    return complex_real{a.x, -a.y};
}

/* Elements (row, column) of `rows` rows of `columns`, AHEAD at a time of each thread: take(u, ..)
   should start the loads of values number u, give(u, ..) use them. */
template <typename Take, typename Give>
static __device__ inline void for_elements(int rows, int columns, Take take, Give give)
{
    const int n = rows * columns;
    for (int first = threadIdx.x; first < n; first += AHEAD * blockDim.x) {
#pragma unroll
        for (int u = 0; u < AHEAD; u++) {
            const int i = first + u * blockDim.x;
            if (i < n) take(u, i / columns, i % columns);
        }
#pragma unroll
        for (int u = 0; u < AHEAD; u++) {
            const int i = first + u * blockDim.x;
            if (i < n) give(u, i / columns, i % columns);
        }
    }
    __syncthreads();
}

/* n rows of half a line each, `pitch` apart in a half volume, to or from w.a. */
static __device__ void load(const iteration &it, workspace &w, const complex_real *from,
                            int64_t pitch)
{
    complex_real value[AHEAD];
    for_elements(
        it.n, it.half, [&](int u, int i, int kx) { value[u] = __ldcg(from + i * pitch + kx); },
        [&](int u, int i, int kx) { w.a[i * it.plan.stride + kx] = value[u]; });
}

static __device__ void store(const iteration &it, workspace &w, complex_real *to, int64_t pitch)
{
    for_elements(
        it.n, it.half, [](int, int, int) {},
        [&](int, int i, int kx) { __stcg(to + i * pitch + kx, w.a[i * it.plan.stride + kx]); });
}

static __device__ void impose_modulus(const iteration &it, workspace &w, const real *amplitude,
                                      int64_t pitch)
{
    real a[AHEAD];
    for_elements(
        it.n, it.half, [&](int u, int z, int kx) { a[u] = amplitude[z * pitch + kx]; },
        [&](int u, int z, int kx) {
            complex_real *at = w.a + z * it.plan.stride + kx, value = *at;
            if (a[u] >= 0) modulus_project(&value.x, &value.y, a[u]);
            *at = complex_real{value.x * it.scale, value.y * it.scale};
        });
}

static __device__ void lines(const iteration &it, workspace &w, int volume, int ky)
{
    const int64_t pitch = (int64_t)it.n * it.half;
    complex_real *spectrum = it.spectrum + ((int64_t)volume * it.n * it.n + ky) * it.half;
    load(it, w, spectrum, pitch);
    transform_lines(it.plan, it.half, -1, w.roots, w.a, w.b);
    impose_modulus(it, w, it.amplitude + (int64_t)ky * it.half, pitch);
    transform_lines(it.plan, it.half, 1, w.roots, w.a, w.b);
    store(it, w, spectrum, pitch);
}

/* Half lines of rows p and p + pairs at [p][kx] become the complex line whose transform has the rows
   as its parts, at [k][p]. */
static __device__ void join_rows(const iteration &it, workspace &w)
{
    const int n = it.n, pairs = it.pairs, stride = it.plan.stride;
    for_elements(
        n, pairs, [](int, int, int) {},
        [&](int, int k, int p) {
            const int kx = k < it.half ? k : n - k;
            complex_real u = w.a[p * stride + kx], v = {0, 0};
            if (p + pairs < n) v = w.a[(p + pairs) * stride + kx];
            if (k == 0 || 2 * k == n) u.y = v.y = 0;
            if (k >= it.half) u = conjugate(u), v = conjugate(v);
            w.b[k * stride + p] = complex_real{u.x - v.y, u.y + v.x};
        });
    exchange(w.a, w.b);
}

/* The inverse of join_rows; row y at [y][kx]. */
static __device__ void part_rows(const iteration &it, workspace &w)
{
    const int n = it.n, pairs = it.pairs, stride = it.plan.stride;
    for_elements(
        pairs, it.half, [](int, int, int) {},
        [&](int, int p, int kx) {
            const complex_real u = w.a[kx * stride + p];
            const complex_real v = conjugate(w.a[(kx ? n - kx : 0) * stride + p]);
            w.b[p * stride + kx] = complex_real{(u.x + v.x) / 2, (u.y + v.y) / 2};
            if (p + pairs < n)
                w.b[(p + pairs) * stride + kx] = complex_real{(u.y - v.y) / 2, (v.x - u.x) / 2};
        });
    exchange(w.a, w.b);
}

/* The density's rows at [x][pair] of w.a, after an update from what stands there unless this is the
   beginning. */
static __device__ void update_rows(const iteration &it, workspace &w, int64_t plane, bool begin)
{
    const int n = it.n, pairs = it.pairs;
    const real *support = it.support + plane * n * n;
    real *density = it.density + plane * n * n;
    real old[AHEAD][2], inside[AHEAD][2];
    for_elements(
        pairs, n,
        [&](int u, int p, int x) {
            for (int r = 0; r < 2; r++) {
                const int y = p + r * pairs;
                old[u][r] = y < n ? density[y * n + x] : 0;
                inside[u][r] = y < n && !begin ? support[y * n + x] : 0;
            }
        },
        [&](int u, int p, int x) {
            complex_real *at = w.a + x * it.plan.stride + p;
            complex_real now = {old[u][0], old[u][1]};
            if (!begin) {
                now.x = density_update(it.step, now.x, at->x, inside[u][0], it.beta);
                now.y = density_update(it.step, now.y, at->y, inside[u][1], it.beta);
                density[p * n + x] = now.x;
                if (p + pairs < n) density[(p + pairs) * n + x] = now.y;
            }
            if (p + pairs >= n) now.y = 0;
            *at = now;
        });
}

static __device__ void planes(const iteration &it, workspace &w, int64_t plane, bool begin,
                              bool end)
{
    const int h = it.half;
    complex_real *spectrum = it.spectrum + plane * it.n * h;
    if (!begin) {
        load(it, w, spectrum, h);
        transform_lines(it.plan, h, 1, w.roots, w.a, w.b);
        join_rows(it, w);
        transform_lines(it.plan, it.pairs, 1, w.roots, w.a, w.b);
    }
    update_rows(it, w, plane, begin);
    if (end) return;
    transform_lines(it.plan, it.pairs, -1, w.roots, w.a, w.b);
    part_rows(it, w);
    transform_lines(it.plan, h, -1, w.roots, w.a, w.b);
    store(it, w, spectrum, h);
}

static __global__ void __launch_bounds__(MOST_THREADS)
    iterate_all(const __grid_constant__ iteration it)
{
    extern __shared__ __align__(16) unsigned char memory[];
    const int64_t n_items = (int64_t)it.batch * it.n;
    workspace w;
    w.a = (complex_real *)memory;
    w.b = w.a + it.n * it.plan.stride;
    w.roots = w.b + it.n * it.plan.stride;
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

static const void *const kernel = (const void *)iterate_all;

/* Threads of a block: one for every butterfly of the pass with the most, if it can have them. */
static int threads_for(const line_plan &plan, int n_lines)
{
    const int smallest = plan.factor[plan.n_factors - 1];
    const int wanted = (int)divide_up(n_lines * (plan.n / smallest), WARP) * WARP;
    return wanted < MOST_THREADS ? wanted : MOST_THREADS;
}

/* As many blocks as there is work for, all running at once; 0 where transforms by the library are
   faster: if planes are large or if not all fit. */
static status count_blocks(int ordinal, int64_t n_items, int threads, size_t bytes, int *n_blocks)
{
    int processors, each = 0;
    CUDA_TRY(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, ordinal));
    if (bytes <= LARGEST_PLANES) {
        CUDA_TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                      LARGEST_PLANES));
        CUDA_TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, threads, bytes));
    }
    *n_blocks = n_items <= each * processors ? (int)n_items : 0;
    return STATUS_OK;
}

static status launch_all(const device *dev, iteration *it, bool *done)
{
    const size_t bytes = (size_t)(2 * it->plan.stride + 1) * it->n * sizeof(complex_real);
    const int threads = threads_for(it->plan, it->half);
    void *arguments[] = {it};
    int n_blocks;
    TRY(count_blocks(device_ordinal(dev), (int64_t)it->batch * it->n, threads, bytes, &n_blocks));
    *done = n_blocks > 0;
    if (*done)
        CUDA_TRY(cudaLaunchCooperativeKernel(kernel, dim3(n_blocks), dim3(threads), arguments,
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
    if (!line_plan_make(n, half | 1, &it.plan)) return STATUS_OK;
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
