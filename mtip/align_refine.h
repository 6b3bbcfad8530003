/* align_refine.h: the second step of align(): hand, shift and the last digits of a rotation. */
#ifndef MTIP_ALIGN_REFINE_H
#define MTIP_ALIGN_REFINE_H

#include "mtip/align.h"
#include "mtip/ball.h"

typedef struct refiner refiner;

/* For maps [n][n][n] compared inside the ball, which must outlive the refiner. */
status refiner_create(const device *dev, const ball *b, const double *fixed, const double *moving,
                      refiner **created);
/* Accepts NULL. */
void refiner_destroy(refiner *r);

/* For motion->q: the shift, to a voxel, of the highest shell-normalised correlation for this hand,
   and that correlation. */
status refiner_place(refiner *r, int hand, alignment *motion, double *correlation);

/* Improves rotation and shift until they move by less than 1e-4 radians and 1e-3 voxels, or
   n_steps have been made.  score: the information the maps share, -1/2 sum of log(1 - c^2) over
   Fourier voxels. */
status refiner_run(refiner *r, int n_steps, alignment *motion, double *score);

#endif
