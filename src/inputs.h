/* inputs.h: a data set and the settings against each other, before anything is computed.

   mtip reconstruct and mtip check ask here, so that what the one refuses the other refuses with the
   same words and code. */
#ifndef MTIP_INPUTS_H
#define MTIP_INPUTS_H

#include "comm.h"
#include "config.h"
#include "images.h"

/* A particle of grid.diameter is larger than the finest period, 1/s_max (1/Angstrom), and its
   autocorrelation fits into the box, or nearly. STATUS_CONFIG, and a warning if only nearly. */
status inputs_check_grid(const config *cfg, double s_max);

/* catalogue_create, and all that can be known of a reconstruction of it without computing:
   STATUS_CONFIG for settings that do not fit the data, STATUS_INPUT for data that are no good.
   Warns of what will not end well. The caller destroys the catalogue. Collective. */
status inputs_open(const config *cfg, comm *c, catalogue **created);

#endif
