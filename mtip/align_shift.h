/* align_shift.h: brings maps that share one autocorrelation onto one of them: phasings of one
   intensity, which differ by hand and shift alone. */
#ifndef MTIP_ALIGN_SHIFT_H
#define MTIP_ALIGN_SHIFT_H

#include "mtip/align.h"

typedef struct shift_aligner shift_aligner;

/* Bytes of device memory of an aligner. */
int64_t shift_aligner_forecast(int64_t n, int64_t most);

/* For maps of [n][n][n] doubles on the device, as many at once as is good for the device and at most
   `most`. */
status shift_aligner_create(const device *dev, int64_t n, int64_t most, shift_aligner **created);
/* Accepts NULL. */
void shift_aligner_destroy(shift_aligner *a);

/* Moves each of `count` maps (device [count][n][n][n]) in place onto `fixed` (device, none of them),
   by the hand and the sub-voxel shift of the highest correlation; periodic, nothing is cut.  found
   is host [count]; its q is the identity.  STATUS_NUMERIC for maps that are constant or not finite.
   Waits. */
status shift_aligner_run(shift_aligner *a, const double *fixed, int64_t count, double *moving,
                         alignment *found);

#endif
