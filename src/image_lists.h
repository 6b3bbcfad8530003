/* image_lists.h: images of a set kept as lists of photons; for images.c. */
#ifndef MTIP_IMAGE_LISTS_H
#define MTIP_IMAGE_LISTS_H

#include "images.h"

/* Whether sets of the catalogue's images are lists: the file has them, and each rank reads its own. */
bool image_lists_wanted(const catalogue *k);

/* What is in used pixels of some images of the file; 0 where they are not wanted as lists. */
status image_lists_means(const catalogue *k, photon_means *means);

/* Images source[0..n-1] of the catalogue's file, which is sparse: their photons in used pixels, which
   are numbered as the catalogue's. The caller frees them. */
status image_lists_read(const catalogue *k, const int64_t *source, int64_t n, photon_lists *lists);

#endif
