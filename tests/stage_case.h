/* stage_case.h: what the tests of the stages share: the device and precision under test, arrays on
   it, seeded random numbers and comparisons. */
#ifndef STAGE_CASE_H
#define STAGE_CASE_H

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include "assert_ok.h"
#include "uniform.h"

#include "core/device.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct stage_setup {
    const device *dev;
    precision precision;
} stage_setup;

/* Set by every suite before its tests run. */
extern stage_setup stage;

/* |a - b| <= tolerance in the l2 norm, relative to b. Fails on NaN. */
#define assert_near(a, b, n, tolerance)                                            \
    do {                                                                           \
        double near_is = stage_distance((a), (b), (n));                            \
        if (!(near_is <= (tolerance))) {                                           \
            print_error("%s is %g away from %s, allowed is %g\n", #a, near_is, #b, \
                        (double)(tolerance));                                      \
            fail();                                                                \
        }                                                                          \
    } while (0)

#define assert_within(low, x, high)                                                        \
    do {                                                                                   \
        double within_x = (x);                                                             \
        if (!(within_x >= (low) && within_x <= (high))) {                                  \
            print_error("%s is %.10g, allowed is %g to %g\n", #x, within_x, (double)(low), \
                        (double)(high));                                                   \
            fail();                                                                        \
        }                                                                                  \
    } while (0)

double stage_distance(const double *a, const double *b, int64_t n);

/* The one for the precision under test. */
double stage_either(double single, double wide);

/* Device arrays of reals; free with stage_free. */
void *stage_new(int64_t n);
void *stage_upload(const double *from, int64_t n);
void stage_download(const void *from, int64_t n, double *to);
void stage_free(void *memory);

/* n uniformly random unit quaternions, always the same for a seed; the caller frees them. */
double *stage_rotations(uint64_t seed, int64_t n);
/* n points [n][3] of length up to `radius`. */
double *stage_pixels(uint64_t seed, int64_t n, double radius);
/* q[r * n_pixels + p][3] = R_r^T pixels_p. */
double *stage_rotate(int64_t n_rotations, const double *quaternions, int64_t n_pixels,
                     const double *pixels);
/* sum_x A(x) cos(q.x), A [n][n][n] with its centre at floor(n/2). */
double stage_intensity(int64_t n, const double *volume, const double q[3]);

int stage_run(const device *dev, precision p, int (*group)(void));

#endif
