/* kernels_cpu_scatter.c: from atoms to images on the CPU. */
#include "mtip/kernels.h"

extern const scatter_kernels scatter_kernels_cpu;

static void add_radial_row(int64_t n, int64_t square, int64_t n_radial, const double *radial,
                           const double *in, double *out)
{
    for (int64_t x = 0; x < n; x++) {
        int64_t k = square + centred(x, n) * centred(x, n);
        if (k >= n_radial) continue;
        const double *r = radial + 2 * k, *f = in + 2 * x;
        out[2 * x] += r[0] * f[0] - r[1] * f[1];
        out[2 * x + 1] += r[0] * f[1] + r[1] * f[0];
    }
}

static status add_radial(const device *dev, int64_t n, int64_t n_radial, const double *radial,
                         const double *in, double *out)
{
#pragma omp parallel for num_threads(device_threads(dev)) schedule(static)
    for (int64_t row = 0; row < n * n; row++) {
        int64_t y = centred(row % n, n), z = centred(row / n, n);
        add_radial_row(n, y * y + z * z, n_radial, radial, in + 2 * row * n, out + 2 * row * n);
    }
    return STATUS_OK;
}

static status alternate(const device *dev, int64_t n, double scale, double *volume)
{
#pragma omp parallel for num_threads(device_threads(dev)) schedule(static)
    for (int64_t row = 0; row < n * n; row++) {
        double sign = (row % n + row / n) % 2 ? -scale : scale;
        for (int64_t x = 0; x < n; x++) {
            double *f = volume + 2 * (row * n + x);
            f[0] *= x % 2 ? -sign : sign;
            f[1] *= x % 2 ? -sign : sign;
        }
    }
    return STATUS_OK;
}

static status intensities(const device *dev, int64_t n_rows, int64_t n_pixels, const double *weight,
                          const double *amplitudes, double *out)
{
#pragma omp parallel for num_threads(device_threads(dev)) schedule(static)
    for (int64_t r = 0; r < n_rows; r++)
        for (int64_t p = 0; p < n_pixels; p++) {
            const double *f = amplitudes + 2 * (r * n_pixels + p);
            out[r * n_pixels + p] = weight[p] * (f[0] * f[0] + f[1] * f[1]);
        }
    return STATUS_OK;
}

const scatter_kernels scatter_kernels_cpu = {
    .add_radial = add_radial,
    .alternate = alternate,
    .intensities = intensities,
};
