/* kernels_cuda_solve.cu: iterations of conjugate gradients in one kernel, for grids a plane of which
   fits in shared memory.

   An iteration has four parts with a barrier of all blocks after each:
   point:   per z: the direction, and its plane transformed;
   lines:   per ky: transform along z, multiply by T's spectrum, transform back;
   product: per z: the plane transformed back, the product, its part of the curvature;
   step:    per z: x, the residual, its part of the residual's square.
   A sum is made by every block alike, in the order of the blocks. */
#include "mtip/kernels_cuda_planes.h"

typedef struct solution {
    plane_plan plan;
    int count;
    cg_arrays cg;
    const real *spectrum; /* [p][p][half] */
    complex_real *half;   /* [n][p][half] */
    double *parts[2];     /* of two sums: a number a block */
    unsigned *arrived;    /* blocks at the barrier, of all barriers so far */
} solution;

/* The sum over all blocks, in all threads; the barrier of that number is in it. A block may come to the
   next sum before others have read this one, but not to the one after. */
static __device__ __forceinline__ double sum_together(const solution &it, double value,
                                                      double *parts, int barrier)
{
    __shared__ double total;
    value = block_sum(value);
    if (threadIdx.x == 0) __stcg(parts + blockIdx.x, value);
    grid_barrier(it.arrived, barrier);
    double sum = 0;
    for (unsigned i = threadIdx.x; i < gridDim.x; i += blockDim.x)
        sum += __ldcg(parts + i);
    sum = block_sum(sum);
    if (threadIdx.x == 0) total = sum;
    __syncthreads();
    return total;
}

/* use(i, x, pair, second) for the voxels of plane z that are this thread's: i in the volume, which of
   a pair of rows. */
template <typename Use>
static __device__ __forceinline__ void for_voxels(const solution &it, const workspace &w, int z,
                                                  Use use)
{
    const int n = it.plan.n, pairs = it.plan.pairs;
    for (int pair = w.whole.row; pair < pairs; pair += w.whole.rows)
        for (int second = 0; second < 2; second++)
            if (pair + second * pairs < n)
                use((z * n + pair + second * pairs) * n + w.whole.line, pair, second);
}

/* direction = residual + ratio direction, and its half lines. */
static __device__ __forceinline__ void point(const solution &it, workspace &w, int z, real ratio)
{
    const plane_plan &plan = it.plan;
    const real *residual = (const real *)it.cg.residual;
    real *direction = (real *)it.cg.direction;
    complex_real *row = w.a + on_grid(plan, w.whole.line) * plan.line.stride;
    clear_rows(plan, w.pair, w.a);
    for_voxels(it, w, z, [&](int i, int pair, int second) {
        const real value = residual[i] + ratio * direction[i];
        direction[i] = value;
        (second ? row[pair].y : row[pair].x) = value;
        if (pair + plan.pairs == plan.n) row[pair].y = 0;
    });
    __syncthreads();
    plane_forward(plan, w);
    store(plan, w, it.half + (int64_t)z * plan.p * plan.half, plan.half);
}

static __device__ __forceinline__ void lines(const solution &it, workspace &w, int ky)
{
    const plane_plan &plan = it.plan;
    const int pitch = plan.p * plan.half;
    const real *spectrum = it.spectrum + ky * plan.half + w.half.line;
    real factor[AHEAD];
    load_voxels(plan, w, it.half + ky * plan.half, pitch);
    transform_y(plan, w, -1);
    for_rows(
        w.half, plan.p, [&](int u, int kz) { factor[u] = spectrum[kz * pitch]; },
        [&](int u, int kz) {
            complex_real *at = w.a + kz * plan.line.stride + w.half.line;
            *at = complex_real{at->x * factor[u], at->y * factor[u]};
        });
    transform_y(plan, w, 1);
    store_voxels(plan, w, it.half + ky * plan.half, pitch);
}

/* product = support T direction + shift direction; the plane's part of direction . product */
static __device__ __forceinline__ double product(const solution &it, workspace &w, int z)
{
    const plane_plan &plan = it.plan;
    const real *direction = (const real *)it.cg.direction, *support = (const real *)it.cg.support;
    const real shift = (real)it.cg.scalars->shift;
    real *to = (real *)it.cg.product;
    double sum = 0;
    load(plan, w, it.half + (int64_t)z * plan.p * plan.half, plan.half);
    plane_back(plan, w);
    const complex_real *row = w.a + on_grid(plan, w.whole.line) * plan.line.stride;
    for_voxels(it, w, z, [&](int i, int pair, int second) {
        const real value = second ? row[pair].y : row[pair].x;
        const real out = shift * direction[i] + value * support[i];
        to[i] = out;
        sum += (double)direction[i] * (double)out;
    });
    __syncthreads();
    return sum;
}

