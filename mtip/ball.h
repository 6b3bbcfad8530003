/* ball.h: the Fourier coefficients of a real map inside a sphere.

   A map is n^3 real numbers, C-ordered [z][y][x], with its centre at index floor(n/2) of each
   dimension; positions x are voxels from the centre and

       F(k) = sum_x map(x) exp(-2 pi i k.x/n)

   with k in Fourier voxels, 1/(n voxel) in 1/Angstrom.  The ball lists the k of the half space
   kx >= 0 with |k| <= radius and no component at -n/2; the other half is the complex conjugate.
   The order of the points depends on the radius only, so values taken from a map of one size make
   a map of another: that is how maps are cropped or padded in Fourier space.

   Everything is host memory, values are (re, im) pairs of doubles. */
#ifndef MTIP_BALL_H
#define MTIP_BALL_H

#include "core/device.h"

typedef struct ball {
    int64_t n;
    double radius; /* in Fourier voxels */
    int64_t n_points;
    int n_shells;   /* floor(radius) + 1 */
    int (*k)[3];    /* [n_points] x, y, z */
    int *shell;     /* |k| rounded; the last shell ends at the radius */
    double *weight; /* 2 where -k is not listed, else 1 */
} ball;

/* STATUS_INVALID unless n >= 2 and 1 <= radius <= n/2. */
status ball_create(int64_t n, double radius, ball **created);
/* Accepts NULL. */
void ball_destroy(ball *b);

/* values[n_points] <- F of map[n^3]. */
status ball_from_map(const device *dev, const ball *b, const double *map, double *values);
/* map[n^3] <- the real map whose Fourier coefficients are the values, and 0 outside the ball. */
status ball_to_map(const device *dev, const ball *b, const double *values, double *map);

/* Per shell: sum of w Re(f conj(g)), and of w |f|^2 and w |g|^2; each [n_shells]. */
void ball_shell_sums(const ball *b, const double *f, const double *g, double *fg, double *ff,
                     double *gg);

/* STATUS_NUMERIC naming `what` if one of the n^3 numbers is not finite. */
status ball_check_map(const char *what, int64_t n, const double *map);

/* The plain transform of a map, its first voxel as the origin, not normalised: half is
   [n][n][n/2 + 1] complex. Both arrays in host memory. */
status map_transform(const device *dev, int64_t n, const double *map, double *half);
status map_transform_back(const device *dev, int64_t n, const double *half, double *map);

#endif
