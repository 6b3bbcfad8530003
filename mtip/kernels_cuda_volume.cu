/* kernels_cuda_volume.cu: volumes on a GPU. */
#include "mtip/kernels_cuda.h"

enum { ROW = 32, ROWS = 8 }; /* of a block of a volume */

static dim3 grid_of_volume(int64_t n)
{
    return dim3((unsigned)divide_up(n, ROW), (unsigned)divide_up(n, ROWS), (unsigned)n);
}

/* This thread's voxel; false where the block sticks out of the volume. */
static __device__ bool voxel(int64_t n, int64_t at[3])
{
    at[0] = blockIdx.x * (int64_t)ROW + threadIdx.x;
    at[1] = blockIdx.y * (int64_t)ROWS + threadIdx.y;
    at[2] = blockIdx.z;
    return at[0] < n && at[1] < n;
}

static __device__ int64_t index_of(const int64_t at[3], int64_t n)
{
    return (at[2] * n + at[1]) * n + at[0];
}

static __global__ void add_centre(int64_t m, const complex_real *modes, int64_t n, real *out)
{
    const int64_t shift = m / 2 - n / 2;
    int64_t at[3];
    if (!voxel(n, at)) return;
    const int64_t from[3] = {at[0] + shift, at[1] + shift, at[2] + shift};
    out[index_of(at, n)] += modes[index_of(from, m)].x;
}

static status add_real_centre(const device *dev, int64_t m, const void *modes, int64_t n, void *out)
{
    return launch(dev, grid_of_volume(n), dim3(ROW, ROWS), add_centre, m, modes, n, out);
}

/* Position along a periodic axis of p, taken to be -n/2 .. ceil(n/2)-1 or outside of it. */
static __device__ int64_t position(int64_t i, int64_t n, int64_t p)
{
    return i < (n + 1) / 2 ? i : i - p;
}

static __global__ void put(int64_t n, const real *volume, int64_t p, real *out)
{
    int64_t at[3], from[3];
    if (!voxel(p, at)) return;
    bool inside = true;
    for (int d = 0; d < 3; d++) {
        from[d] = position(at[d], n, p) + n / 2;
        inside = inside && from[d] >= 0;
    }
    out[index_of(at, p)] = inside ? volume[index_of(from, n)] : 0;
}

static status embed(const device *dev, int64_t n, const void *volume, int64_t p, void *out)
{
    return launch(dev, grid_of_volume(p), dim3(ROW, ROWS), put, n, volume, p, out);
}

static __global__ void get(int64_t p, const real *in, real scale, const real *mask, int64_t n,
                           real *out)
{
    int64_t at[3], from[3];
    if (!voxel(n, at)) return;
    for (int d = 0; d < 3; d++)
        from[d] = wrapped(centred(at[d], n), p);
    const int64_t i = index_of(at, n);
    const real value = in[index_of(from, p)] * scale;
    out[i] = mask ? value * mask[i] : value;
}

static status extract(const device *dev, int64_t p, const void *in, double scale, const void *mask,
                      int64_t n, void *out)
{
    return launch(dev, grid_of_volume(n), dim3(ROW, ROWS), get, p, in, scale, mask, n, out);
}

static __global__ void real_parts(int64_t n, const complex_real *half, real scale, real *out)
{
    const int64_t i = element();
    if (i < n) out[i] = half[i].x * scale;
}

static status real_spectrum(const device *dev, int64_t n, const void *half, double scale, void *out)
{
    return launch(dev, grid_of(n), dim3(THREADS), real_parts, n, half, scale, out);
}

static __global__ void widen(int64_t n, const real *in, double *out)
{
    const int64_t i = element();
    if (i < n) out[i] = in[i];
}

static status to_doubles(const device *dev, int64_t n, const void *in, double *out)
{
    return launch(dev, grid_of(n), dim3(THREADS), widen, n, in, out);
}

static __global__ void narrow(int64_t n, const double *in, real *out)
{
    const int64_t i = element();
    if (i < n) out[i] = (real)in[i];
}

static status from_doubles(const device *dev, int64_t n, const double *in, void *out)
{
    return launch(dev, grid_of(n), dim3(THREADS), narrow, n, in, out);
}

static __global__ void scale_elements(int64_t n, const real *spectrum, complex_real *half)
{
    const int64_t i = element();
    if (i >= n) return;
    complex_real value = half[i];
    value.x *= spectrum[i];
    value.y *= spectrum[i];
    half[i] = value;
}

static status scale_half(const device *dev, int64_t n, const void *spectrum, void *half)
{
    return launch(dev, grid_of(n), dim3(THREADS), scale_elements, n, spectrum, half);
}

/* Index of -k for index i of a centred axis; the unpaired -n/2 of even n is its own partner. */
static __device__ int64_t mirror(int64_t i, int64_t n)
{
    const int64_t j = 2 * (n / 2) - i;
    return j < n ? j : i;
}

static __global__ void average_pairs(int64_t n, real *volume)
{
    int64_t at[3], partner[3];
    if (!voxel(n, at)) return;
    for (int d = 0; d < 3; d++)
        partner[d] = mirror(at[d], n);
    const int64_t i = index_of(at, n), j = index_of(partner, n);
    if (j <= i) return;
    const real mean = (volume[i] + volume[j]) / 2;
    volume[i] = mean;
    volume[j] = mean;
}

static status symmetrise(const device *dev, int64_t n, void *volume)
{
    return launch(dev, grid_of_volume(n), dim3(ROW, ROWS), average_pairs, n, volume);
}

extern "C" const volume_kernels PRECISE(volume_kernels_cuda);
extern "C" const volume_kernels PRECISE(volume_kernels_cuda) = {
    add_real_centre, embed,      extract,      real_spectrum,
    scale_half,      to_doubles, from_doubles, symmetrise,
};
