#include "mtip/phase.h"

#include "nufft/fft.h"

#include <math.h>
#include <stdlib.h>

struct phaser {
    const device *dev;
    const volume_kernels *volumes;
    const phase_kernels *kernels;
    phase_options options;
    int64_t grid;            /* edge of the phasing grid: size, or the next size FFTs like */
    fft *forward, *backward; /* of all starts */
    fft *forward_one, *backward_one;     /* of one volume */
    void *density, *projected, *support; /* [starts][grid^3], origin at index 0 */
    void *sphere;                        /* [grid^3], the first support */
    void *half;                          /* [starts] half volumes */
    void *amplitude, *blur;              /* half volumes of reals */
};

static int64_t bytes(const phaser *p, int64_t n)
{
    return real_bytes(p->options.precision, n);
}

/* Device reals from host doubles. */
static status upload(const phaser *p, const double *from, int64_t n, void *to)
{
    return device_from_doubles(p->dev, p->options.precision, n, from, to);
}

static status make_blur(phaser *p)
{
    const int64_t n = p->grid, h = half_count(n);
    double *values = malloc((size_t)h * sizeof *values);
    if (!values) FAIL(STATUS_RESOURCE, "out of host memory");
    const double c = 2 * M_PI * M_PI * p->options.blur * p->options.blur / (double)(n * n);
    for (int64_t i = 0; i < h; i++)
        values[i] = exp(-c * half_k2(i, n)) / (double)cube(n);
    status result = upload(p, values, h, p->blur);
    free(values);
    return result;
}

/* The first support, origin at index 0. */
static status make_sphere(phaser *p)
{
    const int64_t n = p->grid;
    double *values = malloc((size_t)cube(n) * sizeof *values);
    if (!values) FAIL(STATUS_RESOURCE, "out of host memory");
    for (int64_t i = 0; i < cube(n); i++) {
        const double x = (double)frequency(i % n, n), y = (double)frequency(i / n % n, n);
        const double z = (double)frequency(i / n / n, n);
        values[i] = x * x + y * y + z * z <= p->options.radius * p->options.radius;
    }
    status result = upload(p, values, cube(n), p->sphere);
    free(values);
    return result;
}

static status create_transforms(phaser *p)
{
    const int64_t n = p->grid, size[3] = {n, n, n}, starts = p->options.starts;
    const precision prec = p->options.precision;
    TRY(fft_create(p->dev, prec, FFT_REAL_FORWARD, 3, size, starts, false, &p->forward));
    TRY(fft_create(p->dev, prec, FFT_REAL_BACKWARD, 3, size, starts, false, &p->backward));
    TRY(fft_create(p->dev, prec, FFT_REAL_FORWARD, 3, size, 1, false, &p->forward_one));
    return fft_create(p->dev, prec, FFT_REAL_BACKWARD, 3, size, 1, false, &p->backward_one);
}

static status allocate(phaser *p)
{
    const int64_t n = cube(p->grid), h = half_count(p->grid);
    const int64_t starts = p->options.starts;
    TRY(device_alloc(p->dev, bytes(p, starts * n), &p->density));
    TRY(device_alloc(p->dev, bytes(p, starts * n), &p->projected));
    TRY(device_alloc(p->dev, bytes(p, starts * n), &p->support));
    TRY(device_alloc(p->dev, bytes(p, 2 * starts * h), &p->half));
    TRY(device_alloc(p->dev, bytes(p, h), &p->amplitude));
    TRY(device_alloc(p->dev, bytes(p, h), &p->blur));
    TRY(device_alloc(p->dev, bytes(p, n), &p->sphere));
    TRY(device_zero(p->dev, p->density, bytes(p, starts * n)));
    return device_zero(p->dev, p->support, bytes(p, starts * n));
}

/* The arrays of allocate(); the FFTs of a GPU have work space of their own, half volumes. */
int64_t phaser_forecast(device_kind kind, const phase_options *options)
{
    const int64_t grid = fft_good_size(options->size, false), n = cube(grid), h = half_count(grid);
    const int64_t halves = kind == DEVICE_CPU ? 1 : 2;
    return real_bytes(options->precision, options->starts * (3 * n + 2 * halves * h) + 2 * h + n);
}

status phaser_create(const device *dev, const phase_options *options, phaser **created)
{
    status result = STATUS_OK;
    *created = NULL;
    if (options->size < 1 || options->starts < 1 || !(options->radius > 0))
        FAIL(STATUS_INVALID, "phasing %lld starts of size %lld, radius %g",
             (long long)options->starts, (long long)options->size, options->radius);
    phaser *p = calloc(1, sizeof *p);
    if (!p) FAIL(STATUS_RESOURCE, "out of host memory");
    p->dev = dev;
    p->options = *options;
    p->grid = fft_good_size(options->size, false);
    p->volumes = volume_kernels_of(dev, options->precision);
    p->kernels = phase_kernels_of(dev, options->precision);
    TRY_OR(fail, allocate(p));
    TRY_OR(fail, create_transforms(p));
    TRY_OR(fail, make_blur(p));
    TRY_OR(fail, make_sphere(p));
    *created = p;
    return STATUS_OK;
fail:
    phaser_destroy(p);
    return result;
}

