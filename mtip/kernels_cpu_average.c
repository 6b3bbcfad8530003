/* kernels_cpu_average.c: aligning and averaging densities on the CPU, volumes shared out to
   threads. */
#include "mtip/kernels.h"

#include <stdlib.h>

static status power(const device *dev, int64_t n, int64_t batch, const double *half, double *sums)
{
#pragma omp parallel for num_threads(device_threads(dev)) schedule(static)
    for (int64_t b = 0; b < batch; b++) {
        const double *f = half + 2 * b * half_count(n);
        double sum = 0;
        for (int64_t i = 1; i < half_count(n); i++)
            sum += half_weight(i, n) * (f[2 * i] * f[2 * i] + f[2 * i + 1] * f[2 * i + 1]);
        sums[b] = sum;
    }
    return STATUS_OK;
}

static status cross(const device *dev, int64_t n, int64_t batch, double hand, const double *fixed,
                    const double *moving, double *product)
{
#pragma omp parallel for num_threads(device_threads(dev)) schedule(static)
    for (int64_t b = 0; b < batch; b++) {
        const double *g = moving + 2 * b * half_count(n);
        double *to = product + 2 * b * half_count(n);
        for (int64_t i = 0; i < half_count(n); i++) {
            const double re = g[2 * i], im = hand * g[2 * i + 1];
            to[2 * i] = fixed[2 * i] * re + fixed[2 * i + 1] * im;
            to[2 * i + 1] = fixed[2 * i + 1] * re - fixed[2 * i] * im;
        }
        to[0] = to[1] = 0;
    }
    return STATUS_OK;
}

static status peaks(const device *dev, int64_t n, int64_t batch, const double *maps, int64_t *index)
{
#pragma omp parallel for num_threads(device_threads(dev)) schedule(static)
    for (int64_t b = 0; b < batch; b++) {
        const double *map = maps + b * n;
        int64_t best = 0;
        for (int64_t i = 1; i < n; i++)
            if (map[i] > map[best]) best = i;
        index[b] = best;
    }
    return STATUS_OK;
}

static status correlations(const device *dev, int64_t n, int64_t n_trials,
                           const shift_motion *trials, const double *product,
                           double (*sums)[SHIFT_SUMS])
{
#pragma omp parallel for num_threads(device_threads(dev)) schedule(static)
    for (int64_t t = 0; t < n_trials; t++) {
        const double *from = product + 2 * trials[t].volume * half_count(n);
        memset(sums[t], 0, sizeof sums[t]);
        for (int64_t i = 0; i < half_count(n); i++)
            shift_add(i, n, from + 2 * i, trials[t].shift, sums[t]);
    }
    return STATUS_OK;
}

static status move(const device *dev, int64_t n, int64_t batch, const shift_motion *motions,
                   double *half)
{
#pragma omp parallel for num_threads(device_threads(dev)) schedule(static)
    for (int64_t b = 0; b < batch; b++)
        for (int64_t i = 0; i < half_count(n); i++)
            shift_move(i, n, motions[b].hand, motions[b].shift, half + 2 * (b * half_count(n) + i));
    return STATUS_OK;
}

static status mean(const device *dev, int64_t n, int64_t n_chosen, const int64_t *chosen,
                   const double *maps, double *result)
{
#pragma omp parallel for num_threads(device_threads(dev)) schedule(static)
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int64_t c = 0; c < n_chosen; c++)
            sum += maps[chosen[c] * n + i];
        result[i] = n_chosen > 0 ? sum / (double)n_chosen : 0;
    }
    return STATUS_OK;
}

extern const average_kernels average_kernels_cpu;
const average_kernels average_kernels_cpu = {power, cross, peaks, correlations, move, mean};
