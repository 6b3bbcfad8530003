/* scatter.h: how X-rays scatter from atoms: form factors and the direct sum.

   F(s) = sum_j occ_j (f0_j(|s|/2) + f'_j + i f''_j) exp(-B_j |s|^2 / 4) exp(2 pi i s.r_j), the
   intensity is |F|^2 in electrons squared.  f0, f' and f'' come from xraylib. */
#ifndef MTIP_SCATTER_H
#define MTIP_SCATTER_H

#include "core/status.h"
#include "core/types.h"

typedef struct atom {
    double position[3]; /* Angstrom */
    double occupancy;
    double b_factor; /* Angstrom^2 */
    int element;     /* atomic number */
} atom;

typedef struct scatter scatter;

typedef struct scatter_settings {
    double photon_energy; /* eV */
    bool dispersion;      /* add f' */
    bool absorption;      /* add i f'' (the density is then not real) */
} scatter_settings;

/* Prepares the atoms (copied, moved so that their centre of electrons is the origin, which changes
   no intensity) for pixels at s [n_pixels][3] (1/Angstrom, copied).  STATUS_INPUT when an element
   has no form factors. */
status scatter_create(const atom *atoms, int64_t n_atoms, const double *s, int64_t n_pixels,
                      const scatter_settings *settings, scatter **created);
/* Accepts NULL. */
void scatter_destroy(scatter *sc);

/* |F(R^T s)|^2 for count orientations: quaternions [count][4] (particle rotations, rotation.h) to
   intensities [count][n_pixels].  The direct sum over atoms, exact to single precision: errors of
   |F| stay below 1e-6 sum_j |f_j|.  A value does not depend on count, on its place in the batch or
   on the number of threads. */
void scatter_intensities(const scatter *sc, const double *quaternions, int64_t count,
                         double *intensities);

/* F(R^T s) itself for one orientation: amplitudes [n_pixels] complex (re, im). */
void scatter_amplitudes(const scatter *sc, const double quaternion[4], double *amplitudes);

int64_t scatter_n_pixels(const scatter *sc);

/* How large a particle is, in Angstrom, with atoms weighted by electrons (occ_j Z_j). */
typedef struct scatter_size {
    double n_electrons;
    double centre[3]; /* of electrons */
    double gyration;  /* radius of gyration about it */
    double radius;    /* of the sphere about it that holds all atoms */
    double diameter;  /* largest distance between two atoms, found to 0.5 % (never too large) */
} scatter_size;
scatter_size scatter_measure(const atom *atoms, int64_t n_atoms);

#endif
