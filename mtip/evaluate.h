/* evaluate.h: how well orientations were found. */
#ifndef MTIP_EVALUATE_H
#define MTIP_EVALUATE_H

#include "core/status.h"
#include "core/types.h"

typedef struct orientation_error {
    double frame[4]; /* estimated frame to true frame, as in align.h */
    double median_degrees;
    double within_10_degrees; /* fraction of the images */
} orientation_error;

/* Compares orientations (w, x, y, z) [n_images][4], n_images >= 1, after the one rotation of the
   particle's frame that brings the median error as low as possible: reconstruction from nothing
   leaves it free.  It is a proper rotation also when the density came out with the other hand: that
   is an inversion, which leaves intensities, and with them orientations, as they are.
   errors_degrees [n_images] may be NULL.  STATUS_NUMERIC if a quaternion is not a unit one. */
status orientation_error_find(int64_t n_images, const double *estimated, const double *truth,
                              double *errors_degrees, orientation_error *found);

#endif
