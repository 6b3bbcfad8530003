/* kernels_cuda_average.cu: aligning and averaging densities on a GPU. */
#include "mtip/kernels_cuda.h"

/* Volumes are the rows of the grids (y). */
static dim3 grid_of_batch(int64_t n, int64_t batch)
{
    return dim3((unsigned)divide_up(n, THREADS), (unsigned)batch);
}

static __global__ void power_parts(int64_t n, const double2 *half, double *parts)
{
    const int64_t h = half_count(n);
    double sum = 0;
    for (int64_t i = element(); i < h; i += gridDim.x * (int64_t)THREADS) {
        const double2 f = half[blockIdx.y * h + i];
        if (i > 0) sum += half_weight(i, n) * (f.x * f.x + f.y * f.y);
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) parts[blockIdx.y * gridDim.x + blockIdx.x] = sum;
}

static status power(const device *dev, int64_t n, int64_t batch, const double *half, double *sums)
{
    const int blocks = sum_blocks(half_count(n));
    double *parts;
    TRY(sum_room(dev, batch, blocks, &parts));
    TRY(launch(dev, dim3(blocks, (unsigned)batch), dim3(THREADS), power_parts, n,
               (const void *)half, parts));
    return sum_parts(dev, (int)batch, blocks, parts, sums);
}

static __global__ void multiply_cross(int64_t n, double hand, const double2 *fixed,
                                      const double2 *moving, double2 *product)
{
    const int64_t i = element(), at = blockIdx.y * n + i;
    if (i >= n) return;
    const double2 f = fixed[i], g = moving[at];
    const double re = g.x, im = hand * g.y;
    product[at] = i ? make_double2(f.x * re + f.y * im, f.y * re - f.x * im) : make_double2(0, 0);
}

static status cross(const device *dev, int64_t n, int64_t batch, double hand, const double *fixed,
                    const double *moving, double *product)
{
    const int64_t h = half_count(n);
    return launch(dev, grid_of_batch(h, batch), dim3(THREADS), multiply_cross, h, hand,
                  (const void *)fixed, (const void *)moving, (void *)product);
}

enum { PEAK_PARTS = 64 };

typedef struct peak {
    double value;
    int64_t at;
} peak;

static __host__ __device__ peak higher(peak a, peak b)
{
    return b.value > a.value || (b.value == a.value && b.at < a.at) ? b : a;
}

static __global__ void peak_parts(int64_t n, const double *maps, peak *parts)
{
    __shared__ peak found[THREADS];
    peak best = {-INFINITY, 0};
    for (int64_t i = element(); i < n; i += gridDim.x * (int64_t)THREADS)
        best = higher(best, peak{maps[blockIdx.y * n + i], i});
    found[threadIdx.x] = best;
    for (int step = THREADS / 2; step > 0; step /= 2) {
        __syncthreads();
        if (threadIdx.x < step)
            found[threadIdx.x] = higher(found[threadIdx.x], found[threadIdx.x + step]);
    }
    if (threadIdx.x == 0) parts[blockIdx.y * gridDim.x + blockIdx.x] = found[0];
}

static status peaks(const device *dev, int64_t n, int64_t batch, const double *maps, int64_t *index)
{
    const int64_t bytes = batch * PEAK_PARTS * (int64_t)sizeof(peak);
    void *parts;
    peak *found = (peak *)malloc((size_t)bytes + 1);
    if (!found) FAIL(STATUS_RESOURCE, "out of host memory");
    status result = scratch(dev, SCRATCH_SUMS, bytes, &parts);
    if (result == STATUS_OK)
        result = launch(dev, dim3(PEAK_PARTS, (unsigned)batch), dim3(THREADS), peak_parts, n, maps,
                        parts);
    if (result == STATUS_OK) result = device_to_host(dev, found, parts, bytes);
    for (int64_t b = 0; b < batch && result == STATUS_OK; b++) {
        peak best = found[b * PEAK_PARTS];
        for (int i = 1; i < PEAK_PARTS; i++)
            best = higher(best, found[b * PEAK_PARTS + i]);
        index[b] = best.at;
    }
    free(found);
    return result;
}

/* parts [trials][SHIFT_SUMS][blocks] */
static __global__ void correlation_parts(int64_t n, const shift_motion *trials,
                                         const double *product, double *parts)
{
    const shift_motion trial = trials[blockIdx.y];
    const double *from = product + 2 * trial.volume * half_count(n);
    double sums[SHIFT_SUMS] = {0};
    for (int64_t i = element(); i < half_count(n); i += gridDim.x * (int64_t)THREADS)
        shift_add(i, n, from + 2 * i, trial.shift, sums);
    for (int s = 0; s < SHIFT_SUMS; s++) {
        const double sum = block_sum(sums[s]);
        if (threadIdx.x == 0)
            parts[(blockIdx.y * SHIFT_SUMS + s) * (int64_t)gridDim.x + blockIdx.x] = sum;
    }
}

static status correlations(const device *dev, int64_t n, int64_t n_trials,
                           const shift_motion *trials, const double *product,
                           double (*sums)[SHIFT_SUMS])
{
    const int blocks = sum_blocks(half_count(n));
    void *there;
    double *parts;
    if (n_trials == 0) return STATUS_OK;
    TRY(upload(dev, n_trials * (int64_t)sizeof *trials, trials, &there));
    TRY(sum_room(dev, n_trials * SHIFT_SUMS, blocks, &parts));
    TRY(launch(dev, dim3(blocks, (unsigned)n_trials), dim3(THREADS), correlation_parts, n, there,
               product, parts));
    return sum_parts(dev, (int)n_trials * SHIFT_SUMS, blocks, parts, sums[0]);
}

static __global__ void move_coefficients(int64_t n, const shift_motion *motions, double *half)
{
    const shift_motion *motion = motions + blockIdx.y;
    const int64_t i = element(), h = half_count(n);
    if (i < h) shift_move(i, n, motion->hand, motion->shift, half + 2 * (blockIdx.y * h + i));
}

static status move(const device *dev, int64_t n, int64_t batch, const shift_motion *motions,
                   double *half)
{
    void *there;
    TRY(upload(dev, batch * (int64_t)sizeof *motions, motions, &there));
    return launch(dev, grid_of_batch(half_count(n), batch), dim3(THREADS), move_coefficients, n,
                  there, half);
}

static __global__ void average(int64_t n, int64_t n_chosen, const int64_t *chosen,
                               const double *maps, double *result)
{
    const int64_t i = element();
    if (i >= n) return;
    double sum = 0;
    for (int64_t c = 0; c < n_chosen; c++)
        sum += maps[chosen[c] * n + i];
    result[i] = n_chosen > 0 ? sum / (double)n_chosen : 0;
}

static status mean(const device *dev, int64_t n, int64_t n_chosen, const int64_t *chosen,
                   const double *maps, double *result)
{
    void *there;
    TRY(upload(dev, n_chosen * (int64_t)sizeof *chosen, chosen, &there));
    return launch(dev, grid_of(n), dim3(THREADS), average, n, n_chosen, there, maps, result);
}

extern "C" const average_kernels average_kernels_cuda;
extern "C" const average_kernels average_kernels_cuda = {
    power, cross, peaks, correlations, move, mean,
};
