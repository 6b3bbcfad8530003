/* Dragonfly's photons (dataset_emc.c and dataset_dragonfly.c have the layouts): lists are kept until
   all images are there, since the file begins with their lengths. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "image_writer.h"
#include "io_atomic.h"

enum { HEADER_INTS = 256, TYPE_SPARSE = 0, TYPE_INT = 1, TYPE_DOUBLE = 2 };

typedef struct integers {
    int32_t *values;
    int64_t n, capacity;
} integers;

typedef struct photon_writer {
    const char *source; /* for messages */
    int type;
    atomic_file *file; /* NULL: the lists go to HDF5 */
    h5_writer *hdf5;
    int64_t n_images, n_pixels;
    int64_t *ones, *multi; /* [n_images] lengths of lists */
    integers place_ones, place_multi, count_multi;
} photon_writer;

static void release(photon_writer *w)
{
    free(w->ones);
    free(w->multi);
    free(w->place_ones.values);
    free(w->place_multi.values);
    free(w->count_multi.values);
    free(w);
}

static void abandon(void *writer)
{
    photon_writer *w = writer;
    if (!w) return;
    atomic_abandon(w->file);
    h5_abandon(w->hdf5);
    release(w);
}

/* Numbers of the machine as little-endian bytes. */
static void put(FILE *out, const void *number, size_t size)
{
    const uint16_t one = 1;
    const char *bytes = number;
    if (*(const uint8_t *)&one == 1) {
        (void)fwrite(bytes, size, 1, out);
        return;
    }
    for (size_t i = size; i > 0; i--)
        (void)fputc(bytes[i - 1], out);
}

static void put_header(photon_writer *w)
{
    const int32_t head[3] = {(int32_t)w->n_images, (int32_t)w->n_pixels, w->type}, zero = 0;
    for (int i = 0; i < HEADER_INTS; i++)
        put(atomic_stream(w->file), i < 3 ? &head[i] : &zero, 4);
}

static status create(const char *path, const dataset *ds, int type, void **writer)
{
    photon_writer *w = *writer = calloc(1, sizeof *w);
    if (!w) FAIL(STATUS_RESOURCE, "%s: no memory to write it", path);
    if (ds->n_images > INT32_MAX)
        FAIL(STATUS_INPUT, "%s: %lld images, more than Dragonfly's files can hold", ds->path,
             (long long)ds->n_images);
    w->source = ds->path;
    w->type = type;
    w->n_images = ds->n_images;
    w->n_pixels = ds->n_pixels;
    w->ones = calloc((size_t)w->n_images, sizeof *w->ones);
    w->multi = calloc((size_t)w->n_images, sizeof *w->multi);
    if (!w->ones || !w->multi)
        FAIL(STATUS_RESOURCE, "%s: no memory for %lld images", path, (long long)w->n_images);
    return STATUS_OK;
}

static status create_emc(const char *path, const dataset *ds, int type, void **writer)
{
    TRY(create(path, ds, type, writer));
    photon_writer *w = *writer;
    TRY(atomic_begin_stream(path, &w->file));
    put_header(w);
    return STATUS_OK;
}

static status emc_create(const char *path, const dataset *ds, void **writer)
{
    return create_emc(path, ds, TYPE_SPARSE, writer);
}

static status emc_int_create(const char *path, const dataset *ds, void **writer)
{
    return create_emc(path, ds, TYPE_INT, writer);
}

static status emc_double_create(const char *path, const dataset *ds, void **writer)
{
    return create_emc(path, ds, TYPE_DOUBLE, writer);
}

static status dragonfly_create(const char *path, const dataset *ds, void **writer)
{
    TRY(create(path, ds, TYPE_SPARSE, writer));
    return h5_create(path, &((photon_writer *)*writer)->hdf5);
}

