/* images.h: the images of a data set that a run uses, divided over ranks.

   A catalogue says which images of the file are fit to use; a set is one selection of them (all, or
   one of two halves), of which every rank holds whole blocks of MATCH_BLOCK images, as evenly as
   whole blocks allow; a rank may hold none.  Pixels are the unmasked ones in the order of their
   distance from the beam, so that a resolution is a number of leading pixels. */
#ifndef MTIP_IMAGES_H
#define MTIP_IMAGES_H

#include "comm.h"
#include "config.h"
#include "dataset.h"
#include "image_store.h"

/* What becomes of an image. */
typedef enum image_fate {
    IMAGE_USED,
    IMAGE_UNWANTED, /* on the blacklist */
    IMAGE_BAD,      /* with a NaN, infinite or negative pixel */
    IMAGE_DARK,     /* without photons */
    IMAGE_BRIGHT,   /* with images_too_bright times the photons of the median one */
    N_IMAGE_FATES
} image_fate;

extern const double images_too_bright;

typedef struct catalogue {
    dataset *file;
    bool scatter;       /* rank 0 reads and sends */
    image_store *store; /* images that this rank has read; NULL: they are read again */
    int64_t n_usable;
    int64_t *usable;   /* [n_usable] indices in the file */
    uint8_t *unwanted; /* [images of the file] 1 on the blacklist; NULL: there is none */
    int64_t n_unwanted, n_bad, n_dark, n_bright; /* images left out */
    int64_t first, n_seen;                       /* images looked at */
    uint8_t *fate;                               /* [n_seen] an image_fate each */
    int64_t n_pixels;                            /* used */
    int64_t *pixel;                              /* [n_pixels] index in the file's image */
    double *s;                                   /* [n_pixels][3], 1/Angstrom */
    double *radius;                              /* [n_pixels] |s|, ascending */
    double *correction;                          /* [n_pixels] detector factor, mean 1 */
    uint64_t checksum; /* of the photons of every image and the places of the pixels */
} catalogue;

/* Pixels up to this fraction of the largest |s|, one at least. */
int64_t catalogue_pixels_within(const catalogue *k, double fraction);

/* Opens cfg->data.file and looks at every image. Collective. */
status catalogue_create(const config *cfg, comm *c, catalogue **created);
void catalogue_destroy(catalogue *k);

typedef struct images {
    int64_t n;       /* in the set, all ranks */
    int64_t *source; /* [n] indices in the file */
    int64_t first, n_local;
    int64_t n_pixels;
    float *counts;      /* [n_local][n_pixels], or NULL: the images are */
    photon_lists lists; /* of this rank, if the file has lists and each rank reads its own */
    int64_t *per_rank;  /* [ranks] images of each rank */
    double *mean;       /* [n_pixels] mean counts over the set, all ranks */
    double *square;     /* [n_pixels] mean squared counts */
} images;

/* The images usable[i] with i % parts == part. Collective. */
status images_load(const catalogue *k, comm *c, int parts, int part, images **created);
void images_destroy(images *set);
/* Image i of this rank, row [n_pixels]. */
void images_row(const images *set, int64_t i, float *row);
/* Whole blocks of the n images to ranks, as evenly as they go: first, n_local, per_rank. */
status images_divide(images *set, const comm *c);

#endif
