/* pointwise.h: the arithmetic of single elements, shared by the loops of every backend.

   Compiled by the C compiler and by nvcc; `real` is the precision of the including file. */
#ifndef MTIP_POINTWISE_H
#define MTIP_POINTWISE_H

#include "core/types.h"

#include <math.h>
#include <string.h>

#ifdef __CUDACC__
#define POINTWISE static __host__ __device__ inline
#else
#define POINTWISE static inline
#endif

POINTWISE int64_t cube(int64_t n)
{
    return n * n * n;
}

/* Complex numbers of the half volume that a real-to-complex FFT leaves of n^3 voxels. */
POINTWISE int64_t half_count(int64_t n)
{
    return n * n * (n / 2 + 1);
}

/* Position of index i of a centred axis of n elements: -floor(n/2) .. ceil(n/2)-1. */
POINTWISE int64_t centred(int64_t i, int64_t n)
{
    return i - n / 2;
}

/* Frequency of index i of an unshifted FFT axis of n elements. */
POINTWISE int64_t frequency(int64_t i, int64_t n)
{
    return i < (n + 1) / 2 ? i : i - n;
}

/* Index on a periodic axis of p elements of position k, -p <= k < p. */
POINTWISE int64_t wrapped(int64_t k, int64_t p)
{
    return k < 0 ? k + p : k;
}

/* |k|^2 of element i of a half volume of n^3. */
POINTWISE double half_k2(int64_t i, int64_t n)
{
    const int64_t h = n / 2 + 1;
    const double kx = (double)(i % h), ky = (double)frequency(i / h % n, n);
    const double kz = (double)frequency(i / h / n, n);
    return kx * kx + ky * ky + kz * kz;
}

/* The amplitude of element i of a half volume of grid^3 whose value is an intensity; see
   phase_kernels.amplitudes. */
POINTWISE real amplitude_of(int64_t i, int64_t grid, int64_t n, const double range[2],
                            real intensity)
{
    const double k = sqrt(half_k2(i, grid)) / ((double)grid / (double)n);
    if (!(k > 0 && k >= range[0] && k <= range[1])) return -1;
    return intensity > 0 ? (real)sqrt((double)intensity) : 0;
}

/* The Fourier amplitude that replaces F: the measured modulus with F's phase. */
POINTWISE void modulus_project(real *re, real *im, real amplitude)
{
    real norm = *re * *re + *im * *im;
    real scale = norm > 0 ? amplitude / (real)sqrt((double)norm) : 0;
    *im = norm > 0 ? *im * scale : 0;
    *re = norm > 0 ? *re * scale : amplitude;
}

/* exp(x) for x <= 0 to a few units in the last place, branch free so that loops vectorise: 2^n with
   n = round(x / ln 2) through the bits of the number, times the series of the rest. */
POINTWISE real exp_negative(real x)
{
#ifdef MTIP_SINGLE
    const float low = -87.0f, magic = 12582912.0f;
    x = x > low ? x : low;
    float n = x * 1.44269504f + magic;
    int32_t bits, value_bits;
    memcpy(&bits, &n, sizeof bits);
    n -= magic;
    float r = x - n * 0.693359375f + n * 2.12194440e-4f;
    float value =
        1 +
        r * (1 + r * (0.5f + r * (0.166666667f + r * (0.0416666667f +
                                                      r * (0.00833333333f + r * 0.00138888889f)))));
    memcpy(&value_bits, &value, sizeof value_bits);
    value_bits = (int32_t)((uint32_t)value_bits + ((uint32_t)bits << 23));
    memcpy(&value, &value_bits, sizeof value);
    return x > low ? value : 0;
#else
    const double low = -708.0, magic = 6755399441055744.0;
    x = x > low ? x : low;
    double n = x * 1.4426950408889634 + magic;
    int64_t bits, value_bits;
    memcpy(&bits, &n, sizeof bits);
    n -= magic;
    double r = x - n * 0.693147180369123816490 - n * 1.90821492927058770002e-10;
    double value = 1.0 / 39916800 + r * (1.0 / 479001600);
    const double series[] = {1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040,
                             1.0 / 720,     1.0 / 120,    1.0 / 24,    1.0 / 6,
                             0.5,           1.0,          1.0};
    for (int i = 0; i < 11; i++)
        value = series[i] + r * value;
    memcpy(&value_bits, &value, sizeof value_bits);
    value_bits = (int64_t)((uint64_t)value_bits + ((uint64_t)bits << 52));
    memcpy(&value, &value_bits, sizeof value);
    return x > low ? value : 0;
#endif
}

