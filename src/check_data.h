/* check_data.h: what a data set holds; for check_file.c. */
#ifndef MTIP_CHECK_DATA_H
#define MTIP_CHECK_DATA_H

#include "config.h"
#include "mtip/detector.h"

/* Reads all of c->data.file and prints what is in it; warns of what will not end well. */
status check_data(const config *c);

/* Shape, wavelength, resolution and mask of a detector. */
void check_print_detector(const detector *det);

#endif
