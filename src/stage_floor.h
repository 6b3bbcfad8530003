/* stage_floor.h: the least time a stage can take on this machine, for comparison.

   A stage must do so much arithmetic and move so much memory; both over the rates that the device
   was measured to have give two times, the larger of which is the floor.  What is counted (a real
   of r bytes, points M, window of w cells an edge, grid n):

   slice  interpolation 2 w^3 M, one transform of (2n)^3    out M r, grid 2 (2n)^3 r
   match  scores and tomograms 2 x 2 K R P                  images K P r twice, slices R P r thrice,
                                                            scores K R r thrice
   merge  spreading of two real vectors 4 w^3 M, two        in 2 M r, grid 4 (4n)^3 r
          transforms of (4n)^3
   solve  two transforms of (2n)^3 an iteration             grids 4 (2n)^3 r an iteration
   phase  two transforms of n^3 a step and start            grids 6 n^3 r a step and start

   A transform of N reals is 2.5 N log2 N operations. */
#ifndef MTIP_STAGE_FLOOR_H
#define MTIP_STAGE_FLOOR_H

#include "core/device.h"

typedef struct stage_work {
    double bytes, operations;
} stage_work;

typedef struct machine_rates {
    double bytes, operations; /* a second: of a large copy, read and written; of a large product */
} machine_rates;

/* w: the width of the window for the NUFFT's tolerance, about. */
stage_work slice_work(precision p, int64_t n, double tolerance, int64_t points);
stage_work match_work(precision p, int64_t images, int64_t references, int64_t pixels);
stage_work merge_work(precision p, int64_t n, double tolerance, int64_t points);
stage_work solve_work(precision p, int64_t n, int64_t iterations);
stage_work phase_work(precision p, int64_t n, int64_t steps, int64_t starts);

/* Takes some tenths of a second, and 1.1 GB of a GPU (0.07 of a CPU) in double precision. */
status machine_measure(const device *dev, precision p, machine_rates *rates);

/* Operations of a transform of n reals; cells of the window. */
double floor_transform(double n);
double floor_window(double tolerance);

double floor_seconds(stage_work work, machine_rates rates);

#endif
