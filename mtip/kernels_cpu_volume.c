/* kernels_cpu_volume.c: volumes and phasing on the CPU. */
#include "mtip/kernels.h"
#include "mtip/random.h"

#include <stdlib.h>

enum { CHUNK = 4096 };

static status add_real_centre(const device *dev, int64_t m, const void *modes, int64_t n, void *out)
{
    const real *from = modes;
    real *to = out;
    int64_t shift = m / 2 - n / 2;
#pragma omp parallel for num_threads(device_threads(dev)) schedule(static)
    for (int64_t z = 0; z < n; z++)
        for (int64_t y = 0; y < n; y++)
            for (int64_t x = 0; x < n; x++)
                to[(z * n + y) * n + x] +=
                    from[2 * (((z + shift) * m + y + shift) * m + x + shift)];
    return STATUS_OK;
}

static status embed(const device *dev, int64_t n, const void *volume, int64_t p, void *out)
{
    const real *from = volume;
    real *to = out;
    TRY(device_zero(dev, out, p * p * p * (int64_t)sizeof(real)));
#pragma omp parallel for num_threads(device_threads(dev)) schedule(static)
    for (int64_t z = 0; z < n; z++)
        for (int64_t y = 0; y < n; y++) {
            int64_t row = (wrapped(centred(z, n), p) * p + wrapped(centred(y, n), p)) * p;
            for (int64_t x = 0; x < n; x++)
                to[row + wrapped(centred(x, n), p)] = from[(z * n + y) * n + x];
        }
    return STATUS_OK;
}

static status extract(const device *dev, int64_t p, const void *in, double scale, const void *mask,
                      int64_t n, void *out)
{
    const real *from = in, *keep = mask;
    real *to = out;
#pragma omp parallel for num_threads(device_threads(dev)) schedule(static)
    for (int64_t z = 0; z < n; z++)
        for (int64_t y = 0; y < n; y++) {
            int64_t row = (wrapped(centred(z, n), p) * p + wrapped(centred(y, n), p)) * p;
            for (int64_t x = 0; x < n; x++) {
                int64_t i = (z * n + y) * n + x;
                real value = from[row + wrapped(centred(x, n), p)] * (real)scale;
                to[i] = keep ? value * keep[i] : value;
            }
        }
    return STATUS_OK;
}

static status real_spectrum(const device *dev, int64_t n, const void *half, double scale, void *out)
{
    const real *from = half;
    real *to = out;
#pragma omp parallel for num_threads(device_threads(dev)) schedule(static)
    for (int64_t i = 0; i < n; i++)
        to[i] = from[2 * i] * (real)scale;
    return STATUS_OK;
}

static status to_doubles(const device *dev, int64_t n, const void *in, double *out)
{
#pragma omp parallel for num_threads(device_threads(dev)) schedule(static)
    for (int64_t i = 0; i < n; i++)
        out[i] = (double)((const real *)in)[i];
    return STATUS_OK;
}

static status from_doubles(const device *dev, int64_t n, const double *in, void *out)
{
#pragma omp parallel for num_threads(device_threads(dev)) schedule(static)
    for (int64_t i = 0; i < n; i++)
        ((real *)out)[i] = (real)in[i];
    return STATUS_OK;
}

static status scale_half(const device *dev, int64_t n, const void *spectrum, void *half)
{
    const real *by = spectrum;
    real *to = half;
#pragma omp parallel for num_threads(device_threads(dev)) schedule(static)
    for (int64_t i = 0; i < n; i++) {
        to[2 * i] *= by[i];
        to[2 * i + 1] *= by[i];
    }
    return STATUS_OK;
}

/* Index of -k for index i of a centred axis; the unpaired -n/2 of even n is its own partner. */
static int64_t mirror(int64_t i, int64_t n)
{
    int64_t j = 2 * (n / 2) - i;
    return j < n ? j : i;
}

static status symmetrise(const device *dev, int64_t n, void *volume)
{
    real *v = volume;
#pragma omp parallel for num_threads(device_threads(dev)) schedule(static)
    for (int64_t z = 0; z < n; z++)
        for (int64_t y = 0; y < n; y++)
            for (int64_t x = 0; x < n; x++) {
                int64_t i = (z * n + y) * n + x;
                int64_t j = (mirror(z, n) * n + mirror(y, n)) * n + mirror(x, n);
                if (j <= i) continue;
                real mean = (v[i] + v[j]) / 2;
                v[i] = mean;
                v[j] = mean;
            }
    return STATUS_OK;
}

static status amplitudes(const device *dev, int64_t grid, int64_t n, double k_min, double k_max,
                         const void *half, void *amplitude)
{
    const double range[2] = {k_min, k_max};
    const real *from = half;
    real *to = amplitude;
#pragma omp parallel for num_threads(device_threads(dev)) schedule(static)
    for (int64_t i = 0; i < half_count(grid); i++)
        to[i] = amplitude_of(i, grid, n, range, from[2 * i]);
    return STATUS_OK;
}

