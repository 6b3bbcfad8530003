/* image_pixels.h: which pixels of a data set are used; for images.c and estimates. */
#ifndef MTIP_IMAGE_PIXELS_H
#define MTIP_IMAGE_PIXELS_H

#include "images.h"

/* Pixels that data.mask_file leaves out are out of the file's mask as well. STATUS_INPUT. */
status image_pixels_mask(const config *cfg, dataset *file);

/* The pixels of the catalogue: the unmasked ones by their distance from the beam.  correction: of every
   pixel of the detector, NULL for 1.  STATUS_INPUT if there is none. */
status image_pixels_choose(const detector *det, const double *correction, catalogue *k);

#endif
