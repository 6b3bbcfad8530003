#include "mtip/phase.h"

#include "mtip/random.h"
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
    void *half;                          /* [starts] half volumes */
    void *amplitude, *mask, *blur;       /* half volumes of reals */
    double *host;                        /* n^3 */
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

/* |k|^2 of element i of a half volume. */
static double half_k2(int64_t i, int64_t n)
{
    const int64_t h = n / 2 + 1;
    double kx = (double)(i % h), ky = (double)frequency(i / h % n, n);
    double kz = (double)frequency(i / h / n, n);
    return kx * kx + ky * ky + kz * kz;
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
    TRY(device_alloc(p->dev, bytes(p, h), &p->mask));
    TRY(device_alloc(p->dev, bytes(p, h), &p->blur));
    p->host = malloc((size_t)n * sizeof *p->host);
    if (!p->host) FAIL(STATUS_RESOURCE, "out of host memory");
    TRY(device_zero(p->dev, p->density, bytes(p, starts * n)));
    return device_zero(p->dev, p->support, bytes(p, starts * n));
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
    void *arrays[] = {p->density,   p->projected, p->support, p->half,
                      p->amplitude, p->mask,      p->blur};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        device_free(p->dev, arrays[i]);
    free(p->host);
    free(p);
}

status phaser_set_target(phaser *p, const void *autocorrelation, double k_min, double k_max)
{
    const int64_t g = p->grid, h = half_count(g);
    const double ratio = (double)g / (double)p->options.size;
    double *mask = malloc((size_t)h * sizeof *mask);
    if (!mask) FAIL(STATUS_RESOURCE, "out of host memory");
    for (int64_t i = 0; i < h; i++) {
        double k = sqrt(half_k2(i, g)) / ratio;
        mask[i] = k > 0 && k >= k_min && k <= k_max;
    }
    status result = upload(p, mask, h, p->mask);
    free(mask);
    TRY(result);
    TRY(p->volumes->embed(p->dev, p->options.size, autocorrelation, g, p->projected));
    TRY(fft_run(p->forward_one, p->projected, p->half));
    return p->kernels->amplitudes(p->dev, h, p->half, p->mask, p->amplitude);
}

/* Whether voxel i, origin at index 0, lies in the first support. */
static bool in_sphere(const phaser *p, int64_t i)
{
    const int64_t n = p->grid;
    double x = (double)frequency(i % n, n), y = (double)frequency(i / n % n, n);
    double z = (double)frequency(i / n / n, n);
    return x * x + y * y + z * z <= p->options.radius * p->options.radius;
}

static status start_support(phaser *p, int64_t s)
{
    const int64_t n = cube(p->grid);
    for (int64_t i = 0; i < n; i++)
        p->host[i] = in_sphere(p, i);
    return upload(p, p->host, n, (char *)p->support + bytes(p, s * n));
}

status phaser_start_random(phaser *p, int64_t s, uint64_t seed, uint64_t number)
{
    const int64_t n = cube(p->grid);
    TRY(start_support(p, s));
    random_stream stream;
    random_start(&stream, seed, RANDOM_PHASE, number, 0);
    for (int64_t i = 0; i < n; i++) {
        double u = random_uniform(&stream);
        p->host[i] = in_sphere(p, i) ? u : 0;
    }
    return upload(p, p->host, n, (char *)p->density + bytes(p, s * n));
}

status phaser_start_from(phaser *p, int64_t s, const double *density)
{
    const int64_t n = p->options.size, g = p->grid;
    TRY(start_support(p, s));
    for (int64_t i = 0; i < cube(g); i++)
        p->host[i] = 0;
    for (int64_t z = 0; z < n; z++)
        for (int64_t y = 0; y < n; y++)
            for (int64_t x = 0; x < n; x++) {
                const int64_t i = (z + g - n / 2) % g, j = (y + g - n / 2) % g;
                p->host[(i * g + j) * g + (x + g - n / 2) % g] = density[(z * n + y) * n + x];
            }
    return upload(p, p->host, cube(g), (char *)p->density + bytes(p, s * cube(g)));
}

static status iterate(phaser *p, phase_step step, int count)
{
    const int64_t n = cube(p->grid), h = half_count(p->grid);
    const int64_t starts = p->options.starts;
    for (int i = 0; i < count; i++) {
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

status phaser_get(phaser *p, int64_t s, double *density, double *r_factor)
{
    const int64_t n = p->options.size, g = p->grid;
    void *volume = (char *)p->density + bytes(p, s * cube(g));
    double error, norm;
    TRY(device_copy(p->dev, p->projected, volume, bytes(p, cube(g))));
    TRY(fft_run(p->forward_one, p->projected, p->half));
    TRY(p->kernels->modulus_error(p->dev, half_count(g), 1, p->amplitude, p->half, &error, &norm));
    *r_factor = norm > 0 ? sqrt(error / norm) : NAN;
    TRY(p->volumes->extract(p->dev, g, volume, 1, NULL, n, p->projected));
    return device_to_doubles(p->dev, p->options.precision, cube(n), p->projected, density);
}

status phaser_autocorrelation(phaser *p, const double *density, void *autocorrelation)
{
    const int64_t n = p->options.size, g = p->grid;
    TRY(upload(p, density, cube(n), autocorrelation));
    TRY(p->volumes->embed(p->dev, n, autocorrelation, g, p->projected));
    TRY(fft_run(p->forward_one, p->projected, p->half));
    TRY(p->kernels->squared_modulus(p->dev, half_count(g), p->half));
    TRY(fft_run(p->backward_one, p->half, p->projected));
    return p->volumes->extract(p->dev, g, p->projected, 1 / (double)cube(g), NULL, n,
                               autocorrelation);
}
