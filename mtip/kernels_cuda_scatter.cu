/* kernels_cuda_scatter.cu: from atoms to images on a GPU, in double precision. */
#include "mtip/kernels_cuda.h"

static __global__ void add_radial_modes(int64_t n, int64_t n_radial, const double *radial,
                                        const double *in, double *out)
{
    const int64_t i = element();
    if (i >= n * n * n) return;
    const int64_t x = centred(i % n, n), y = centred(i / n % n, n), z = centred(i / n / n, n);
    const int64_t k = x * x + y * y + z * z;
    if (k >= n_radial) return;
    const double *r = radial + 2 * k, *f = in + 2 * i;
    out[2 * i] += r[0] * f[0] - r[1] * f[1];
    out[2 * i + 1] += r[0] * f[1] + r[1] * f[0];
}

static status add_radial(const device *dev, int64_t n, int64_t n_radial, const double *radial_host,
                         const double *in, double *out)
{
    void *radial;
    TRY(upload(dev, 2 * n_radial * (int64_t)sizeof(double), radial_host, &radial));
    return launch(dev, grid_of(n * n * n), dim3(THREADS), add_radial_modes, n, n_radial, radial, in,
                  out);
}

static __global__ void alternate_signs(int64_t n, double scale, double *volume)
{
    const int64_t i = element();
    if (i >= n * n * n) return;
    const double factor = (i % n + i / n % n + i / n / n) % 2 ? -scale : scale;
    volume[2 * i] *= factor;
    volume[2 * i + 1] *= factor;
}

static status alternate(const device *dev, int64_t n, double scale, double *volume)
{
    return launch(dev, grid_of(n * n * n), dim3(THREADS), alternate_signs, n, scale, volume);
}

static __global__ void square_amplitudes(int64_t n_pixels, const double *weight,
                                         const double *amplitudes, double *out)
{
    const int64_t p = column(), at = blockIdx.x * n_pixels + p;
    if (p >= n_pixels) return;
    const double *f = amplitudes + 2 * at;
    out[at] = weight[p] * (f[0] * f[0] + f[1] * f[1]);
}

static status intensities(const device *dev, int64_t n_rows, int64_t n_pixels, const double *weight,
                          const double *amplitudes, double *out)
{
    return launch(dev, grid_of_rows(n_rows, n_pixels), dim3(THREADS), square_amplitudes, n_pixels,
                  weight, amplitudes, out);
}

extern "C" {
extern const scatter_kernels scatter_kernels_cuda;
const scatter_kernels scatter_kernels_cuda = {
    add_radial,
    alternate,
    intensities,
};
}
