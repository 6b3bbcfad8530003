/* check_data.h: what a data set holds, and whether a run with it makes sense; for mtip check. */
#ifndef MTIP_CHECK_DATA_H
#define MTIP_CHECK_DATA_H

#include "config.h"

/* Whether the file begins as HDF5 files do. */
bool check_data_is(const char *path);

/* Reads all of a data set and prints what is in it.  images_name: where the images are, NULL for
   the usual place.  c, if given, is checked against it as for mtip reconstruct (inputs.h), before
   anything is printed.  The reading is done in a child process: a
   damaged file that makes the HDF5 library crash is STATUS_INPUT like any other. */
status check_data(const char *path, const char *images_name, const config *c);

#endif
