/* prtf.h: the phase retrieval transfer function: how far phasings of one intensity have the same
   phases.

       PRTF = sqrt(sum_k |mean_m F_m(k)|^2 / sum_k mean_m |F_m(k)|^2)

   over the shells of fsc.h, for maps m with transforms F_m (Chapman and others, J. Opt. Soc. Am. A 23
   (2006) 1179).  Theirs divides by the measured modulus; the maps' own moduli are there behind a beam
   stop as well, and how well they fit the measured ones is what the R factor says. */
#ifndef MTIP_PRTF_H
#define MTIP_PRTF_H

#include "core/device.h"

/* value [floor(n/2) + 1] (host) of the maps number chosen[0 .. n_chosen-1] (host), n_chosen >= 1, among
   maps [][n][n][n] (doubles on the device) that have been brought onto one another.  1 where they are
   the same; 1/sqrt(n_chosen) is to be expected where phases are random; 0 where the maps have
   nothing. */
status prtf_find(const device *dev, int64_t n, int64_t n_chosen, const int64_t *chosen,
                 const double *maps, double *value);

#endif
