/* median.h: the median of numbers, in time that grows with how many there are. */
#ifndef CORE_MEDIAN_H
#define CORE_MEDIAN_H

#include <stdint.h>

/* values[n / 2] of the ascending values, which are left in another order; n >= 1. */
double median_upper(int64_t n, double *values);

#endif
