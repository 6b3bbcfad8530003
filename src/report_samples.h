/* report_samples.h: some of a run's images beside what the run expects of them. */
#ifndef MTIP_REPORT_SAMPLES_H
#define MTIP_REPORT_SAMPLES_H

#include "report_data.h"

enum { REPORT_SAMPLES = 6 };

typedef struct report_sample {
    int64_t image; /* index in the data set */
    double quaternion[4], fluence;
    double *counts, *expected; /* [height][width] photons a pixel, NAN where none is used */
    double correlation;        /* of the two, over the pixels in use */
} report_sample;

typedef struct report_samples {
    int n;
    int64_t width, height;
    report_sample all[REPORT_SAMPLES];
} report_samples;

/* Images evenly through the run's from its data set, and slices of the merged intensity at their
   orientations, times fluence and detector factors.  A single panel is shown as it is, several where
   their pixels are in reciprocal space; large ones as means of pixels.  n is 0, with a note in r, if
   images or orientations are not to be had. */
status report_samples_read(const device *dev, report_data *r, report_samples *samples);
void report_samples_free(report_samples *samples);

#endif
