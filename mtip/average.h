/* average.h: one density from many phasings of one autocorrelation. */
#ifndef MTIP_AVERAGE_H
#define MTIP_AVERAGE_H

#include "core/device.h"

typedef struct average_report {
    int64_t n_used;   /* starts that agreed and were averaged */
    double agreement; /* mean correlation of those with their average */
} average_report;

/* mean [n][n][n] = the average of the consistent ones of n_starts densities [n_starts][n][n][n]
   (host; overwritten: they are aligned).  All are brought onto the one with the smallest R factor by
   hand and shift, the better half makes a first average, all are aligned to that, and those whose
   correlation with it is at least `keep` times the best one's make the result. */
status average_densities(const device *dev, int64_t n, int64_t n_starts, double keep,
                         const double *r_factors, double *densities, double *mean,
                         average_report *report);

#endif
