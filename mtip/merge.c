#include "mtip/merge.h"

#include "mtip/points.h"
#include "nufft/fft.h"
#include "nufft/nufft.h"

#include <math.h>
#include <stdlib.h>

struct merger {
    const device *dev;
    const volume_kernels *kernels;
    merge_options options;
    nufft *plan; /* 2n-1 modes an edge, two vectors: weights and data */
    points points;
    void *strengths; /* [2][n_points] */
    int64_t strengths_capacity;
    void *modes;         /* complex [2][2n-1]^3 */
    void *kernel, *data; /* the sums: (2n-1)^3 and n^3 reals */
    void *support;       /* n^3 */
    int64_t padded;      /* p: edge of the grid on which T is a circulant, p >= 2n-1 */
    fft *forward, *backward;
    void *grid, *half, *spectrum;         /* p^3 reals, half volume, its real multiplier */
    void *residual, *direction, *product; /* n^3 */
};

static int64_t bytes(const merger *m, int64_t n)
{
    return real_bytes(m->options.precision, n);
}

/* 1 inside the sphere, 0 outside. */
static status make_support(merger *m)
{
    const int64_t n = m->options.size;
    double *mask = calloc((size_t)cube(n), sizeof *mask);
    if (!mask) FAIL(STATUS_RESOURCE, "out of host memory for %lld^3 voxels", (long long)n);
    const double r2 = m->options.radius * m->options.radius;
    for (int64_t z = 0; z < n; z++)
        for (int64_t y = 0; y < n; y++)
            for (int64_t x = 0; x < n; x++) {
                double dx = (double)centred(x, n), dy = (double)centred(y, n);
                double dz = (double)centred(z, n);
                mask[(z * n + y) * n + x] = dx * dx + dy * dy + dz * dz <= r2;
            }
    status result = device_from_doubles(m->dev, m->options.precision, cube(n), mask, m->support);
    free(mask);
    return result;
}

static status allocate(merger *m)
{
    const int64_t n = m->options.size, k = 2 * n - 1, p = m->padded;
    struct {
        void **memory;
        int64_t n;
    } arrays[] = {
        {&m->modes, 4 * cube(k)},      {&m->kernel, cube(k)},   {&m->data, cube(n)},
        {&m->support, cube(n)},        {&m->grid, cube(p)},     {&m->half, 2 * half_count(p)},
        {&m->spectrum, half_count(p)}, {&m->residual, cube(n)}, {&m->direction, cube(n)},
        {&m->product, cube(n)},
    };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        TRY(device_alloc(m->dev, bytes(m, arrays[i].n), arrays[i].memory));
    return STATUS_OK;
}

status merger_create(const device *dev, const merge_options *options, merger **created)
{
    status result = STATUS_OK;
    *created = NULL;
    if (!(options->radius > 0) || !(options->lambda >= 0) || options->iterations < 1)
        FAIL(STATUS_INVALID, "merging with radius %g, lambda %g, %d iterations", options->radius,
             options->lambda, options->iterations);
    merger *m = calloc(1, sizeof *m);
    if (!m) FAIL(STATUS_RESOURCE, "out of host memory");
    m->dev = dev;
    m->kernels = volume_kernels_of(dev, options->precision);
    m->options = *options;
    m->points = (points){.dev = dev, .precision = options->precision};
    const int64_t n = options->size, k = 2 * n - 1, modes[3] = {k, k, k};
    m->padded = fft_good_size(k, true);
    const int64_t p = m->padded, grid[3] = {p, p, p};
    const nufft_options plan = {.precision = options->precision,
                                .tolerance = options->tolerance,
                                .upsampling = options->upsampling,
                                .real = true,
                                .batch = 2};
    TRY_OR(fail, nufft_create(dev, 3, modes, &plan, &m->plan));
    TRY_OR(fail,
           fft_create(dev, options->precision, FFT_REAL_FORWARD, 3, grid, 1, false, &m->forward));
    TRY_OR(fail,
           fft_create(dev, options->precision, FFT_REAL_BACKWARD, 3, grid, 1, false, &m->backward));
    TRY_OR(fail, allocate(m));
    TRY_OR(fail, make_support(m));
    TRY_OR(fail, merger_begin(m));
    *created = m;
    return STATUS_OK;
fail:
    merger_destroy(m);
    return result;
}

void merger_destroy(merger *m)
{
    if (!m) return;
    nufft_destroy(m->plan);
    fft_destroy(m->forward);
    fft_destroy(m->backward);
    points_free(&m->points);
    void *arrays[] = {m->strengths, m->modes,    m->kernel,   m->data,      m->support, m->grid,
                      m->half,      m->spectrum, m->residual, m->direction, m->product};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        device_free(m->dev, arrays[i]);
    free(m);
}

status merger_begin(merger *m)
{
    TRY(device_zero(m->dev, m->kernel, bytes(m, cube(2 * m->options.size - 1))));
    return device_zero(m->dev, m->data, bytes(m, cube(m->options.size)));
}

static status reserve_strengths(merger *m, int64_t n_points)
{
    if (n_points <= m->strengths_capacity) return STATUS_OK;
    device_free(m->dev, m->strengths);
    m->strengths = NULL;
    m->strengths_capacity = 0;
    TRY(device_alloc(m->dev, bytes(m, 2 * n_points), &m->strengths));
    m->strengths_capacity = n_points;
    return STATUS_OK;
}

