/* shift_math.h: the arithmetic of single Fourier coefficients in align_shift.c's kernels, shared by
   the loops of every backend.  Half volumes are of n^3 doubles, complex. */
#ifndef MTIP_SHIFT_MATH_H
#define MTIP_SHIFT_MATH_H

#include "mtip/pointwise.h"

#define SHIFT_TWO_PI 6.283185307179586476925

/* A hand (1 or -1) and a shift in voxels, of one volume of a batch. */
typedef struct shift_motion {
    int64_t volume;
    double hand, shift[3];
} shift_motion;

/* -k is not among the half volume's numbers: they count twice. */
POINTWISE double half_weight(int64_t i, int64_t n)
{
    const int64_t x = i % (n / 2 + 1);
    return x == 0 || 2 * x == n ? 1 : 2;
}

/* k of element i, each component 0 at n/2, where no shift can be told: the flat ones. */
POINTWISE void half_shiftable_k(int64_t i, int64_t n, double k[3], bool flat[3])
{
    const int64_t row = n / 2 + 1;
    const int64_t at[3] = {i % row, i / row % n, i / row / n};
    for (int d = 0; d < 3; d++) {
        flat[d] = 2 * at[d] == n;
        k[d] = flat[d] ? 0 : (double)(at[d] <= n / 2 ? at[d] : at[d] - n);
    }
}

/* The sum of f conj(g exp(-2 pi i k.shift/n)) over k, its slope and its curvature as the shift
   varies: value; x, y, z; xx, yy, zz, yz, xz, xy. */
enum { SHIFT_VALUE, SHIFT_SLOPE, SHIFT_CURVATURE = 4, SHIFT_SUMS = 10 };

/* Adds element i, whose f conj(g) is (re, im). */
POINTWISE void shift_add(int64_t i, int64_t n, const double cross[2], const double shift[3],
                         double sums[SHIFT_SUMS])
{
    static const int axes[6][2] = {{0, 0}, {1, 1}, {2, 2}, {1, 2}, {0, 2}, {0, 1}};
    double k[3];
    bool flat[3];
    half_shiftable_k(i, n, k, flat);
    for (int d = 0; d < 3; d++)
        k[d] *= SHIFT_TWO_PI / (double)n;
    const double angle = k[0] * shift[0] + k[1] * shift[1] + k[2] * shift[2];
    const double c = cos(angle), s = sin(angle), w = half_weight(i, n);
    const double re = w * (cross[0] * c - cross[1] * s), im = w * (cross[0] * s + cross[1] * c);
    sums[SHIFT_VALUE] += re;
    for (int d = 0; d < 3; d++)
        sums[SHIFT_SLOPE + d] -= k[d] * im;
    for (int a = 0; a < 6; a++)
        sums[SHIFT_CURVATURE + a] -= k[axes[a][0]] * k[axes[a][1]] * re;
}

/* g <- g, or its conjugate for hand = -1, after the shift, over n^3.  The n/2 planes, being their own
   conjugates, get the real part of the phase. */
POINTWISE void shift_move(int64_t i, int64_t n, double hand, const double shift[3], double g[2])
{
    double k[3], size = 1 / ((double)n * (double)n * (double)n);
    bool flat[3];
    half_shiftable_k(i, n, k, flat);
    for (int d = 0; d < 3; d++)
        if (flat[d]) size *= cos(0.5 * SHIFT_TWO_PI * shift[d]);
    const double angle =
        -SHIFT_TWO_PI * (k[0] * shift[0] + k[1] * shift[1] + k[2] * shift[2]) / (double)n;
    const double c = size * cos(angle), s = size * sin(angle), re = g[0], im = hand * g[1];
    g[0] = re * c - im * s;
    g[1] = re * s + im * c;
}

#endif