static status random_inside(const device *dev, int64_t n, uint64_t seed, uint64_t number,
                            const void *support, void *density)
{
    (void)dev;
    random_stream stream;
    random_start(&stream, seed, RANDOM_PHASE, number, 0);
    for (int64_t i = 0; i < n; i++) {
        const double u = random_uniform(&stream);
        ((real *)density)[i] = ((const real *)support)[i] > 0 ? (real)u : 0;
    }
    return STATUS_OK;
}

WIDEST_VECTORS
static void project_row(int64_t n, const real *amplitude, real scale, real *half)
{
    for (int64_t i = 0; i < n; i++) {
        real re = half[2 * i], im = half[2 * i + 1];
        if (amplitude[i] >= 0) modulus_project(&re, &im, amplitude[i]);
        half[2 * i] = re * scale;
        half[2 * i + 1] = im * scale;
    }
}

static status project_modulus(const device *dev, int64_t n, int64_t batch, const void *amplitude,
                              double scale, void *half)
{
    int64_t n_chunks = (n + CHUNK - 1) / CHUNK;
#pragma omp parallel for collapse(2) num_threads(device_threads(dev)) schedule(static)
    for (int64_t b = 0; b < batch; b++)
        for (int64_t c = 0; c < n_chunks; c++) {
            int64_t first = c * CHUNK, count = n - first < CHUNK ? n - first : CHUNK;
            project_row(count, (const real *)amplitude + first, (real)scale,
                        (real *)half + 2 * (b * n + first));
        }
    return STATUS_OK;
}

WIDEST_VECTORS
static void update_row(int64_t n, phase_step step, real beta, const real *projected,
                       const real *support, real *density)
{
    for (int64_t i = 0; i < n; i++)
        density[i] = density_update(step, density[i], projected[i], support[i], beta);
}

static status update_density(const device *dev, int64_t n, phase_step step, double beta,
                             const void *projected, const void *support, void *density)
{
    int64_t n_chunks = (n + CHUNK - 1) / CHUNK;
#pragma omp parallel for num_threads(device_threads(dev)) schedule(static)
    for (int64_t c = 0; c < n_chunks; c++) {
        int64_t first = c * CHUNK, count = n - first < CHUNK ? n - first : CHUNK;
        update_row(count, step, (real)beta, (const real *)projected + first,
                   (const real *)support + first, (real *)density + first);
    }
    return STATUS_OK;
}

static status squared_modulus(const device *dev, int64_t n, void *half)
{
    real *v = half;
#pragma omp parallel for num_threads(device_threads(dev)) schedule(static)
    for (int64_t i = 0; i < n; i++) {
        v[2 * i] = v[2 * i] * v[2 * i] + v[2 * i + 1] * v[2 * i + 1];
        v[2 * i + 1] = 0;
    }
    return STATUS_OK;
}

static status threshold(const device *dev, int64_t n, int64_t batch, double level,
                        const void *blurred, void *support)
{
#pragma omp parallel for num_threads(device_threads(dev)) schedule(static)
    for (int64_t b = 0; b < batch; b++) {
        const real *from = (const real *)blurred + b * n;
        real *to = (real *)support + b * n;
        real max = 0;
        for (int64_t i = 0; i < n; i++)
            max = from[i] > max ? from[i] : max;
        for (int64_t i = 0; i < n; i++)
            to[i] = (real)(from[i] > (real)level * max);
    }
    return STATUS_OK;
}

static status modulus_error(const device *dev, int64_t n, int64_t batch, const void *amplitude,
                            const void *half, double *error, double *norm)
{
    const real *a = amplitude;
#pragma omp parallel for num_threads(device_threads(dev)) schedule(static)
    for (int64_t b = 0; b < batch; b++) {
        const real *f = (const real *)half + 2 * b * n;
        double e = 0, w = 0;
        for (int64_t i = 0; i < n; i++) {
            if (a[i] < 0) continue;
            double re = (double)f[2 * i], im = (double)f[2 * i + 1];
            double d = sqrt(re * re + im * im) - (double)a[i];
            e += d * d;
            w += (double)a[i] * (double)a[i];
        }
        error[b] = e;
        norm[b] = w;
    }
    return STATUS_OK;
}

extern const volume_kernels PRECISE(volume_kernels_cpu);
const volume_kernels PRECISE(volume_kernels_cpu) = {
    add_real_centre, embed,      extract,      real_spectrum,
    scale_half,      to_doubles, from_doubles, symmetrise,
};

extern const phase_kernels PRECISE(phase_kernels_cpu);
const phase_kernels PRECISE(phase_kernels_cpu) = {
    amplitudes, random_inside,   project_modulus, update_density,
    NULL,       squared_modulus, threshold,       modulus_error,
};