/* x += a direction, residual -= a product; the plane's part of |residual|^2 */
static __device__ __forceinline__ double step(const solution &it, const workspace &w, int z, real a)
{
    const real *direction = (const real *)it.cg.direction, *by = (const real *)it.cg.product;
    real *x = (real *)it.cg.x, *residual = (real *)it.cg.residual;
    double sum = 0;
    for_voxels(it, w, z, [&](int i, int, int) {
        const real rest = residual[i] - a * by[i];
        x[i] += a * direction[i];
        residual[i] = rest;
        sum += (double)rest * (double)rest;
    });
    return sum;
}

/* For a volume of edge N in a grid of P, which the compiler then knows; 0 for any. */
template <int N, int P>
static __global__ void __launch_bounds__(MOST_THREADS)
    iterate_all(const __grid_constant__ solution given)
{
    solution it = given;
    if (N > 0) {
        constexpr plane_plan plan = plane_plan_make(N, P, N / 2);
        it.plan = plan;
    }
    const int n = it.plan.n, stride = gridDim.x;
    cg_scalars s = *it.cg.scalars;
    int barrier = 0;
    if (s.done) return;
    workspace w = workspace_make(it.plan);
    for (int i = 0; i < it.count && !s.done; i++) {
        double curvature = 0, r2 = 0;
        for (int z = blockIdx.x; z < n; z += stride)
            point(it, w, z, (real)s.ratio);
        grid_barrier(it.arrived, ++barrier);
        for (int ky = blockIdx.x; ky < it.plan.p; ky += stride)
            lines(it, w, ky);
        grid_barrier(it.arrived, ++barrier);
        for (int z = blockIdx.x; z < n; z += stride)
            curvature += product(it, w, z);
        s.curvature = sum_together(it, curvature, it.parts[0], ++barrier);
        s.done = !cg_goes_on(&s);
        if (s.done) break;
        for (int z = blockIdx.x; z < n; z += stride)
            r2 += step(it, w, z, (real)(s.r2 / s.curvature));
        cg_advance(&s, sum_together(it, r2, it.parts[1], ++barrier));
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) *it.cg.scalars = s;
}

static const void *kernel_of(int n)
{
    return n == 41   ? (const void *)iterate_all<41, 81>
           : n == 81 ? (const void *)iterate_all<81, 162>
                     : (const void *)iterate_all<0, 0>;
}

/* Of shared memory beside a plane: what sums take. */
static const size_t beside = 1024;

extern "C" int64_t PRECISE(cg_edge_cuda)(const device *dev, int64_t n)
{
    int largest = 0;
    (void)cudaDeviceGetAttribute(&largest, cudaDevAttrMaxSharedMemoryPerBlockOptin,
                                 device_ordinal(dev));
    for (int64_t p = 2 * n - 1; p <= FEW_THREADS; p++) {
        const plane_plan plan = plane_plan_make((int)n, (int)p, (int)n / 2);
        if (workspace_bytes(plan) + beside > (size_t)largest) break;
        if (plane_plan_works(plan)) return p;
    }
    return 0;
}

static status launch_all(const device *dev, solution *it)
{
    const void *kernel = kernel_of(it->plan.n);
    int n_blocks, n_threads;
    void *parts;
    TRY(shape_grid(device_ordinal(dev), kernel, it->plan.p, workspace_bytes(it->plan), &n_blocks,
                   &n_threads));
    if (n_blocks == 0) FAIL(STATUS_INTERNAL, "CG in one kernel: no block of %d^2 fits", it->plan.p);
    TRY(scratch(dev, SCRATCH_SUMS, 2 * n_blocks * (int64_t)sizeof(double), &parts));
    it->parts[0] = (double *)parts;
    it->parts[1] = it->parts[0] + n_blocks;
    return launch_together(dev, kernel, it->plan, n_blocks, n_threads, it);
}

extern "C" status PRECISE(cg_iterate_cuda)(const device *dev, const cg_arrays *cg,
                                           const void *spectrum, void *half, int count)
{
    const int n = (int)cg->n;
    solution it = {};
    void *arrived;
    int before;
    TRY(scratch(dev, SCRATCH_BARRIER, sizeof *it.arrived, &arrived));
    TRY(device_zero(dev, arrived, sizeof *it.arrived));
    it.plan = plane_plan_make(n, (int)cg->p, n / 2);
    it.count = count;
    it.cg = *cg;
    it.spectrum = (const real *)spectrum;
    it.half = (complex_real *)half;
    it.arrived = (unsigned *)arrived;
    TRY(cuda_enter(device_ordinal(dev), &before));
    status result = launch_all(dev, &it);
    cuda_leave(device_ordinal(dev), before);
    return result;
}
