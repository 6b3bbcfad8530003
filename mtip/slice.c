#include "mtip/slice.h"

#include "mtip/points.h"
#include "nufft/nufft.h"

#include <stdlib.h>

struct slicer {
    const device *dev;
    slice_options options;
    nufft *plan;
    void *modes; /* complex [n][n][n] */
    points points;
};

static nufft_options plan_of(const slice_options *options)
{
    return (nufft_options){.precision = options->precision,
                           .tolerance = options->tolerance,
                           .upsampling = options->upsampling,
                           .real = true,
                           .batch = 1};
}

status slicer_forecast(device_kind kind, const slice_options *options, int64_t n_points,
                       int64_t *bytes)
{
    const int64_t n = options->size, modes[3] = {n, n, n};
    const nufft_options plan = plan_of(options);
    TRY(nufft_forecast(kind, 3, modes, &plan, n_points, bytes));
    *bytes += real_bytes(options->precision, 2 * cube(n) + 3 * n_points);
    return STATUS_OK;
}

status slicer_create(const device *dev, const slice_options *options, slicer **created)
{
    status result = STATUS_OK;
    slicer *s = calloc(1, sizeof *s);
    *created = NULL;
    if (!s) FAIL(STATUS_RESOURCE, "out of host memory");
    s->dev = dev;
    s->options = *options;
    s->points = (points){.dev = dev, .precision = options->precision};
    const int64_t n = options->size, modes[3] = {n, n, n};
    const nufft_options plan = plan_of(options);
    TRY_OR(fail, nufft_create(dev, 3, modes, &plan, &s->plan));
    TRY_OR(fail, device_alloc(dev, real_bytes(options->precision, 2 * cube(n)), &s->modes));
    *created = s;
    return STATUS_OK;
fail:
    slicer_destroy(s);
    return result;
}

void slicer_destroy(slicer *s)
{
    if (!s) return;
    nufft_destroy(s->plan);
    device_free(s->dev, s->modes);
    points_free(&s->points);
    free(s);
}

status slicer_set_model(slicer *s, const void *autocorrelation)
{
    return match_kernels_of(s->dev, s->options.precision)
        ->complex_from_real(s->dev, cube(s->options.size), autocorrelation, s->modes);
}

status slicer_run(slicer *s, int64_t n_rotations, const double *quaternions, int64_t n_pixels,
                  const void *pixels, void *slices)
{
    TRY(points_rotate(&s->points, n_rotations, quaternions, n_pixels, pixels));
    const void *const coordinates[3] = {s->points.coordinates[0], s->points.coordinates[1],
                                        s->points.coordinates[2]};
    TRY(nufft_set_points(s->plan, n_rotations * n_pixels, coordinates));
    return nufft_forward(s->plan, s->modes, slices);
}
