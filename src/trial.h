/* trial.h: a run (run.h) on synthetic images, to time its generations.

   Images are noise of 0 and 1 photons: at a high perplexity every reference carries weight, the most
   there can be to merge.
   The model is a lopsided particle. */
#ifndef MTIP_TRIAL_H
#define MTIP_TRIAL_H

#include "run.h"

typedef struct trial trial;

/* n_images of all ranks with the catalogue's pixels; the arguments must outlive the trial.  setup:
   seconds of run_create.  Collective. */
status trial_create(const config *cfg, const device *dev, comm *c, const catalogue *pixels,
                    int64_t n_images, double *setup, trial **created);
/* Accepts NULL. */
void trial_destroy(trial *t);

/* The trial's. */
run *trial_run(trial *t);

#endif
