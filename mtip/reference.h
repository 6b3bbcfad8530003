/* reference.h: the map that a perfect reconstruction of simulated images would be. */
#ifndef MTIP_REFERENCE_H
#define MTIP_REFERENCE_H

#include "core/device.h"
#include "mtip/scatter.h"

typedef struct reference_grid {
    int64_t n;
    double voxel; /* Angstrom */
    double s_max; /* 1/Angstrom, at most 1/(2 voxel) */
} reference_grid;

/* density [n][n][n] in host memory, electrons per cubic Angstrom: the scattering density of the
   atoms, f0 + f' and B factors as in scatter.h, cut at s_max, with the centre of electrons at the
   map's centre.  f'' is left out: it would make the density complex.  STATUS_INPUT if the atoms do
   not fit into the box, whose copies would then overlap. */
status reference_density(const device *dev, const atom *atoms, int64_t n_atoms,
                         const scatter_settings *scattering, const reference_grid *grid,
                         double *density);

#endif
