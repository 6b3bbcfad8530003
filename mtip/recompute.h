/* recompute.h: what the stages compute, again: on the host, in double precision, and by other ways.
   For checks of a device that may compute wrongly. */
#ifndef MTIP_RECOMPUTE_H
#define MTIP_RECOMPUTE_H

#include "core/device.h"
#include "mtip/kernels.h"

/* |v(x) - v(-x)| / |v|, l2 norms over the voxels of [n][n][n] that have a partner; 0 of nothing. */
double recompute_asymmetry(int64_t n, const double *v);

/* I(q) = sum_x A(x) cos(q.x), by the direct sum; modes: A as complex [n][n][n]. */
double recompute_intensity(int64_t n, const double *modes, const double q[3]);

/* What a score is made of: match.h; host arrays of n_pixels. */
typedef struct recompute_rule {
    match_method method;
    double floor;
    int64_t n_pixels;
    const double *correction, *mean, *whitening;
} recompute_rule;

/* The score of an image (counts [n_pixels]) for a slice, over the first n pixels, and the sum of the
   sizes of what it is the sum of. */
double recompute_score(const recompute_rule *rule, int64_t n, const float *counts,
                       const double *slice, double fluence, double *size);

/* |S h - (S T S + lambda W) A| / |S h| of the normal equations of merge.h, by FFTs on `host`, a CPU:
   kernel t [2n-1]^3, data h [n]^3, A [n]^3, S the sphere of this radius in voxels. */
status recompute_residual(const device *host, int64_t n, const double *kernel, const double *data,
                          const double *a, double radius, double lambda, double *residual);

#endif
