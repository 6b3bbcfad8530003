/* dataset_format.h: a format of image files; for dataset*.c only.

   To add one: a constant of data.format in config_keys.h, a file dataset_NAME.c with its functions
   and this table of them, and a line in the list of dataset.c. */
#ifndef MTIP_DATASET_FORMAT_H
#define MTIP_DATASET_FORMAT_H

#include "dataset.h"

struct dataset_format {
    const char *name;

    /* Whether a file is of this format, from its beginning or its parts.  No failure. */
    bool (*recognize)(const char *path);

    /* Sets n_images, det (whose s is NULL if nothing says where the pixels are), has_truth,
       has_atoms, is_sparse and source, all empty before; what was set stays for close on failure. */
    status (*open)(dataset *ds, const dataset_settings *set);
    /* source may be NULL or half-built. */
    void (*close)(dataset *ds);

    /* Images as they are stored, [count][pixels of det]; first and count are in range. */
    status (*read)(const dataset *ds, int64_t first, int64_t count, float *images);
    /* NULL where images are not lists of photons. */
    status (*read_photons)(const dataset *ds, int64_t first, int64_t count, photon_lists *read);
    /* NULL where there are none; as in dataset.h. */
    status (*read_truth)(const dataset *ds, int64_t first, int64_t count, double *quaternions,
                         double *fluences);
    status (*read_atoms)(const dataset *ds, dataset_atoms *truth);
};

extern const dataset_format dataset_spinifel, dataset_cxi, dataset_emc, dataset_dragonfly,
    dataset_dense, dataset_list;

/* A detector of images of this shape from the settings' geometry; one without positions where
   nothing says where its pixels are and set->anywhere allows it. */
status dataset_locate(dataset *ds, const dataset_settings *set, const geometry_images *images);

/* Memory for lists of n photons of `count` images; STATUS_RESOURCE. */
status photon_lists_allocate(const char *path, int64_t count, int64_t n, photon_lists *p);
/* Pixels are in range, none twice in an image, and all counts positive; `first` is the number of the
   first image, for the message. */
status photon_lists_check(const char *path, int64_t first, int64_t n_pixels, const photon_lists *p);

/* ds->source of formats whose images are a dataset in HDF5: the file, open while ds is, and the
   dataset's name. */
typedef struct hdf5_images {
    h5_reader *file;
    char name[256];
    int64_t rows; /* of the dataset's first axis that an image takes */
} hdf5_images;

/* The file with its images at `name`, or at `usual` where that is NULL or empty. */
status dataset_hdf5_open(dataset *ds, const char *name, const char *usual);
/* As dataset_format has them. */
void dataset_hdf5_close(dataset *ds);
status dataset_hdf5_read(const dataset *ds, int64_t first, int64_t count, float *images);
/* Shape (N, panels, rows, columns), (N, rows, columns) or, if has_single, (rows, columns) of the
   dataset to n_images, rows and the shape of an image. */
status dataset_hdf5_shape(dataset *ds, bool has_single, int64_t shape[3]);

/* The atoms of /truth in a file of our own. */
status dataset_atoms_read(const h5_reader *file, dataset_atoms *truth);

#endif
