/* kernels_cuda_phase.cu: phasing on a GPU. */
#include <Random123/philox.h>

#include "mtip/kernels_cuda.h"

extern "C" {
#include "mtip/random.h"
}

static __global__ void take_amplitudes(int64_t grid, int64_t n, double k_min, double k_max,
                                       const complex_real *half, real *amplitude)
{
    const double range[2] = {k_min, k_max};
    const int64_t i = element();
    if (i < half_count(grid)) amplitude[i] = amplitude_of(i, grid, n, range, half[i].x);
}

static status amplitudes(const device *dev, int64_t grid, int64_t n, double k_min, double k_max,
                         const void *half, void *amplitude)
{
    return launch(dev, grid_of(half_count(grid)), dim3(THREADS), take_amplitudes, grid, n, k_min,
                  k_max, half, amplitude);
}

/* The numbers of random.h's stream: a thread takes a block of four. */
static __global__ void fill(int64_t n, uint64_t seed, uint64_t number, const real *support,
                            real *density)
{
    const int64_t block = element();
    if (4 * block >= n) return;
    const philox4x64_ctr_t counter = {{number, 0, (uint64_t)block, 0}};
    const philox4x64_key_t key = {{seed, RANDOM_PHASE}};
    const philox4x64_ctr_t bits = philox4x64(counter, key);
    for (int64_t i = 4 * block; i < 4 * block + 4 && i < n; i++)
        density[i] = support[i] > 0 ? (real)((double)(bits.v[i % 4] >> 11) * 0x1p-53) : 0;
}

static status random_inside(const device *dev, int64_t n, uint64_t seed, uint64_t number,
                            const void *support, void *density)
{
    return launch(dev, grid_of(divide_up(n, 4)), dim3(THREADS), fill, n, seed, number, support,
                  density);
}

/* Volumes are the rows of the grid (y). */
static __global__ void project(int64_t n, const real *amplitude, real scale, complex_real *half)
{
    const int64_t i = element();
    if (i >= n) return;
    complex_real value = half[blockIdx.y * n + i];
    const real a = amplitude[i];
    if (a >= 0) modulus_project(&value.x, &value.y, a);
    value.x *= scale;
    value.y *= scale;
    half[blockIdx.y * n + i] = value;
}

static status project_modulus(const device *dev, int64_t n, int64_t batch, const void *amplitude,
                              double scale, void *half)
{
    const dim3 grid((unsigned)divide_up(n, THREADS), (unsigned)batch);
    return launch(dev, grid, dim3(THREADS), project, n, amplitude, scale, half);
}

static __global__ void update(int64_t n, phase_step step, real beta, const real *projected,
                              const real *support, real *density)
{
    const int64_t i = element();
    if (i < n) density[i] = density_update(step, density[i], projected[i], support[i], beta);
}

static status update_density(const device *dev, int64_t n, phase_step step, double beta,
                             const void *projected, const void *support, void *density)
{
    return launch(dev, grid_of(n), dim3(THREADS), update, n, step, beta, projected, support,
                  density);
}

static __global__ void square(int64_t n, complex_real *half)
{
    const int64_t i = element();
    if (i >= n) return;
    complex_real value = half[i];
    value.x = value.x * value.x + value.y * value.y;
    value.y = 0;
    half[i] = value;
}

static status squared_modulus(const device *dev, int64_t n, void *half)
{
    return launch(dev, grid_of(n), dim3(THREADS), square, n, half);
}

enum { MAX_PARTS = 64 };

/* The largest of 0 and the block's values, in all threads. */
static __device__ real block_max(real value)
{
    __shared__ real values[THREADS];
    values[threadIdx.x] = value;
    for (int step = THREADS / 2; step > 0; step /= 2) {
        __syncthreads();
        if (threadIdx.x < step && values[threadIdx.x + step] > values[threadIdx.x])
            values[threadIdx.x] = values[threadIdx.x + step];
    }
    __syncthreads();
    return values[0];
}

static __global__ void max_parts(int64_t n, const real *blurred, real *parts)
{
    const real *from = blurred + blockIdx.y * n;
    real max = 0;
    for (int64_t i = element(); i < n; i += gridDim.x * (int64_t)THREADS)
        max = from[i] > max ? from[i] : max;
    max = block_max(max);
    if (threadIdx.x == 0) parts[blockIdx.y * gridDim.x + blockIdx.x] = max;
}

static __global__ void cut(int64_t n, real level, int n_parts, const real *parts,
                           const real *blurred, real *support)
{
    const int64_t i = element(), at = blockIdx.y * n + i;
    const real max =
        block_max((int)threadIdx.x < n_parts ? parts[blockIdx.y * n_parts + threadIdx.x] : 0);
    if (i < n) support[at] = blurred[at] > level * max;
}

static status threshold(const device *dev, int64_t n, int64_t batch, double level,
                        const void *blurred, void *support)
{
    const dim3 parts_grid(MAX_PARTS, (unsigned)batch);
    const dim3 grid((unsigned)divide_up(n, THREADS), (unsigned)batch);
    void *parts;
    TRY(scratch(dev, SCRATCH_SUMS, MAX_PARTS * batch * (int64_t)sizeof(real), &parts));
    TRY(launch(dev, parts_grid, dim3(THREADS), max_parts, n, blurred, parts));
    return launch(dev, grid, dim3(THREADS), cut, n, level, (int)MAX_PARTS, parts, blurred, support);
}

/* parts [2][volumes][blocks]: errors, then norms. */
static __global__ void error_parts(int64_t n, const real *amplitude, const complex_real *half,
                                   double *parts)
{
    const complex_real *f = half + blockIdx.y * n;
    double error = 0, norm = 0;
    for (int64_t i = element(); i < n; i += gridDim.x * (int64_t)THREADS) {
        const double a = (double)amplitude[i], re = (double)f[i].x, im = (double)f[i].y;
        const double d = sqrt(re * re + im * im) - a;
        if (a >= 0) error += d * d;
        if (a >= 0) norm += a * a;
    }
    error = block_sum(error);
    norm = block_sum(norm);
    if (threadIdx.x > 0) return;
    parts[blockIdx.y * gridDim.x + blockIdx.x] = error;
    parts[(gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x] = norm;
}

static status modulus_error(const device *dev, int64_t n, int64_t batch, const void *amplitude,
                            const void *half, double *error, double *norm)
{
    const int blocks = sum_blocks(n);
    double *parts, *sums = (double *)malloc((size_t)(2 * batch + 1) * sizeof *sums);
    if (!sums) FAIL(STATUS_RESOURCE, "out of host memory");
    status result = sum_room(dev, 2 * batch, blocks, &parts);
    if (result == STATUS_OK)
        result = launch(dev, dim3(blocks, (unsigned)batch), dim3(THREADS), error_parts, n,
                        amplitude, half, parts);
    if (result == STATUS_OK && batch > 0)
        result = sum_parts(dev, 2 * (int)batch, blocks, parts, sums);
    for (int64_t b = 0; b < batch && result == STATUS_OK; b++) {
        error[b] = sums[b];
        norm[b] = sums[batch + b];
    }
    free(sums);
    return result;
}

extern "C" const phase_kernels PRECISE(phase_kernels_cuda);
extern "C" const phase_kernels PRECISE(phase_kernels_cuda) = {
    amplitudes,      random_inside, project_modulus, update_density, PRECISE(phase_iterate_cuda),
    squared_modulus, threshold,     modulus_error,
};
