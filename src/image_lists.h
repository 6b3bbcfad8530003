/* image_lists.h: images of a set kept as lists of photons; for images.c. */
#ifndef MTIP_IMAGE_LISTS_H
#define MTIP_IMAGE_LISTS_H

#include "images.h"

/* Images source[0..n-1] of the catalogue's file, which is sparse: their photons in used pixels, which
   are numbered as the catalogue's. The caller frees them. */
status image_lists_read(const catalogue *k, const int64_t *source, int64_t n, photon_lists *lists);

#endif
