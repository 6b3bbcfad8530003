/* results.h: the run directory.

     config.resolved.yaml  every setting of the run that made the results, with units
     log.txt               what was shown, with times
     result.h5             everything below with units, and the history of the generations
     density.mrc           the density, voxel size set
     density_half1.mrc, density_half2.mrc   the two independent halves, in the frame of the density
     fsc.txt               Fourier shell correlation of the halves
     orientations.txt      one line an image */
#ifndef MTIP_RESULTS_H
#define MTIP_RESULTS_H

#include "reconstruct.h"

#include <stdio.h>

/* Makes the directory (and those above it) if need be, checks that it can be written and opens
   log.txt for appending (the caller closes it). One rank. */
status results_begin(const config *cfg, FILE **log);

/* Writes all of a reconstruction and its settings; on failure the files of an earlier one stay. One rank. */
status results_write(const config *cfg, const reconstruction *made);

#endif
