/* kernels_cuda_iterate.cu: steps of phasing in one kernel, for grids a plane of which fits in shared
   memory.

   A step is two phases with a barrier of the whole grid of blocks after each.
   lines:  per volume and ky: transform along z, impose the modulus, transform back;
   planes: per volume and z: transform the plane back, update the density, transform the plane. */
#include "mtip/kernels_cuda_planes.h"

typedef struct iteration {
    plane_plan plan; /* of a volume that fills its grid */
    int batch, count;
    phase_step step;
    real beta, scale;
    const real *amplitude, *support;
    real *density;
    complex_real *spectrum;
    unsigned *arrived; /* blocks at the barrier, of all barriers so far */
} iteration;

static __device__ __forceinline__ void impose_modulus(const iteration &it, workspace &w,
                                                      const real *amplitude, int pitch)
{
    real a[AHEAD];
    amplitude += w.half.line;
    for_rows(
        w.half, it.plan.n, [&](int u, int z) { a[u] = amplitude[z * pitch]; },
        [&](int u, int z) {
            complex_real *at = w.a + z * it.plan.line.stride + w.half.line, value = *at;
            if (a[u] >= 0) modulus_project(&value.x, &value.y, a[u]);
            *at = complex_real{value.x * it.scale, value.y * it.scale};
        });
}

static __device__ __forceinline__ void lines(const iteration &it, workspace &w, int volume, int ky)
{
    const int n = it.plan.n, half = it.plan.half, pitch = n * half;
    complex_real *spectrum = it.spectrum + ((int64_t)volume * n * n + ky) * half;
    load(it.plan, w, spectrum, pitch);
    transform_y(it.plan, w, -1);
    impose_modulus(it, w, it.amplitude + ky * half, pitch);
    transform_y(it.plan, w, 1);
    store(it.plan, w, spectrum, pitch);
}

/* The density's rows at [x][pair] of w.a, after an update from what stands there unless this is the
   beginning. */
static __device__ __forceinline__ void update_rows(const iteration &it, workspace &w, int64_t plane,
                                                   bool begin)
{
    const int n = it.plan.n, pairs = it.plan.pairs, x = w.whole.line, other = pairs * n;
    const real *support = it.support + plane * n * n + x;
    real *density = it.density + plane * n * n + x;
    real old[AHEAD][2], inside[AHEAD][2];
    for_rows(
        w.whole, pairs,
        [&](int u, int p) {
            const bool both = p + pairs < n;
            old[u][0] = density[p * n];
            old[u][1] = both ? density[p * n + other] : 0;
            inside[u][0] = begin ? 0 : support[p * n];
            inside[u][1] = !begin && both ? support[p * n + other] : 0;
        },
        [&](int u, int p) {
            const bool both = p + pairs < n;
            complex_real *at = w.a + x * it.plan.line.stride + p;
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

static __device__ __forceinline__ void planes(const iteration &it, workspace &w, int64_t plane,
                                              bool begin, bool end)
{
    complex_real *spectrum = it.spectrum + plane * it.plan.n * it.plan.half;
    if (!begin) {
        load(it.plan, w, spectrum, it.plan.half);
        plane_back(it.plan, w);
    }
    update_rows(it, w, plane, begin);
    if (end) return;
    plane_forward(it.plan, w);
    store(it.plan, w, spectrum, it.plan.half);
}

/* For edge N, which the compiler then knows: factors, loops and indices; 0 for any. */
template <int N>
static __global__ void __launch_bounds__(MOST_THREADS)
    iterate_all(const __grid_constant__ iteration given)
{
    iteration it = given;
    if (N > 0) {
        constexpr plane_plan plan = plane_plan_make(N, N, 0);
        it.plan = plan;
    }
    const int n = it.plan.n;
    const int64_t n_items = (int64_t)it.batch * n;
    workspace w = workspace_make(it.plan);
    for (int64_t i = blockIdx.x; i < n_items; i += gridDim.x)
        planes(it, w, i, true, it.count == 0);
    for (int step = 1; step <= it.count; step++) {
        grid_barrier(it.arrived, 2 * step - 1);
        for (int64_t i = blockIdx.x; i < n_items; i += gridDim.x)
            lines(it, w, (int)(i / n), (int)(i % n));
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

static status launch_all(const device *dev, iteration *it, bool *done)
{
    const int64_t n_items = (int64_t)it->batch * it->plan.n;
    const void *kernel = kernel_of(it->plan.n);
    int n_blocks, n_threads;
    TRY(shape_grid(device_ordinal(dev), kernel, n_items, workspace_bytes(it->plan), &n_blocks,
                   &n_threads));
    *done = n_blocks > 0;
    return *done ? launch_together(dev, kernel, it->plan, n_blocks, n_threads, it) : STATUS_OK;
}

extern "C" status PRECISE(phase_iterate_cuda)(const device *dev, const phase_state *state,
                                              phase_step step, double beta, int count, bool *done)
{
    const int n = (int)state->grid;
    iteration it = {};
    void *arrived;
    int before;
    *done = false;
    it.plan = plane_plan_make(n, n, 0);
    if (!plane_plan_works(it.plan)) return STATUS_OK;
    TRY(scratch(dev, SCRATCH_BARRIER, sizeof *it.arrived, &arrived));
    TRY(device_zero(dev, arrived, sizeof *it.arrived));
    it.arrived = (unsigned *)arrived;
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
