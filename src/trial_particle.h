/* trial_particle.h: a particle whose density and intensity are formulas: equal Gaussian blobs at
   scattered places in a sphere, without any symmetry. */
#ifndef MTIP_TRIAL_PARTICLE_H
#define MTIP_TRIAL_PARTICLE_H

#include <stdint.h>

enum { TRIAL_BLOBS = 8 };

typedef struct trial_particle {
    double sigma;              /* of a blob, Angstrom */
    double at[TRIAL_BLOBS][3]; /* Angstrom */
} trial_particle;

/* Blobs of 1.2 voxels in a sphere of this diameter, both in Angstrom; always the same places. */
trial_particle trial_particle_make(double diameter, double voxel);

/* The density whose intensity is that of trial_particle_intensity in photons, at the voxels of a grid,
   host [n]^3, centre at floor(n/2). */
void trial_particle_density(const trial_particle *p, double voxel, double photons, int64_t n,
                            double *density);

/* |sum of exp(2 pi i s . R at)|^2 exp(-(2 pi sigma |s|)^2) at points s [n][3], 1/Angstrom, of the
   particle rotated by a unit quaternion; host [n]. */
void trial_particle_intensity(const trial_particle *p, const double q[4], int64_t n,
                              const double *s, float *intensity);

#endif