status merger_add(merger *m, int64_t n_references, const double *quaternions, const double *weights,
                  int64_t n_pixels, const void *pixels, const void *data)
{
    const int64_t n = m->options.size, k = 2 * n - 1, n_points = n_references * n_pixels;
    if (n_points == 0) return STATUS_OK;
    TRY(reserve_strengths(m, n_points));
    TRY(points_rotate(&m->points, n_references, quaternions, n_pixels, pixels));
    const void *const coordinates[3] = {m->points.coordinates[0], m->points.coordinates[1],
                                        m->points.coordinates[2]};
    TRY(nufft_set_points(m->plan, n_points, coordinates));
    TRY(match_kernels_of(m->dev, m->options.precision)
            ->spread_rows(m->dev, n_references, n_pixels, weights, m->strengths));
    TRY(device_copy(m->dev, (char *)m->strengths + bytes(m, n_points), data, bytes(m, n_points)));
    TRY(nufft_adjoint(m->plan, m->strengths, m->modes));
    TRY(m->kernels->add_real_centre(m->dev, k, m->modes, k, m->kernel));
    return m->kernels->add_real_centre(m->dev, k, (char *)m->modes + bytes(m, 2 * cube(k)), n,
                                       m->data);
}

void merger_sums(merger *m, void **kernel, int64_t *n_kernel, void **data, int64_t *n_data)
{
    *kernel = m->kernel;
    *n_kernel = cube(2 * m->options.size - 1);
    *data = m->data;
    *n_data = cube(m->options.size);
}

/* Multiplier of the circulant that holds T, and W = t(0), the sum of weights. */
static status make_spectrum(merger *m, double *total_weight)
{
    const int64_t n = m->options.size, k = 2 * n - 1, p = m->padded;
    const int64_t centre = (n - 1) * (k * k + k + 1);
    TRY(device_to_doubles(m->dev, m->options.precision, 1, (char *)m->kernel + bytes(m, centre),
                          total_weight));
    TRY(m->kernels->embed(m->dev, k, m->kernel, p, m->grid));
    TRY(fft_run(m->forward, m->grid, m->half));
    return m->kernels->real_spectrum(m->dev, half_count(p), m->half, 1 / (double)cube(p),
                                     m->spectrum);
}

/* out = S T S in + lambda W in, for an `in` inside S. */
static status apply(merger *m, double shift, const void *in, void *out)
{
    const int64_t n = m->options.size, p = m->padded;
    TRY(m->kernels->embed(m->dev, n, in, p, m->grid));
    TRY(fft_run(m->forward, m->grid, m->half));
    TRY(m->kernels->scale_half(m->dev, half_count(p), m->spectrum, m->half));
    TRY(fft_run(m->backward, m->half, m->grid));
    TRY(m->kernels->extract(m->dev, p, m->grid, 1, m->support, n, out));
    return m->kernels->combine(m->dev, cube(n), shift, in, 1, out);
}

/* volume *= S, through the padded grid. */
static status restrict_to_support(merger *m, void *volume)
{
    const int64_t n = m->options.size;
    TRY(m->kernels->embed(m->dev, n, volume, m->padded, m->grid));
    return m->kernels->extract(m->dev, m->padded, m->grid, 1, m->support, n, volume);
}

/* Conjugate gradients (Hestenes & Stiefel, 1952) from the start in x. */
static status conjugate_gradients(merger *m, double shift, void *x, merge_report *report)
{
    const volume_kernels *k = m->kernels;
    const int64_t n = cube(m->options.size);
    double norm, rr, curvature;
    TRY(k->dot(m->dev, n, m->data, m->data, &norm));
    TRY(apply(m, shift, x, m->product));
    TRY(device_copy(m->dev, m->residual, m->data, bytes(m, n)));
    TRY(k->combine(m->dev, n, -1, m->product, 1, m->residual));
    TRY(device_copy(m->dev, m->direction, m->residual, bytes(m, n)));
    TRY(k->dot(m->dev, n, m->residual, m->residual, &rr));
    int i = 0;
    for (; i < m->options.iterations && rr > m->options.residual * m->options.residual * norm;
         i++) {
        TRY(apply(m, shift, m->direction, m->product));
        TRY(k->dot(m->dev, n, m->direction, m->product, &curvature));
        if (!(curvature > 0)) break;
        const double step = rr / curvature, old = rr;
        TRY(k->combine(m->dev, n, step, m->direction, 1, x));
        TRY(k->combine(m->dev, n, -step, m->product, 1, m->residual));
        TRY(k->dot(m->dev, n, m->residual, m->residual, &rr));
        TRY(k->combine(m->dev, n, 1, m->residual, rr / old, m->direction));
    }
    report->iterations = i;
    report->residual = norm > 0 ? sqrt(rr / norm) : 0;
    if (!isfinite(rr))
        FAIL(STATUS_NUMERIC, "merging: the residual is %g after %d CG iterations", rr, i);
    return STATUS_OK;
}

status merger_solve(merger *m, void *autocorrelation, merge_report *report)
{
    double total_weight;
    TRY(make_spectrum(m, &total_weight));
    if (!(total_weight > 0))
        FAIL(STATUS_NUMERIC, "merging: the sum of weights is %g; there are no data", total_weight);
    TRY(restrict_to_support(m, m->data));
    TRY(restrict_to_support(m, autocorrelation));
    TRY(conjugate_gradients(m, m->options.lambda * total_weight, autocorrelation, report));
    return m->kernels->symmetrise(m->dev, m->options.size, autocorrelation);
}