void phaser_destroy(phaser *p)
{
    if (!p) return;
    fft_destroy(p->forward);
    fft_destroy(p->backward);
    fft_destroy(p->forward_one);
    fft_destroy(p->backward_one);
    void *arrays[] = {p->density, p->projected, p->support, p->sphere,
                      p->half,    p->amplitude, p->blur};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        device_free(p->dev, arrays[i]);
    free(p);
}

/* Volume s of `volumes`. */
static void *volume(const phaser *p, void *volumes, int64_t s)
{
    return (char *)volumes + bytes(p, s * cube(p->grid));
}

status phaser_set_target(phaser *p, const void *autocorrelation, double k_min, double k_max)
{
    const int64_t n = p->options.size, g = p->grid;
    TRY(p->volumes->embed(p->dev, n, autocorrelation, g, p->projected));
    TRY(fft_run(p->forward_one, p->projected, p->half));
    return p->kernels->amplitudes(p->dev, g, n, k_min, k_max, p->half, p->amplitude);
}

static status start_support(phaser *p, int64_t s)
{
    return device_copy(p->dev, volume(p, p->support, s), p->sphere, bytes(p, cube(p->grid)));
}

status phaser_start_random(phaser *p, int64_t s, uint64_t seed, uint64_t number)
{
    TRY(start_support(p, s));
    return p->kernels->random_start(p->dev, cube(p->grid), seed, number, p->sphere,
                                    volume(p, p->density, s));
}

status phaser_start_from(phaser *p, int64_t s, const double *density)
{
    const int64_t n = p->options.size;
    TRY(start_support(p, s));
    TRY(p->volumes->from_doubles(p->dev, cube(n), density, p->projected));
    return p->volumes->embed(p->dev, n, p->projected, p->grid, volume(p, p->density, s));
}

static status iterate(phaser *p, phase_step step, int count)
{
    const int64_t n = cube(p->grid), h = half_count(p->grid);
    const int64_t starts = p->options.starts;
    const phase_state state = {p->grid, starts, p->amplitude, p->support, p->density, p->half};
    bool done = false;
    if (p->kernels->iterate)
        TRY(p->kernels->iterate(p->dev, &state, step, p->options.beta, count, &done));
    for (int i = 0; i < count && !done; i++) {
        TRY(fft_run(p->forward, p->density, p->half));
        TRY(p->kernels->project_modulus(p->dev, h, starts, p->amplitude, 1 / (double)n, p->half));
        TRY(fft_run(p->backward, p->half, p->projected));
        TRY(p->kernels->update_density(p->dev, starts * n, step, p->options.beta, p->projected,
                                       p->support, p->density));
    }
    return STATUS_OK;
}

static status shrinkwrap(phaser *p)
{
    const int64_t n = cube(p->grid), h = half_count(p->grid);
    TRY(fft_run(p->forward, p->density, p->half));
    for (int64_t s = 0; s < p->options.starts; s++)
        TRY(p->volumes->scale_half(p->dev, h, p->blur, (char *)p->half + bytes(p, 2 * s * h)));
    TRY(fft_run(p->backward, p->half, p->projected));
    return p->kernels->threshold(p->dev, n, p->options.starts, p->options.threshold, p->projected,
                                 p->support);
}

status phaser_run(phaser *p, int loops)
{
    for (int i = 0; i < loops; i++) {
        TRY(iterate(p, PHASE_ER, p->options.n_er));
        TRY(iterate(p, p->options.step, p->options.n_hio));
        TRY(iterate(p, PHASE_ER, p->options.n_er));
        TRY(shrinkwrap(p));
    }
    return iterate(p, PHASE_ER, p->options.n_er);
}

static status get_r_factors(phaser *p, double *r_factors)
{
    const int64_t starts = p->options.starts;
    double *norms = malloc((size_t)starts * sizeof *norms);
    if (!norms) FAIL(STATUS_RESOURCE, "out of host memory");
    status result = p->kernels->modulus_error(p->dev, half_count(p->grid), starts, p->amplitude,
                                              p->half, r_factors, norms);
    for (int64_t s = 0; s < starts && result == STATUS_OK; s++)
        r_factors[s] = norms[s] > 0 ? sqrt(r_factors[s] / norms[s]) : NAN;
    free(norms);
    return result;
}

status phaser_get(phaser *p, double *densities, double *r_factors)
{
    const int64_t n = p->options.size;
    TRY(fft_run(p->forward, p->density, p->half));
    for (int64_t s = 0; s < p->options.starts; s++) {
        TRY(p->volumes->extract(p->dev, p->grid, volume(p, p->density, s), 1, NULL, n,
                                p->projected));
        TRY(p->volumes->to_doubles(p->dev, cube(n), p->projected, densities + s * cube(n)));
    }
    return get_r_factors(p, r_factors);
}

status phaser_autocorrelation(phaser *p, const double *density, void *autocorrelation)
{
    const int64_t n = p->options.size, g = p->grid;
    TRY(p->volumes->from_doubles(p->dev, cube(n), density, autocorrelation));
    TRY(p->volumes->embed(p->dev, n, autocorrelation, g, p->projected));
    TRY(fft_run(p->forward_one, p->projected, p->half));
    TRY(p->kernels->squared_modulus(p->dev, half_count(g), p->half));
    TRY(fft_run(p->backward_one, p->half, p->projected));
    return p->volumes->extract(p->dev, g, p->projected, 1 / (double)cube(g), NULL, n,
                               autocorrelation);
}
