/* sampler.c: see sampler.h. */
#include "mtip/sampler.h"

#include "mtip/rotation.h"
#include "nufft/nufft.h"

#include <stdlib.h>

static const double two_pi = 6.283185307179586476925;

struct sampler {
    const device *dev;
    int64_t n;
    int batch;
    nufft *plan;
    void *modes;     /* on the device: [batch][n][n][n] complex */
    double *points;  /* [3][capacity] on the host */
    void *on_points; /* the same on the device */
    void *on_values; /* [batch][capacity] complex on the device */
    int64_t capacity;
};

/* modes [batch][n^3] complex: the map, and its products with -2 pi i x_d/n, whose transforms are
   the derivatives. */
static void fill_modes(const double *map, int64_t n, bool gradient, double *modes)
{
    int64_t size = n * n * n, centre = n / 2;
    for (int64_t i = 0; i < size; i++) {
        const int64_t x[3] = {i % n - centre, i / n % n - centre, i / n / n - centre};
        modes[2 * i] = map[i];
        modes[2 * i + 1] = 0;
        for (int d = 0; d < 3 && gradient; d++) {
            double *mode = modes + 2 * ((d + 1) * size + i);
            mode[0] = 0;
            mode[1] = -two_pi * (double)x[d] / (double)n * map[i];
        }
    }
}

static status upload_modes(sampler *s, const double *map)
{
    int64_t bytes = s->batch * s->n * s->n * s->n * 2 * (int64_t)sizeof(double);
    double *modes = malloc((size_t)bytes);
    if (!modes) FAIL(STATUS_RESOURCE, "no memory to sample a map of %lld", (long long)s->n);
    fill_modes(map, s->n, s->batch > 1, modes);
    status result = device_alloc(s->dev, bytes, &s->modes);
    if (result == STATUS_OK) result = device_from_host(s->dev, s->modes, modes, bytes);
    free(modes);
    return result;
}

status sampler_create(const device *dev, int64_t n, const double *map, double tolerance,
                      bool gradient, sampler **created)
{
    status result = STATUS_OK;
    const int64_t size[3] = {n, n, n};
    sampler *s = calloc(1, sizeof *s);
    if (!s) FAIL(STATUS_RESOURCE, "no memory to sample a map");
    s->dev = dev;
    s->n = n;
    s->batch = gradient ? 4 : 1;
    nufft_options options = {
        .precision = PRECISION_DOUBLE, .tolerance = tolerance, .sign = -1, .batch = s->batch};
    TRY_OR(failed, nufft_create(dev, 3, size, &options, &s->plan));
    TRY_OR(failed, upload_modes(s, map));
    *created = s;
    return STATUS_OK;
failed:
    sampler_destroy(s);
    return result;
}

void sampler_destroy(sampler *s)
{
    if (!s) return;
    nufft_destroy(s->plan);
    device_free(s->dev, s->modes);
    device_free(s->dev, s->on_points);
    device_free(s->dev, s->on_values);
    free(s->points);
    free(s);
}

static status reserve(sampler *s, int64_t n_points)
{
    if (n_points <= s->capacity) return STATUS_OK;
    int64_t bytes = n_points * (int64_t)sizeof(double);
    s->capacity = 0;
    free(s->points);
    device_free(s->dev, s->on_points);
    device_free(s->dev, s->on_values);
    s->on_points = s->on_values = NULL;
    s->points = malloc((size_t)(3 * bytes));
    if (!s->points) FAIL(STATUS_RESOURCE, "no memory for %lld Fourier points", (long long)n_points);
    TRY(device_alloc(s->dev, 3 * bytes, &s->on_points));
    TRY(device_alloc(s->dev, s->batch * 2 * bytes, &s->on_values));
    s->capacity = n_points;
    return STATUS_OK;
}

status sampler_run(sampler *s, const ball *b, const double q[4], double *values)
{
    TRY(reserve(s, b->n_points));
    double r[9];
    rotation_matrix(q, r);
    int64_t bytes = b->n_points * (int64_t)sizeof(double);
    const void *coordinates[3];
    for (int d = 0; d < 3; d++) {
        double *row = s->points + d * b->n_points, unit = two_pi / (double)s->n;
        for (int64_t i = 0; i < b->n_points; i++) {
            const int *k = b->k[i];
            row[i] = unit * (r[d] * k[0] + r[3 + d] * k[1] + r[6 + d] * k[2]);
        }
        coordinates[d] = (const char *)s->on_points + d * bytes;
    }
    TRY(device_from_host(s->dev, s->on_points, s->points, 3 * bytes));
    TRY(nufft_set_points(s->plan, b->n_points, coordinates));
    TRY(nufft_forward(s->plan, s->modes, s->on_values));
    return device_to_host(s->dev, values, s->on_values, s->batch * 2 * bytes);
}
