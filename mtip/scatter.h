/* scatter.h: how X-rays scatter from atoms: form factors, and the sum over atoms.

   F(s) = sum_j occ_j (f0_j(|s|/2) + f'_j + i f''_j) exp(-B_j |s|^2 / 4) exp(2 pi i s.r_j), the
   intensity is |F|^2 in electrons squared.  f0, f' and f'' come from xraylib.

   The sum is taken directly, for every pixel of every image over all atoms, or through nonuniform
   FFTs (scatter_nufft.c says how), whose cost per pixel does not grow with the atoms. */
#ifndef MTIP_SCATTER_H
#define MTIP_SCATTER_H

#include "core/device.h"

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

/* Prepares the atoms (moved so that their centre of electrons is the origin, which changes no
   intensity) for pixels at s [n_pixels][3] (1/Angstrom); both are copied.  The sum is direct, on
   the CPU with OpenMP's number of threads: errors of |F| stay below 1e-6 sum_j |f_j|.  STATUS_INPUT
   when an element has no form factors. */
status scatter_create_direct(const atom *atoms, int64_t n_atoms, const double *s, int64_t n_pixels,
                             const scatter_settings *settings, scatter **created);
/* The same through NUFFTs in double precision on a device that must outlive it.  Intensities differ
   from those of the direct sum because form factors are smoothed (form_factor.h): in the l2 sense by
   1.5e-7 to 1.3e-6 for the particles of docs/measured.md.  STATUS_INPUT also when B factors spread so
   far that no series of exp(-B |s|^2 / 4) holds them. */
status scatter_create_nufft(const device *dev, const atom *atoms, int64_t n_atoms, const double *s,
                            int64_t n_pixels, const scatter_settings *settings, scatter **created);
/* Whether NUFFTs are cheaper for so many pixels of all images together.  On one thread the direct
   sum takes 0.5 ns for an atom and a pixel, the NUFFT 0.26 us for a pixel and some 0.1 s at first. */
bool scatter_prefers_nufft(int64_t n_atoms, int64_t n_points);
/* Accepts NULL. */
void scatter_destroy(scatter *sc);

/* |F(R^T s)|^2 for count orientations: quaternions [count][4] (particle rotations, rotation.h) to
   intensities [count][n_pixels], all in host memory.  On the CPU a value does not depend on count,
   on its place in the batch or on the number of threads, bit for bit. */
status scatter_intensities(scatter *sc, const double *quaternions, int64_t count,
                           double *intensities);

int64_t scatter_n_pixels(const scatter *sc);
/* How many orientations should be asked for at once: fewer cost more each, more save nothing. */
int64_t scatter_batch(const scatter *sc);

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
