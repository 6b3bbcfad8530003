/* merge.h: the autocorrelation that the slices of many known orientations determine.

   Weighted least squares for a real, even A(x) on n^3 voxels inside a support S,

       minimise  sum_rp w_r (I(q_rp) - b_rp / w_r)^2 + lambda (sum_rp w_r) |A|^2,
       I(q) = sum_x A(x) cos(q.x),

   through its normal equations (S T S + lambda W) A = S h.  T is Toeplitz with the kernel
   t(x) = sum_rp w_r cos(q_rp.x) on 2n-1 points an edge, h(x) = sum_rp b_rp cos(q_rp.x): two type 1
   transforms over the same points, sums over images that ranks add up (merger_sums), after which CG
   needs FFTs only (Donatelli, Sethian & Zwart, PNAS 114, 7222, 2017; Shih et al., arXiv
   2102.08463, section V). */
#ifndef MTIP_MERGE_H
#define MTIP_MERGE_H

#include "core/device.h"

typedef struct merger merger;

typedef struct merge_options {
    precision precision;
    int64_t size;       /* n */
    double radius;      /* of the support sphere, voxels: the particle's largest diameter */
    double tolerance;   /* of the NUFFT */
    double upsampling;  /* of the NUFFT; 0: its choice */
    double lambda;      /* relative to the sum of weights */
    int iterations;     /* of CG, at most */
    double residual;    /* relative residual at which CG ends */
    bool deterministic; /* of the NUFFT */
} merge_options;

typedef struct merge_report {
    int iterations;
    double residual; /* relative, at the end */
} merge_report;

/* Bytes of device memory of a merger that is given n_points values at once. */
status merger_forecast(device_kind kind, const merge_options *options, int64_t n_points,
                       int64_t *sum);

status merger_create(const device *dev, const merge_options *options, merger **created);
void merger_destroy(merger *m);

/* Forgets all data. */
status merger_begin(merger *m);

/* Adds n_references slices: unit quaternions [n][4] and weights [n] on the host; data
   [n][n_pixels] (sum of the images, each divided by the detector factor) and pixels [n_pixels][3]
   (radians per voxel) on the device. */
status merger_add(merger *m, int64_t n_references, const double *quaternions, const double *weights,
                  int64_t n_pixels, const void *pixels, const void *data);

/* The sums to add over ranks: device arrays of the precision, n_kernel = (2n-1)^3, n_data = n^3. */
void merger_sums(merger *m, void **kernel, int64_t *n_kernel, void **data, int64_t *n_data);

/* Solves for the autocorrelation, device real [n][n][n], which holds the start (or zeros). */
status merger_solve(merger *m, void *autocorrelation, merge_report *report);

#endif
