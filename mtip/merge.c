#include "mtip/merge.h"

#include "core/replay.h"
#include "mtip/points.h"
#include "nufft/fft.h"
#include "nufft/nufft.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct merger {
    const device *dev;
    const volume_kernels *kernels;
    const cg_kernels *steps;
    merge_options options;
    nufft *plan; /* 2n-1 modes an edge, two vectors: weights and data */
    points points;
    void *strengths; /* [2][n_points] */
    int64_t strengths_capacity;
    void *modes;         /* complex [2][2n-1]^3 */
    void *kernel, *data; /* the sums: (2n-1)^3 and n^3 reals */
    void *support;       /* n^3 */
    fft *forward, *backward;
    void *half, *spectrum; /* half volume of p^3, its real multiplier */
    cg_arrays cg;          /* p: edge of the grid on which T is a circulant, p >= 2n-1 */
    replay *iteration;
    bool at_once; /* all iterations in one kernel */
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

typedef struct array {
    void **memory;
    int64_t n; /* reals */
} array;

enum { N_ARRAYS = 12 };

static void list_arrays(merger *m, array list[N_ARRAYS])
{
    const int64_t n = m->options.size, k = 2 * n - 1, p = m->cg.p;
    const array all[N_ARRAYS] = {
        {&m->modes, 4 * cube(k)},      {&m->kernel, cube(k)},      {&m->data, cube(n)},
        {&m->support, cube(n)},        {&m->cg.grid, cube(p)},     {&m->half, 2 * half_count(p)},
        {&m->spectrum, half_count(p)}, {&m->cg.residual, cube(n)}, {&m->cg.direction, cube(n)},
        {&m->cg.product, cube(n)},     {&m->cg.x, cube(n)},        {&m->cg.padded, cube(p)},
    };
    memcpy(list, all, sizeof all);
}

static status allocate(merger *m)
{
    const int64_t n = m->cg.n;
    array list[N_ARRAYS];
    list_arrays(m, list);
    for (int i = 0; i < N_ARRAYS; i++)
        TRY(device_alloc(m->dev, bytes(m, list[i].n), list[i].memory));
    TRY(device_alloc(m->dev, 2 * cg_parts(cube(n)) * (int64_t)sizeof(double),
                     (void **)&m->cg.parts));
    TRY(device_alloc(m->dev, sizeof *m->cg.scalars, (void **)&m->cg.scalars));
    m->cg.b = m->data;
    m->cg.support = m->support;
    return device_zero(m->dev, m->cg.padded, bytes(m, cube(m->cg.p)));
}

static nufft_options plan_of(const merge_options *options)
{
    return (nufft_options){.precision = options->precision,
                           .tolerance = options->tolerance,
                           .upsampling = options->upsampling,
                           .real = true,
                           .batch = 2,
                           .deterministic = options->deterministic};
}

/* The FFTs of a GPU have work space of their own. */
status merger_forecast(device_kind kind, const merge_options *options, int64_t n_points,
                       int64_t *sum)
{
    const int64_t k = 2 * options->size - 1, modes[3] = {k, k, k};
    const nufft_options plan = plan_of(options);
    merger m = {.options = *options, .cg = {.n = options->size, .p = fft_good_size(k, true)}};
    array list[N_ARRAYS];
    TRY(nufft_forecast(kind, 3, modes, &plan, n_points, sum));
    list_arrays(&m, list);
    for (int i = 0; i < N_ARRAYS; i++)
        *sum += bytes(&m, list[i].n);
    *sum += bytes(&m, 5 * n_points + (kind == DEVICE_CPU ? 0 : 4 * half_count(m.cg.p)));
    return STATUS_OK;
}

static status iterate(void *context);

