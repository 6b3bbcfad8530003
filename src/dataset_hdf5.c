/* Images that are a dataset in HDF5: what the formats of such files share. */
#include "dataset_format.h"

#include <stdlib.h>

status dataset_hdf5_open(dataset *ds, const char *name, const char *usual)
{
    hdf5_images *source = ds->source = calloc(1, sizeof *source);
    if (!source) FAIL(STATUS_RESOURCE, "%s: no memory to read it", ds->path);
    TRY(h5_open(ds->path, &source->file));
    return h5_full_name(name, usual, source->name, sizeof source->name);
}

void dataset_hdf5_close(dataset *ds)
{
    hdf5_images *source = ds->source;
    if (source) h5_close(source->file);
    free(source);
}

status dataset_hdf5_read(const dataset *ds, int64_t first, int64_t count, float *images)
{
    const hdf5_images *source = ds->source;
    return h5_read_rows(source->file, source->name, H5_SINGLE, first * source->rows,
                        count * source->rows, images);
}

status dataset_hdf5_shape(dataset *ds, bool has_single, int64_t shape[3])
{
    hdf5_images *source = ds->source;
    h5_shape found;
    char text[128];
    TRY(h5_get_shape(source->file, source->name, &found));
    h5_describe(&found, text, sizeof text);
    const bool is_single = found.rank == 2 && has_single;
    if (found.rank != 3 && found.rank != 4 && !is_single)
        FAIL(STATUS_INPUT,
             "%s: dataset '%s' is %s; expected images (N, panels, rows, columns) or (N, rows, "
             "columns)",
             ds->path, source->name, text);
    ds->n_images = is_single ? 1 : found.dims[0];
    source->rows = is_single ? found.dims[0] : 1;
    shape[0] = found.rank == 4 ? found.dims[1] : 1;
    shape[1] = found.dims[found.rank - 2];
    shape[2] = found.dims[found.rank - 1];
    int64_t n_pixels = 1;
    for (int d = 0; d < 3; d++) {
        if (shape[d] < 1 || shape[d] > DETECTOR_MAX_PIXELS / n_pixels)
            FAIL(STATUS_INPUT, "%s: dataset '%s' is %s; expected images of 1 to %d pixels",
                 ds->path, source->name, text, DETECTOR_MAX_PIXELS);
        n_pixels *= shape[d];
    }
    if (ds->n_images < 1)
        FAIL(STATUS_INPUT, "%s: dataset '%s' is %s: no images", ds->path, source->name, text);
    return STATUS_OK;
}
