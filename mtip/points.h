/* points.h: the pixels of a detector, turned by many rotations, as coordinates for the NUFFT. */
#ifndef MTIP_POINTS_H
#define MTIP_POINTS_H

#include "mtip/kernels.h"

/* Coordinates of up to `capacity` points, grown on demand, in device memory. */
typedef struct points {
    const device *dev;
    precision precision;
    int64_t capacity;
    void *coordinates[3];
} points;

/* coordinates[d][r * n_pixels + p] = (R_r^T pixels_p)[d]; quaternions [n_rotations][4] on the host,
   pixels [n_pixels][3] on the device. */
status points_rotate(points *p, int64_t n_rotations, const double *quaternions, int64_t n_pixels,
                     const void *pixels);
void points_free(points *p);

#endif
