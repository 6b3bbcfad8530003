/* sampler.h: the transform of a map at rotated points, exact to a tolerance.

   A map in a box that holds all of it has a transform everywhere, not only at whole Fourier voxels;
   a type 2 nonuniform FFT computes it at any point without interpolation. */
#ifndef MTIP_SAMPLER_H
#define MTIP_SAMPLER_H

#include "mtip/ball.h"

typedef struct sampler sampler;

/* Copies map [n][n][n] from host memory.  With `gradient` the derivatives of F are computed too. */
status sampler_create(const device *dev, int64_t n, const double *map, double tolerance,
                      bool gradient, sampler **created);
/* Accepts NULL. */
void sampler_destroy(sampler *s);

/* values[1 or 4][n_points] complex in host memory <- F(R^T k) for every k of the ball, with
   R = rotation_matrix(q), then with `gradient` dF/dx, dF/dy and dF/dz at R^T k.  The ball is one
   for maps of size n. */
status sampler_run(sampler *s, const ball *b, const double q[4], double *values);

#endif
