/* phase.h: densities whose Fourier moduli are those of an autocorrelation.

   Iterative projections from several starts at once: every loop is n_er steps of error reduction,
   n_hio of hybrid input-output (or RAAR), n_er of error reduction, then the support is found anew
   (shrinkwrap, Marchesini et al., PRB 68, 140101, 2003).  The modulus is imposed on the Fourier
   voxels between k_min and k_max only: the beam stop, the unmeasured corners and the direct beam are
   free.  A single phasing is chaotic; the average of consistent ones is stable. */
#ifndef MTIP_PHASE_H
#define MTIP_PHASE_H

#include "mtip/kernels.h"

typedef struct phaser phaser;

typedef struct phase_options {
    precision precision;
    int64_t size;    /* n */
    int64_t starts;  /* volumes phased at once */
    double radius;   /* of the first support sphere, voxels */
    phase_step step; /* PHASE_HIO or PHASE_RAAR */
    int n_er, n_hio;
    double beta;
    double blur;      /* sigma of shrinkwrap's Gaussian, voxels */
    double threshold; /* of shrinkwrap, fraction of the blurred maximum */
} phase_options;

/* Bytes of device memory of a phaser. */
int64_t phaser_forecast(device_kind kind, const phase_options *options);

/* A phaser may be used for any number of targets. */
status phaser_create(const device *dev, const phase_options *options, phaser **created);
void phaser_destroy(phaser *p);

/* The moduli to meet: autocorrelation is real [n][n][n] on the device, imposed for Fourier voxels
   with k_min <= |k| <= k_max (n/2 is the edge of the grid). */
status phaser_set_target(phaser *p, const void *autocorrelation, double k_min, double k_max);

/* Start s from random numbers inside the sphere; the same (seed, number) gives the same start. */
status phaser_start_random(phaser *p, int64_t s, uint64_t seed, uint64_t number);
/* Start s from a density, doubles [n][n][n] on the device. */
status phaser_start_from(phaser *p, int64_t s, const double *density);

/* Runs `loops` loops and ends with n_er steps of error reduction. */
status phaser_run(phaser *p, int loops);

/* All starts as doubles [starts][n][n][n] on the device, and their R factors, host [starts]:
   sqrt(sum (|F|-a)^2 / sum a^2). Waits. */
status phaser_get(phaser *p, double *densities, double *r_factors);

/* autocorrelation (device real [n][n][n]) = that of a density (device doubles), periodic. */
status phaser_autocorrelation(phaser *p, const double *density, void *autocorrelation);

#endif
