#include "mtip/recompute.h"

#include "nufft/fft.h"
#include "nufft/nufft.h"

#include <math.h>
#include <stdlib.h>

/* -n/2, which an axis of even n has no partner of, is left out. */
double recompute_asymmetry(int64_t n, const double *v)
{
    const int64_t first = n % 2 == 0, centre = n / 2 * (n * n + n + 1);
    double difference = 0, norm = 0;
    for (int64_t z = first; z < n; z++)
        for (int64_t y = first; y < n; y++)
            for (int64_t x = first; x < n; x++) {
                const int64_t i = (z * n + y) * n + x;
                const double d = v[i] - v[2 * centre - i];
                difference += d * d;
                norm += v[i] * v[i];
            }
    return difference == 0 ? 0 : sqrt(difference / norm);
}

double recompute_intensity(int64_t n, const double *modes, const double q[3])
{
    const int64_t size[3] = {n, n, n};
    const double *const coordinates[3] = {&q[0], &q[1], &q[2]};
    double value[2];
    nufft_direct_forward(3, size, 1, 1, coordinates, modes, value);
    return value[0];
}

/* The sum over pixels of y log(m / mean), less fluence times the sum of m, over that of the means. */
static double poisson(const recompute_rule *rule, int64_t n, const float *counts,
                      const double *slice, double fluence, double *size)
{
    double sum = 0, total = 0;
    for (int64_t p = 0; p < n; p++) {
        const double rate = fmax(slice[p], rule->floor) * rule->correction[p];
        const double term = (double)counts[p] * log(rate / fmax(rule->mean[p], rule->floor));
        sum += term;
        total += rate - rule->mean[p];
        *size += fabs(term) + fluence * rate;
    }
    return sum - fluence * total;
}

static double correlation(const recompute_rule *rule, int64_t n, const float *counts,
                          const double *slice)
{
    double yy = 0, xx = 0, xy = 0;
    for (int64_t p = 0; p < rule->n_pixels; p++) {
        const double y = (double)counts[p] * rule->whitening[p];
        const double x = p < n ? slice[p] * rule->correction[p] * rule->whitening[p] : 0;
        yy += y * y;
        xx += x * x;
        xy += x * y;
    }
    return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : 0;
}

/* Minus half the squared distance, but for the image's own square. */
static double distance(const recompute_rule *rule, int64_t n, const float *counts,
                       const double *slice, double *size)
{
    double sum = 0;
    for (int64_t p = 0; p < n; p++) {
        const double x = slice[p] * rule->correction[p], y = (double)counts[p];
        sum += x * y - x * x / 2;
        *size += fabs(x * y) + x * x / 2;
    }
    return sum;
}

double recompute_score(const recompute_rule *rule, int64_t n, const float *counts,
                       const double *slice, double fluence, double *size)
{
    *size = 0;
    if (rule->method == MATCH_EMC) return poisson(rule, n, counts, slice, fluence, size);
    if (rule->method == MATCH_L2) return distance(rule, n, counts, slice, size);
    *size = 1;
    return correlation(rule, n, counts, slice);
}

/* -- the normal equations, on a periodic grid of p^3 that holds 2n-1 points an edge -- */

typedef struct grids {
    const device *host;
    const volume_kernels *volumes;
    int64_t n, p;
    double *grid, *half, *spectrum, *support;
    fft *forward, *backward;
} grids;

static status make_grids(grids *g)
{
    const int64_t size[3] = {g->p, g->p, g->p};
    double **arrays[] = {&g->grid, &g->half, &g->spectrum, &g->support};
    const int64_t counts[] = {cube(g->p), 2 * half_count(g->p), 2 * half_count(g->p), cube(g->n)};
    for (int i = 0; i < 4; i++)
        TRY(device_alloc(g->host, counts[i] * (int64_t)sizeof(double), (void **)arrays[i]));
    TRY(fft_create(g->host, PRECISION_DOUBLE, FFT_REAL_FORWARD, 3, size, 1, false, &g->forward));
    return fft_create(g->host, PRECISION_DOUBLE, FFT_REAL_BACKWARD, 3, size, 1, false,
                      &g->backward);
}

static void free_grids(grids *g)
{
    double *arrays[] = {g->grid, g->half, g->spectrum, g->support};
    for (int i = 0; i < 4; i++)
        device_free(g->host, arrays[i]);
    fft_destroy(g->forward);
    fft_destroy(g->backward);
}

static void make_support(const grids *g, double radius)
{
    for (int64_t i = 0; i < cube(g->n); i++) {
        const double x = (double)centred(i % g->n, g->n),
                     y = (double)centred(i / g->n % g->n, g->n);
        const double z = (double)centred(i / g->n / g->n, g->n);
        g->support[i] = x * x + y * y + z * z <= radius * radius;
    }
}

/* grid = the kernel's convolution with a; both stand with their centres at index 0. */
static status convolve(const grids *g, const double *kernel, const double *a)
{
    const int64_t h = half_count(g->p);
    TRY(g->volumes->embed(g->host, 2 * g->n - 1, kernel, g->p, g->grid));
    TRY(fft_run(g->forward, g->grid, g->spectrum));
    TRY(g->volumes->embed(g->host, g->n, a, g->p, g->grid));
    TRY(fft_run(g->forward, g->grid, g->half));
    for (int64_t i = 0; i < h; i++) {
        const double re = g->half[2 * i], im = g->half[2 * i + 1];
        const double scale_re = g->spectrum[2 * i], scale_im = g->spectrum[2 * i + 1];
        g->half[2 * i] = re * scale_re - im * scale_im;
        g->half[2 * i + 1] = re * scale_im + im * scale_re;
    }
    return fft_run(g->backward, g->half, g->grid);
}

status recompute_residual(const device *host, int64_t n, const double *kernel, const double *data,
                          const double *a, double radius, double lambda, double *residual)
{
    status result = STATUS_OK;
    const int64_t k = 2 * n - 1, centre = (n - 1) * (k * k + k + 1);
    const double shift = lambda * kernel[centre];
    double left = 0, norm = 0;
    grids g = {.host = host,
               .volumes = volume_kernels_of(host, PRECISION_DOUBLE),
               .n = n,
               .p = fft_good_size(k, true)};
    TRY_OR(done, make_grids(&g));
    make_support(&g, radius);
    TRY_OR(done, convolve(&g, kernel, a));
    /* spectrum has room for what is left of the grid */
    TRY_OR(done,
           g.volumes->extract(host, g.p, g.grid, 1 / (double)cube(g.p), g.support, n, g.spectrum));
    for (int64_t i = 0; i < cube(n); i++) {
        const double b = g.support[i] * data[i], d = b - g.spectrum[i] - shift * a[i];
        left += d * d;
        norm += b * b;
    }
    *residual = left == 0 ? 0 : sqrt(left / norm);
done:
    free_grids(&g);
    return result;
}
