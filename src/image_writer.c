#include "image_writer.h"

#include <stdio.h>
#include <stdlib.h>

enum { BLOCK_BYTES = 32 << 20 };

/* ---- ours ---- */

typedef struct own_writer {
    dataset_writer *file;
    const dataset *source;
    dataset_atoms truth;
} own_writer;

static void own_abandon(void *writer)
{
    own_writer *w = writer;
    if (!w) return;
    dataset_abandon(w->file);
    free(w->truth.atoms);
    free(w);
}

static status own_create(const char *path, const dataset *ds, void **writer)
{
    own_writer *w = *writer = calloc(1, sizeof *w);
    char command[CONFIG_TEXT_SIZE + 64];
    if (!w) FAIL(STATUS_RESOURCE, "%s: no memory to write it", path);
    w->source = ds;
    if (!ds->det->s)
        FAIL(STATUS_CONFIG, "%s: nothing says where the pixels of %s are; set geometry.file", path,
             ds->path);
    if (ds->has_atoms) TRY(dataset_read_atoms(ds, &w->truth));
    snprintf(command, sizeof command, "mtip convert %s", ds->path);
    const dataset_description about = {.det = ds->det,
                                       .n_images = ds->n_images,
                                       .command_line = command,
                                       .truth = ds->has_truth ? &w->truth : NULL};
    return dataset_create(path, &about, &w->file);
}

static status own_write(void *writer, int64_t first, int64_t count, const float *images)
{
    own_writer *w = writer;
    if (!w->source->has_truth) return dataset_write(w->file, first, count, images, NULL, NULL);
    double *q = malloc((size_t)count * 5 * sizeof *q);
    if (!q) FAIL(STATUS_RESOURCE, "no memory for %lld orientations", (long long)count);
    status result = dataset_read_truth(w->source, first, count, q, q + 4 * count);
    if (result == STATUS_OK)
        result = dataset_write(w->file, first, count, images, q, q + 4 * count);
    free(q);
    return result;
}

static status own_commit(void *writer)
{
    own_writer *w = writer;
    status result = dataset_commit(w->file);
    w->file = NULL;
    own_abandon(w);
    return result;
}

static const image_format own = {.name = "spinifel",
                                 .suffix = ".h5",
                                 .create = own_create,
                                 .write = own_write,
                                 .commit = own_commit,
                                 .abandon = own_abandon};

/* ---- all ---- */

const image_format *const image_formats[N_IMAGE_FORMATS] = {
    &own, &image_emc, &image_emc_int, &image_emc_double, &image_dragonfly, &image_cxi};

static status write_blocks(const image_format *format, void *writer, const dataset *ds)
{
    int64_t most = 1 + BLOCK_BYTES / (ds->n_pixels * (int64_t)sizeof(float));
    if (most > ds->n_images) most = ds->n_images;
    float *images = malloc((size_t)(most * ds->n_pixels) * sizeof *images);
    if (!images) FAIL(STATUS_RESOURCE, "no memory for %lld images", (long long)most);
    status result = STATUS_OK;
    for (int64_t first = 0, n; first < ds->n_images && result == STATUS_OK; first += n) {
        n = ds->n_images - first < most ? ds->n_images - first : most;
        result = dataset_read(ds, first, n, images);
        if (result == STATUS_OK) result = format->write(writer, first, n, images);
    }
    free(images);
    return result;
}

status image_write_all(const image_format *format, const char *path, const dataset *ds)
{
    void *writer = NULL;
    status result = format->create(path, ds, &writer);
    if (result == STATUS_OK) result = write_blocks(format, writer, ds);
    if (result == STATUS_OK) return format->commit(writer);
    format->abandon(writer);
    return result;
}
