/* kernels_cuda_volume.cu: volumes and phasing on a GPU. */
#include "mtip/kernels_cuda.h"

#ifdef MTIP_SINGLE
typedef float2 complex_real;
#else
typedef double2 complex_real;
#endif

enum { ROW = 32, ROWS = 8 }; /* of a block of a volume */

static dim3 grid_of_volume(int64_t n)
{
    return dim3((unsigned)divide_up(n, ROW), (unsigned)divide_up(n, ROWS), (unsigned)n);
}

/* This thread's voxel; false where the block sticks out of the volume. */
static __device__ bool voxel(int64_t n, int64_t at[3])
{
    at[0] = blockIdx.x * (int64_t)ROW + threadIdx.x;
    at[1] = blockIdx.y * (int64_t)ROWS + threadIdx.y;
    at[2] = blockIdx.z;
    return at[0] < n && at[1] < n;
}

static __device__ int64_t index_of(const int64_t at[3], int64_t n)
{
    return (at[2] * n + at[1]) * n + at[0];
}

static __global__ void add_centre(int64_t m, const complex_real *modes, int64_t n, real *out)
{
    const int64_t shift = m / 2 - n / 2;
    int64_t at[3];
    if (!voxel(n, at)) return;
    const int64_t from[3] = {at[0] + shift, at[1] + shift, at[2] + shift};
    out[index_of(at, n)] += modes[index_of(from, m)].x;
}

static status add_real_centre(const device *dev, int64_t m, const void *modes, int64_t n, void *out)
{
    return launch(dev, grid_of_volume(n), dim3(ROW, ROWS), add_centre, m, modes, n, out);
}

/* Position along a periodic axis of p, taken to be -n/2 .. ceil(n/2)-1 or outside of it. */
static __device__ int64_t position(int64_t i, int64_t n, int64_t p)
{
    return i < (n + 1) / 2 ? i : i - p;
}

static __global__ void put(int64_t n, const real *volume, int64_t p, real *out)
{
    int64_t at[3], from[3];
    if (!voxel(p, at)) return;
    bool inside = true;
    for (int d = 0; d < 3; d++) {
        from[d] = position(at[d], n, p) + n / 2;
        inside = inside && from[d] >= 0;
    }
    out[index_of(at, p)] = inside ? volume[index_of(from, n)] : 0;
}

static status embed(const device *dev, int64_t n, const void *volume, int64_t p, void *out)
{
    return launch(dev, grid_of_volume(p), dim3(ROW, ROWS), put, n, volume, p, out);
}

static __global__ void get(int64_t p, const real *in, real scale, const real *mask, int64_t n,
                           real *out)
{
    int64_t at[3], from[3];
    if (!voxel(n, at)) return;
    for (int d = 0; d < 3; d++)
        from[d] = wrapped(centred(at[d], n), p);
    const int64_t i = index_of(at, n);
    const real value = in[index_of(from, p)] * scale;
    out[i] = mask ? value * mask[i] : value;
}

static status extract(const device *dev, int64_t p, const void *in, double scale, const void *mask,
                      int64_t n, void *out)
{
    return launch(dev, grid_of_volume(n), dim3(ROW, ROWS), get, p, in, scale, mask, n, out);
}

static __global__ void real_parts(int64_t n, const complex_real *half, real scale, real *out)
{
    const int64_t i = element();
    if (i < n) out[i] = half[i].x * scale;
}

static status real_spectrum(const device *dev, int64_t n, const void *half, double scale, void *out)
{
    return launch(dev, grid_of(n), dim3(THREADS), real_parts, n, half, scale, out);
}

static __global__ void scale_elements(int64_t n, const real *spectrum, complex_real *half)
{
    const int64_t i = element();
    if (i >= n) return;
    complex_real value = half[i];
    value.x *= spectrum[i];
    value.y *= spectrum[i];
    half[i] = value;
}

static status scale_half(const device *dev, int64_t n, const void *spectrum, void *half)
{
    return launch(dev, grid_of(n), dim3(THREADS), scale_elements, n, spectrum, half);
}

/* Index of -k for index i of a centred axis; the unpaired -n/2 of even n is its own partner. */
static __device__ int64_t mirror(int64_t i, int64_t n)
{
    const int64_t j = 2 * (n / 2) - i;
    return j < n ? j : i;
}

static __global__ void average_pairs(int64_t n, real *volume)
{
    int64_t at[3], partner[3];
    if (!voxel(n, at)) return;
    for (int d = 0; d < 3; d++)
        partner[d] = mirror(at[d], n);
    const int64_t i = index_of(at, n), j = index_of(partner, n);
    if (j <= i) return;
    const real mean = (volume[i] + volume[j]) / 2;
    volume[i] = mean;
    volume[j] = mean;
}

static status symmetrise(const device *dev, int64_t n, void *volume)
{
    return launch(dev, grid_of_volume(n), dim3(ROW, ROWS), average_pairs, n, volume);
}

/* Blocks that share the sum of n elements: a matter of n alone, so that the order is. */
static int sum_blocks(int64_t n)
{
    const int64_t blocks = divide_up(n, 4 * THREADS);
    return (int)(blocks < 1 ? 1 : blocks > 512 ? 512 : blocks);
}

/* Room for n_sums sums of n_parts parts, and for the sums. */
static status sum_room(const device *dev, int64_t n_sums, int64_t n_parts, double **parts)
{
    void *memory;
    TRY(scratch(dev, SCRATCH_SUMS, n_sums * (n_parts + 1) * (int64_t)sizeof(double), &memory));
    *parts = (double *)memory;
    return STATUS_OK;
}

static __global__ void take_amplitudes(int64_t n, const complex_real *half, const real *mask,
                                       real *amplitude)
{
    const int64_t i = element();
    if (i >= n) return;
    const real intensity = half[i].x > 0 ? half[i].x : 0;
    amplitude[i] = mask[i] > 0 ? (real)sqrt((double)intensity) : -1;
}

static status amplitudes(const device *dev, int64_t n, const void *half, const void *mask,
                         void *amplitude)
{
    return launch(dev, grid_of(n), dim3(THREADS), take_amplitudes, n, half, mask, amplitude);
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

extern "C" const volume_kernels PRECISE(volume_kernels_cuda);
extern "C" const volume_kernels PRECISE(volume_kernels_cuda) = {
    add_real_centre, embed, extract, real_spectrum, scale_half, symmetrise,
};

extern "C" const phase_kernels PRECISE(phase_kernels_cuda);
extern "C" const phase_kernels PRECISE(phase_kernels_cuda) = {
    amplitudes, project_modulus, update_density, squared_modulus, threshold, modulus_error,
};
