/* map_case.h: what the tests of maps share: a device, seeded random numbers, comparisons, and maps of
   Gaussian blobs, which can be moved exactly. */
#ifndef MAP_CASE_H
#define MAP_CASE_H

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "mtip/align.h"

#define DEGREES 57.29577951308232

extern device *cpu; /* from map_start to map_stop */
int map_start(void **state);
int map_stop(void **state);

double uniform(uint64_t *seed); /* in [0, 1) */
double normal(uint64_t *seed);
void random_rotation(uint64_t *seed, double q[4]);

void assert_close(double a, double b, double tolerance);
void assert_done(status result);

/* Zeros [n]^3; the caller frees them, as those of blobs. */
double *new_map(int64_t n);
/* 40 blobs of width 1.5 voxels in a ball of diameter 0.45 n, moved as align.h says. */
double *blobs(int64_t n, uint64_t seed, const alignment *motion);
extern const alignment still;
/* Any rotation, shifts of up to 3 voxels. */
alignment random_motion(uint64_t *seed, int hand);

#endif
