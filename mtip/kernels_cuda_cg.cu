/* kernels_cuda_cg.cu: conjugate gradients on a GPU.  Each kernel ends with a sum over its blocks,
   which the last of them to finish makes, in the order of the blocks. */
#include "mtip/kernels_cuda.h"

/* Voxels of a volume are counted in 32 bits, which divide faster. */
static __device__ uint32_t grid_index(uint32_t i, uint32_t n, uint32_t p)
{
    const uint32_t x = i % n, y = i / n % n, z = i / n / n, h = n / 2;
    const uint32_t gx = x < h ? x + p - h : x - h, gy = y < h ? y + p - h : y - h,
                   gz = z < h ? z + p - h : z - h;
    return (gz * p + gy) * p + gx;
}

static __global__ void direct_voxels(cg_arrays cg)
{
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x, n = (uint32_t)cg.n;
    if (i >= n * n * n || cg.scalars->done) return;
    real *direction = (real *)cg.direction;
    const real value = ((const real *)cg.residual)[i] + (real)cg.scalars->ratio * direction[i];
    direction[i] = value;
    ((real *)cg.padded)[grid_index(i, n, (uint32_t)cg.p)] = value;
}

/* True in one thread, which has the N sums over all blocks in values. */
template <int N> static __device__ bool grid_sums(const cg_arrays &cg, double (&values)[N])
{
    __shared__ bool last;
    for (int k = 0; k < N; k++) {
        values[k] = block_sum(values[k]);
        if (threadIdx.x == 0) cg.parts[k * (int64_t)gridDim.x + blockIdx.x] = values[k];
    }
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicAdd(&cg.scalars->ticket, 1u) == gridDim.x - 1;
        if (last) cg.scalars->ticket = 0;
    }
    __syncthreads();
    if (!last) return false;
    for (int k = 0; k < N; k++) {
        double sum = 0;
        for (uint32_t i = threadIdx.x; i < gridDim.x; i += blockDim.x)
            sum += __ldcg(cg.parts + k * (int64_t)gridDim.x + i);
        values[k] = block_sum(sum);
    }
    return threadIdx.x == 0;
}

static __global__ void product_voxels(cg_arrays cg)
{
    const uint32_t n = (uint32_t)cg.n, n_voxels = n * n * n;
    const real *direction = (const real *)cg.direction;
    double sum[1] = {0};
    if (cg.scalars->done) return;
    const real shift = (real)cg.scalars->shift;
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n_voxels;
         i += gridDim.x * blockDim.x) {
        const real value = ((const real *)cg.grid)[grid_index(i, n, (uint32_t)cg.p)];
        const real out = shift * direction[i] + value * ((const real *)cg.support)[i];
        ((real *)cg.product)[i] = out;
        sum[0] += (double)direction[i] * (double)out;
    }
    if (grid_sums(cg, sum)) cg.scalars->curvature = sum[0];
}

static __global__ void start_voxels(cg_arrays cg)
{
    const int64_t n_voxels = cube(cg.n);
    double sums[2] = {0, 0};
    for (int64_t i = element(); i < n_voxels; i += gridDim.x * (int64_t)blockDim.x) {
        const real b = ((const real *)cg.b)[i], rest = b - ((const real *)cg.product)[i];
        ((real *)cg.residual)[i] = rest;
        sums[0] += (double)b * (double)b;
        sums[1] += (double)rest * (double)rest;
    }
    if (grid_sums(cg, sums)) cg_begin(cg.scalars, sums[0], sums[1]);
}

static __global__ void step_voxels(cg_arrays cg)
{
    const int64_t n_voxels = cube(cg.n);
    const real *direction = (const real *)cg.direction, *by = (const real *)cg.product;
    real *x = (real *)cg.x, *residual = (real *)cg.residual;
    double sum[1] = {0};
    if (!cg_goes_on(cg.scalars)) {
        if (element() == 0) cg.scalars->done = 1; /* all blocks come here */
        return;
    }
    const real a = (real)(cg.scalars->r2 / cg.scalars->curvature);
    for (int64_t i = element(); i < n_voxels; i += gridDim.x * (int64_t)blockDim.x) {
        const real rest = residual[i] - a * by[i];
        x[i] += a * direction[i];
        residual[i] = rest;
        sum[0] += (double)rest * (double)rest;
    }
    if (grid_sums(cg, sum)) cg_advance(cg.scalars, sum[0]);
}

static status direct(const device *dev, const cg_arrays *cg)
{
    return launch(dev, grid_of(cube(cg->n)), dim3(THREADS), direct_voxels, *cg);
}

static status product(const device *dev, const cg_arrays *cg)
{
    return launch(dev, dim3((unsigned)cg_parts(cube(cg->n))), dim3(THREADS), product_voxels, *cg);
}

static status start(const device *dev, const cg_arrays *cg)
{
    return launch(dev, dim3((unsigned)cg_parts(cube(cg->n))), dim3(THREADS), start_voxels, *cg);
}

static status step(const device *dev, const cg_arrays *cg)
{
    return launch(dev, dim3((unsigned)cg_parts(cube(cg->n))), dim3(THREADS), step_voxels, *cg);
}

extern "C" const cg_kernels PRECISE(cg_kernels_cuda);
extern "C" const cg_kernels PRECISE(cg_kernels_cuda) = {
    direct, product, start, step, PRECISE(cg_edge_cuda), PRECISE(cg_iterate_cuda),
};
