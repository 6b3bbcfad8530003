/* run_check_parts.h: what the checks of a run hold; for run_check*.c only. */
#ifndef RUN_CHECK_PARTS_H
#define RUN_CHECK_PARTS_H

#include "mtip/random.h"
#include "mtip/recompute.h"
#include "run_check.h"
#include "run_parts.h"

#define CHECK_CURE                                                                             \
    "the device computes wrongly or its memory is damaged: go on from the checkpoint without " \
    "this node, or without run.check_invariants if it happens everywhere"

/* The first two are sums over the images of a rank, the others over the rows that it merges. */
enum { TOTAL_WEIGHTS, TOTAL_PHOTONS, TOTAL_FOUND, TOTAL_DATA, TOTAL_POINTS, N_TOTALS };

/* Host arrays. */
typedef struct run_check {
    device *host;
    double rounding; /* relative, of long sums in the run's precision */
    random_stream random;
    double *modes; /* complex [n]^3: the model */
    double norm;   /* its l2 norm */
    int64_t n_images;
    float *counts; /* [n_images][n_pixels] of the sample */
    match_method method;
    double floor, *whitening;
    int64_t column; /* of the batch whose slice is kept: */
    double *slice;
    double *photons, *sums, *batch_sums; /* [n_local]: in the pixels in use; of posteriors */
    double totals[N_TOTALS];
    /* on the rank that solves, and (merged) on those that phase */
    double *kernel, *data, *merged;
    phaser *phaser; /* of one start */
} run_check;

/* STATUS_NUMERIC unless found is within `allowed`, relative, of what is expected. */
status run_check_near(const run *r, const char *what, double found, double expected,
                      double allowed);

#endif
