/* trial.h: a run (run.h) on synthetic images, to time its generations.

   The first model is that of a particle (trial_particle.h). */
#ifndef MTIP_TRIAL_H
#define MTIP_TRIAL_H

#include "run.h"

typedef struct trial trial;

/* NOISE: 0 and 1 photons, blind to the particle: at a high perplexity every reference carries
   weight, the most there can be to merge.  PHOTONS: Poisson numbers of the particle's intensity in
   random orientations, the same images for any number of ranks.  The mean is a quarter of a photon
   for each pixel. */
typedef enum trial_content { TRIAL_NOISE, TRIAL_PHOTONS } trial_content;

/* n_images of all ranks with the catalogue's pixels; the arguments must outlive the trial.  setup:
   seconds of run_create.  Collective. */
status trial_create(const config *cfg, const device *dev, comm *c, const catalogue *pixels,
                    trial_content content, int64_t n_images, double *setup, trial **created);
/* Accepts NULL. */
void trial_destroy(trial *t);

/* The particle is the run's model again, as it is at first. Collective. */
status trial_start(trial *t);

/* The trial's. */
run *trial_run(trial *t);

#endif
