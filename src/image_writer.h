/* image_writer.h: data sets written in one of several formats, block by block.

   spinifel  ours (dataset.h), with what truth the source has
   emc       Dragonfly's lists of photons; emc-int and emc-double: its whole images
   dragonfly the same lists in HDF5
   cxi       CXI 1.6 */
#ifndef MTIP_IMAGE_WRITER_H
#define MTIP_IMAGE_WRITER_H

#include "dataset.h"

typedef struct image_format {
    const char *name, *suffix; /* of files that are taken to be of it, the first of the list */
    /* Starts a file for all images of ds, which stays open: it appears in commit. */
    status (*create)(const char *path, const dataset *ds, void **writer);
    /* Images first .. first+count-1, in order. */
    status (*write)(void *writer, int64_t first, int64_t count, const float *images);
    /* Frees the writer in any case; nothing is left of the file on failure. */
    status (*commit)(void *writer);
    void (*abandon)(void *writer);
} image_format;

enum { N_IMAGE_FORMATS = 6 };
extern const image_format *const image_formats[N_IMAGE_FORMATS];

/* Writes all images of ds to path. */
status image_write_all(const image_format *format, const char *path, const dataset *ds);

/* For the table, in files of their own. */
extern const image_format image_emc, image_emc_int, image_emc_double, image_dragonfly, image_cxi;

#endif
