/* check_settings.h: what the grid's and the references' settings come to; for mtip check. */
#ifndef MTIP_CHECK_SETTINGS_H
#define MTIP_CHECK_SETTINGS_H

#include "config.h"
#include "mtip/detector.h"

/* Prints the box and the references for images up to s_max, 1/Angstrom; warns of references that
   are too few for it. */
void check_print_grid(const config *c, double s_max);

/* Warns where the data set is the one that mtip simulate makes by these settings, but is of another
   detector or photon energy: it is older than they are. */
void check_warn_of_age(const config *c, const detector *det);

#endif