static status create_transforms(merger *m)
{
    const int64_t k = 2 * m->options.size - 1, modes[3] = {k, k, k};
    const int64_t p = m->cg.p, grid[3] = {p, p, p};
    const precision prec = m->options.precision;
    const nufft_options plan = plan_of(&m->options);
    TRY(nufft_create(m->dev, 3, modes, &plan, &m->plan));
    TRY(fft_create(m->dev, prec, FFT_REAL_FORWARD, 3, grid, 1, false, &m->forward));
    return fft_create(m->dev, prec, FFT_REAL_BACKWARD, 3, grid, 1, false, &m->backward);
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
    m->steps = cg_kernels_of(dev, options->precision);
    m->cg.n = options->size;
    m->cg.p = m->steps->edge ? m->steps->edge(dev, options->size) : 0;
    m->at_once = m->cg.p > 0;
    if (!m->at_once) m->cg.p = fft_good_size(2 * options->size - 1, true);
    TRY_OR(fail, create_transforms(m));
    TRY_OR(fail, allocate(m));
    TRY_OR(fail, replay_create(dev, iterate, m, &m->iteration));
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
    replay_destroy(m->iteration);
    void *arrays[] = {m->strengths, m->modes,     m->kernel,      m->data,       m->support,
                      m->half,      m->spectrum,  m->cg.residual, m->cg.product, m->cg.direction,
                      m->cg.x,      m->cg.padded, m->cg.grid,     m->cg.parts,   m->cg.scalars};
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
    const int64_t n = m->options.size, k = 2 * n - 1, p = m->cg.p;
    const int64_t centre = (n - 1) * (k * k + k + 1);
    TRY(device_to_doubles(m->dev, m->options.precision, 1, (char *)m->kernel + bytes(m, centre),
                          total_weight));
    TRY(m->kernels->embed(m->dev, k, m->kernel, p, m->cg.grid));
    TRY(fft_run(m->forward, m->cg.grid, m->half));
    return m->kernels->real_spectrum(m->dev, half_count(p), m->half, 1 / (double)cube(p),
                                     m->spectrum);
}

/* out = S volume, through the grid. */
static status restrict_to_support(merger *m, const void *volume, void *out)
{
    const cg_arrays *cg = &m->cg;
    TRY(m->kernels->embed(m->dev, cg->n, volume, cg->p, cg->grid));
    return m->kernels->extract(m->dev, cg->p, cg->grid, 1, m->support, cg->n, out);
}

/* direction -> (S T S + shift) direction = product */
static status multiply(merger *m)
{
    TRY(m->steps->direct(m->dev, &m->cg));
    TRY(fft_run(m->forward, m->cg.padded, m->half));
    TRY(m->kernels->scale_half(m->dev, half_count(m->cg.p), m->spectrum, m->half));
    TRY(fft_run(m->backward, m->half, m->cg.grid));
    return m->steps->product(m->dev, &m->cg);
}

static status iterate(void *context)
{
    merger *m = context;
    TRY(multiply(m));
    return m->steps->step(m->dev, &m->cg);
}

/* From the start in x, which is the first direction: residual x and ratio 0 make it that. */
static status start(merger *m, double shift)
{
    const int64_t n = bytes(m, cube(m->cg.n));
    const cg_scalars scalars = {.shift = shift, .limit = m->options.residual * m->options.residual};
    TRY(device_from_host(m->dev, m->cg.scalars, &scalars, sizeof scalars));
    TRY(device_copy(m->dev, m->cg.residual, m->cg.x, n));
    TRY(device_zero(m->dev, m->cg.direction, n));
    TRY(multiply(m));
    return m->steps->start(m->dev, &m->cg);
}

/* From s on, to the end. A look at a GPU's scalars waits for it, and iterations that come too late change
   nothing. */
static status iterate_to_end(merger *m, cg_scalars *s)
{
    const int between_looks = device_kind_of(m->dev) == DEVICE_CPU ? 1 : 10;
    for (int i = 0; i < m->options.iterations && !s->done;) {
        for (int j = 0; j < between_looks && i < m->options.iterations; j++, i++)
            TRY(replay_run(m->iteration));
        TRY(device_to_host(m->dev, s, m->cg.scalars, sizeof *s));
    }
    return STATUS_OK;
}

static status conjugate_gradients(merger *m, double shift, merge_report *report)
{
    cg_scalars s;
    TRY(start(m, shift));
    if (m->at_once)
        TRY(m->steps->iterate(m->dev, &m->cg, m->spectrum, m->half, m->options.iterations));
    TRY(device_to_host(m->dev, &s, m->cg.scalars, sizeof s));
    if (!m->at_once) TRY(iterate_to_end(m, &s));
    report->iterations = s.iterations;
    report->residual = s.b2 > 0 ? sqrt(s.r2 / s.b2) : 0;
    if (!isfinite(s.r2))
        FAIL(STATUS_NUMERIC, "merging: the residual is %g after %d CG iterations", s.r2,
             s.iterations);
    return STATUS_OK;
}

status merger_solve(merger *m, void *autocorrelation, merge_report *report)
{
    double total_weight;
    TRY(make_spectrum(m, &total_weight));
    if (!(total_weight > 0))
        FAIL(STATUS_NUMERIC, "merging: the sum of weights is %g; there are no data", total_weight);
    TRY(restrict_to_support(m, m->data, m->data));
    TRY(restrict_to_support(m, autocorrelation, m->cg.x));
    TRY(conjugate_gradients(m, m->options.lambda * total_weight, report));
    TRY(device_copy(m->dev, autocorrelation, m->cg.x, bytes(m, cube(m->cg.n))));
    return m->kernels->symmetrise(m->dev, m->options.size, autocorrelation);
}
