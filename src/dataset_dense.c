/* Any dataset of images in HDF5, (N, rows, columns) or (N, panels, rows, columns), by its name
   (data.dataset).  Where its pixels are, a geometry says. */
#include "dataset_format.h"

/* Whatever is HDF5 and of no other format. */
static bool dense_recognize(const char *path)
{
    return h5_recognize(path);
}

static status dense_open(dataset *ds, const dataset_settings *set)
{
    TRY(dataset_hdf5_open(ds, set->images, "data"));
    geometry_images images = {.path = ds->path, .file = ((hdf5_images *)ds->source)->file};
    TRY(dataset_hdf5_shape(ds, false, images.shape));
    return dataset_locate(ds, set, &images);
}

const dataset_format dataset_dense = {
    .name = "dense",
    .recognize = dense_recognize,
    .open = dense_open,
    .close = dataset_hdf5_close,
    .read = dataset_hdf5_read,
};
