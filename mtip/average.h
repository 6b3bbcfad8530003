/* average.h: one density from many phasings of one autocorrelation. */
#ifndef MTIP_AVERAGE_H
#define MTIP_AVERAGE_H

#include "core/device.h"

typedef struct average_report {
    int64_t n_used;   /* starts that agreed and were averaged */
    double agreement; /* mean correlation of those with their average */
} average_report;

typedef struct averager averager;

/* Bytes of device memory of an averager, beside the densities. */
int64_t averager_forecast(int64_t n, int64_t n_starts);

/* For n_starts densities of [n][n][n]. */
status averager_create(const device *dev, int64_t n, int64_t n_starts, averager **created);
/* Accepts NULL. */
void averager_destroy(averager *a);

/* mean [n][n][n] = the average of the consistent ones of the densities [n_starts][n][n][n] (doubles
   on the device; overwritten: they are aligned).  All are brought onto the one with the smallest R
   factor (host [n_starts]) by hand and shift, the better half makes a first average, all are aligned
   to that, and those whose correlation with it is at least `keep` times the best one's make the
   result. */
status averager_run(averager *a, double keep, const double *r_factors, double *densities,
                    double *mean, average_report *report);

/* The phase retrieval transfer function (prtf.h) of those that the averager_run just before averaged,
   as it left them: host [floor(n/2) + 1]. */
status averager_prtf(const averager *a, const double *densities, double *prtf);

#endif