/* log(x) for normal x > 0 to a few units in the last place, branch free: x = 2^n m with m about 1,
   log m = 2 atanh((m-1)/(m+1)). */
POINTWISE real log_positive(real x)
{
#ifdef MTIP_SINGLE
    int32_t bits, n;
    memcpy(&bits, &x, sizeof bits);
    n = (bits - 0x3f3504f3) >> 23; /* m in [sqrt(1/2), sqrt(2)) */
    bits -= n * 0x800000;
    float m;
    memcpy(&m, &bits, sizeof m);
    float s = (m - 1) / (m + 1), s2 = s * s;
    float series = s2 * (0.666666667f + s2 * (0.4f + s2 * (0.285714286f + s2 * 0.222222222f)));
    return (float)n * 0.69314718f + (2 * s + s * series);
#else
    int64_t bits, n;
    memcpy(&bits, &x, sizeof bits);
    n = (bits - 0x3fe6a09e667f3bcd) >> 52;
    bits -= n * 0x10000000000000;
    double m;
    memcpy(&m, &bits, sizeof m);
    double s = (m - 1) / (m + 1), s2 = s * s, series = 2.0 / 23;
    for (int k = 21; k >= 3; k -= 2)
        series = 2.0 / k + s2 * series;
    return (double)n * 0.69314718055994531 + (2 * s + s * s2 * series);
#endif
}

/* The scalars of conjugate gradients, see kernels.h. */
typedef struct cg_scalars {
    double shift, limit; /* given: limit on |residual|^2 / |b|^2 */
    double b2, r2;       /* |b|^2, |residual|^2 */
    double curvature;    /* direction . product */
    double ratio;        /* r2 over that of the iteration before */
    int32_t iterations;
    int32_t done;    /* the limit is met, or the curvature not positive */
    uint32_t ticket; /* the backend's, 0 at the start */
} cg_scalars;

POINTWISE void cg_begin(cg_scalars *s, double b2, double r2)
{
    s->b2 = b2;
    s->r2 = r2;
    s->ratio = 0;
    s->iterations = 0;
    s->done = !(r2 > s->limit * b2);
}

/* Whether a step can be made. */
POINTWISE bool cg_goes_on(const cg_scalars *s)
{
    return !s->done && s->curvature > 0;
}

/* After a step, with the new |residual|^2. */
POINTWISE void cg_advance(cg_scalars *s, double r2)
{
    s->ratio = r2 / s->r2;
    s->r2 = r2;
    s->iterations++;
    s->done = !(r2 > s->limit * s->b2);
}

typedef enum phase_step { PHASE_ER, PHASE_HIO, PHASE_RAAR } phase_step;

/* One real-space update of phasing. `old` is the density before the modulus projection, `projected`
   after it; a voxel is feasible inside the support and positive (Fienup, Appl. Opt. 21, 2758, 1982;
   Luke, Inverse Problems 21, 37, 2005). */
POINTWISE real density_update(phase_step step, real old, real projected, real support, real beta)
{
    if (support > 0 && projected > 0) return projected;
    if (step == PHASE_ER) return 0;
    if (step == PHASE_HIO) return old - beta * projected;
    return beta * old + (1 - 2 * beta) * projected;
}

#endif
