/* truth.h: what a reconstruction should have come to, from a simulated data set, a structure or a
   map. */
#ifndef MTIP_TRUTH_H
#define MTIP_TRUTH_H

#include "mtip/reference.h"
#include "run_output.h"

typedef struct truth {
    double *density;      /* [n][n][n] on the run's grid, NULL where the file has no particle */
    double *orientations; /* [run->n_images][4] of the run's images, NULL where there are none */
} truth;

/* path is a data set of mtip simulate (its atoms and orientations), an MRC map with the run's grid,
   or a structure (read with the run's molecule settings, without dispersion). */
status truth_read(const device *dev, const char *path, const run_output *run, truth **read);
/* Accepts NULL. */
void truth_destroy(truth *t);

#endif
