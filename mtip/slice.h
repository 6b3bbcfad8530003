/* slice.h: Ewald slices of a model intensity, I(q) = sum_x A(x) cos(q.x), by a type 2 NUFFT. */
#ifndef MTIP_SLICE_H
#define MTIP_SLICE_H

#include "core/device.h"

typedef struct slicer slicer;

typedef struct slice_options {
    precision precision;
    int64_t size;      /* n: edge of the autocorrelation's grid */
    double tolerance;  /* of the NUFFT */
    double upsampling; /* of the NUFFT; 0: its choice */
} slice_options;

/* Bytes of device memory of a slicer that has made n_points values at once. */
status slicer_forecast(device_kind kind, const slice_options *options, int64_t n_points,
                       int64_t *bytes);

status slicer_create(const device *dev, const slice_options *options, slicer **created);
void slicer_destroy(slicer *s);

/* Takes the autocorrelation, real [n][n][n], centre at floor(n/2), in device memory. */
status slicer_set_model(slicer *s, const void *autocorrelation);

/* slices[r][p] = I(R_r^T pixels_p) for n_rotations unit quaternions [n][4] in host memory and
   n_pixels points [n_pixels][3], in radians per voxel, of the options' precision; slices and pixels
   in device memory. */
status slicer_run(slicer *s, int64_t n_rotations, const double *quaternions, int64_t n_pixels,
                  const void *pixels, void *slices);

#endif
