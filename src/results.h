/* results.h: what a run leaves in its directory (run_directory.h).

     result.h5             everything below with units, and the settings
     density.mrc           the density, voxel size set
     density_half1.mrc, density_half2.mrc   the two independent halves, in the frame of the density
     fsc.txt               Fourier shell correlation of the halves
     prtf.txt              phase retrieval transfer function of the phasings that were averaged
     history.txt           one line a generation
     orientations.txt      one line an image */
#ifndef MTIP_RESULTS_H
#define MTIP_RESULTS_H

#include "reconstruct.h"

/* Writes all of a reconstruction; on failure the files of an earlier one stay. One rank. */
status results_write(const config *cfg, const reconstruction *made);

#endif
