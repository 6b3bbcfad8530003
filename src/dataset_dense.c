/* Any dataset of images in HDF5, (N, rows, columns) or (N, panels, rows, columns), by its name
   (data.dataset).  Where its pixels are, a geometry says. */
#include "dataset_format.h"

#include <stdlib.h>

typedef struct dense_source {
    h5_reader *file;
    char images[256];
} dense_source;

/* Whatever is HDF5 and of no other format. */
static bool dense_recognize(const char *path)
{
    return h5_recognize(path);
}

static status dense_open(dataset *ds, const dataset_settings *set)
{
    dense_source *source = ds->source = calloc(1, sizeof *source);
    if (!source) FAIL(STATUS_RESOURCE, "%s: no memory to read it", ds->path);
    TRY(h5_open(ds->path, &source->file));
    TRY(h5_full_name(set->images, "data", source->images, sizeof source->images));
    geometry_images images = {.path = ds->path, .file = source->file};
    TRY(dataset_image_shape(ds, source->file, source->images, false, images.shape));
    return dataset_locate(ds, set, &images);
}

static void dense_close(dataset *ds)
{
    dense_source *source = ds->source;
    if (source) h5_close(source->file);
    free(source);
}

static status dense_read(const dataset *ds, int64_t first, int64_t count, float *images)
{
    const dense_source *source = ds->source;
    return h5_read_rows(source->file, source->images, H5_SINGLE, first, count, images);
}

const dataset_format dataset_dense = {
    .name = "dense",
    .recognize = dense_recognize,
    .open = dense_open,
    .close = dense_close,
    .read = dense_read,
};
