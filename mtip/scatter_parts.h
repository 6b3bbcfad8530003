/* scatter_parts.h: the two ways to sum over atoms, and what they share; for mtip/scatter*.c and
   mtip/atom_modes.c only. */
#ifndef MTIP_SCATTER_PARTS_H
#define MTIP_SCATTER_PARTS_H

#include "mtip/scatter.h"

/* Atomic numbers are 1 .. SCATTER_MAX_ELEMENT - 1. */
enum { SCATTER_MAX_ELEMENT = 120 };

/* counts[element] of the atoms; STATUS_INPUT for an element out of range. */
status scatter_count_elements(const atom *atoms, int64_t n_atoms,
                              int64_t counts[SCATTER_MAX_ELEMENT]);
double scatter_length(const double s[3]);
/* Of the sphere about the centre that holds all atoms. */
double scatter_radius(const atom *atoms, int64_t n_atoms, const double centre[3]);
/* The centre of electrons; returns their number. */
double scatter_find_centre(const atom *atoms, int64_t n_atoms, double centre[3]);

/* Orientations it does together. */
enum { SCATTER_DIRECT_BATCH = 64 };
typedef struct scatter_direct scatter_direct;
status scatter_direct_create(const atom *atoms, int64_t n_atoms, const double *s, int64_t n_pixels,
                             const scatter_settings *settings, scatter_direct **created);
void scatter_direct_destroy(scatter_direct *sc);
void scatter_direct_intensities(const scatter_direct *sc, const double *quaternions, int64_t count,
                                double *intensities);

typedef struct scatter_nufft scatter_nufft;
status scatter_nufft_create(const device *dev, const atom *atoms, int64_t n_atoms, const double *s,
                            int64_t n_pixels, const scatter_settings *settings,
                            scatter_nufft **created);
void scatter_nufft_destroy(scatter_nufft *sc);
int64_t scatter_nufft_batch(const scatter_nufft *sc);
status scatter_nufft_intensities(scatter_nufft *sc, const double *quaternions, int64_t count,
                                 double *intensities);

#endif