static status append(integers *list, int64_t value)
{
    TRY(array_grow((void **)&list->values, &list->capacity, list->n, sizeof *list->values));
    list->values[list->n++] = (int32_t)value;
    return STATUS_OK;
}

static status add_photons(photon_writer *w, int64_t image, int64_t pixel, int32_t count)
{
    if (count == 0) return STATUS_OK;
    if (count == 1) {
        w->ones[image]++;
        return append(&w->place_ones, pixel);
    }
    w->multi[image]++;
    TRY(append(&w->place_multi, pixel));
    return append(&w->count_multi, count);
}

static status check_count(const photon_writer *w, int64_t image, int64_t pixel, double value)
{
    if (value >= 0 && value <= INT32_MAX - 128 && value == floor(value)) return STATUS_OK;
    FAIL(STATUS_INPUT,
         "%s: image %lld has %g photons in pixel %lld; this format holds whole numbers from 0 "
         "(emc-double holds any)",
         w->source, (long long)image, value, (long long)pixel);
}

static status write_images(void *writer, int64_t first, int64_t count, const float *images)
{
    photon_writer *w = writer;
    for (int64_t i = 0; i < count * w->n_pixels; i++) {
        const double value = (double)images[i];
        const int64_t image = first + i / w->n_pixels, pixel = i % w->n_pixels;
        if (w->type == TYPE_DOUBLE) {
            put(atomic_stream(w->file), &value, 8);
            continue;
        }
        TRY(check_count(w, image, pixel, value));
        const int32_t photons = (int32_t)value;
        if (w->type == TYPE_INT)
            put(atomic_stream(w->file), &photons, 4);
        else
            TRY(add_photons(w, image, pixel, photons));
    }
    return STATUS_OK;
}

static void put_lengths(photon_writer *w, const int64_t *lengths)
{
    for (int64_t i = 0; i < w->n_images; i++) {
        const int32_t n = (int32_t)lengths[i];
        put(atomic_stream(w->file), &n, 4);
    }
}

static void put_list(photon_writer *w, const integers *list)
{
    for (int64_t i = 0; i < list->n; i++)
        put(atomic_stream(w->file), &list->values[i], 4);
}

static status emc_commit(void *writer)
{
    photon_writer *w = writer;
    if (w->type == TYPE_SPARSE) {
        put_lengths(w, w->ones);
        put_lengths(w, w->multi);
        put_list(w, &w->place_ones);
        put_list(w, &w->place_multi);
        put_list(w, &w->count_multi);
    }
    status result = atomic_commit(w->file);
    release(w);
    return result;
}

static status write_lists(photon_writer *w)
{
    const int64_t one = 1;
    const int32_t n_pixels = (int32_t)w->n_pixels;
    TRY(h5_write(w->hdf5, "/num_pix", H5_INT32, 1, &one, &n_pixels, NULL, NULL));
    TRY(h5_write_lists(w->hdf5, "/place_ones", w->n_images, w->ones, w->place_ones.values));
    TRY(h5_write_lists(w->hdf5, "/place_multi", w->n_images, w->multi, w->place_multi.values));
    return h5_write_lists(w->hdf5, "/count_multi", w->n_images, w->multi, w->count_multi.values);
}

static status dragonfly_commit(void *writer)
{
    photon_writer *w = writer;
    status result = write_lists(w);
    if (result != STATUS_OK) {
        abandon(w);
        return result;
    }
    result = h5_commit(w->hdf5);
    release(w);
    return result;
}

const image_format image_emc = {"emc", ".emc", emc_create, write_images, emc_commit, abandon};
const image_format image_emc_int = {"emc-int",    NULL,       emc_int_create,
                                    write_images, emc_commit, abandon};
const image_format image_emc_double = {"emc-double", NULL,       emc_double_create,
                                       write_images, emc_commit, abandon};
const image_format image_dragonfly = {"dragonfly",      NULL,   dragonfly_create, write_images,
                                      dragonfly_commit, abandon};
