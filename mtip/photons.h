/* photons.h: images as lists of the pixels that have photons, in host memory. */
#ifndef MTIP_PHOTONS_H
#define MTIP_PHOTONS_H

#include <stdint.h>

/* Those of image i are entries start[i] .. start[i+1]-1, in any order, each pixel once. */
typedef struct photon_lists {
    int64_t n_images;
    int64_t *start;  /* [n_images + 1] */
    int32_t *pixel;  /* [start[n_images]] */
    int32_t *counts; /* the same */
} photon_lists;

/* Means over images. */
typedef struct photon_means {
    double pixels, photons; /* pixels that have photons; photons in them */
} photon_means;

void photon_lists_free(photon_lists *p);

/* Images first .. first+count-1 as rows [count][n_pixels]. */
void photon_lists_spread(const photon_lists *p, int64_t first, int64_t count, int64_t n_pixels,
                         float *rows);

#endif
