/* Dragonfly's photons in HDF5: /num_pix, and for each image lists of variable length in /place_ones,
   /place_multi and /count_multi. */
#include "dataset_format.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[3] = {"/place_ones", "/place_multi", "/count_multi"};

static bool dragonfly_recognize(const char *path)
{
    return h5_file_has(path, names[0]) && h5_file_has(path, "/num_pix");
}

static status dragonfly_open(dataset *ds, const dataset_settings *set)
{
    h5_reader *file = NULL;
    double num_pix;
    TRY(h5_open(ds->path, &file));
    ds->source = file;
    TRY(h5_read_value(file, "/num_pix", &num_pix));
    if (!(num_pix >= 1 && num_pix <= DETECTOR_MAX_PIXELS))
        FAIL(STATUS_INPUT, "%s: dataset '/num_pix' is %g; expected 1 to %d", ds->path, num_pix,
             DETECTOR_MAX_PIXELS);
    TRY(h5_count_lists(file, names[0], &ds->n_images));
    for (int i = 1; i < 3; i++) {
        int64_t n;
        TRY(h5_count_lists(file, names[i], &n));
        if (n != ds->n_images || n < 1)
            FAIL(STATUS_INPUT, "%s: datasets '%s' and '%s' have %lld and %lld images", ds->path,
                 names[0], names[i], (long long)ds->n_images, (long long)n);
    }
    ds->is_sparse = true;
    const geometry_images images = {ds->path, {1, 1, (int64_t)num_pix}, file};
    return dataset_locate(ds, set, &images);
}

static void dragonfly_close(dataset *ds)
{
    h5_close(ds->source);
}

static int64_t n_stored(const dataset *ds)
{
    return ds->stored_shape[0] * ds->stored_shape[1] * ds->stored_shape[2];
}

/* What was read of the three datasets. */
typedef struct lists {
    int64_t *lengths[3];
    int32_t *values[3];
} lists;

static status read_lists(const dataset *ds, int64_t first, int64_t count, lists *l)
{
    for (int k = 0; k < 3; k++) {
        l->lengths[k] = calloc((size_t)count + 1, sizeof *l->lengths[k]);
        if (!l->lengths[k]) FAIL(STATUS_RESOURCE, "%s: no memory for photons", ds->path);
        TRY(h5_read_lists(ds->source, names[k], first, count, count * n_stored(ds), l->lengths[k],
                          &l->values[k]));
    }
    for (int64_t i = 0; i < count; i++)
        if (l->lengths[1][i] != l->lengths[2][i])
            FAIL(STATUS_INPUT, "%s: image %lld has %lld places and %lld counts of more photons",
                 ds->path, (long long)(first + i), (long long)l->lengths[1][i],
                 (long long)l->lengths[2][i]);
    return STATUS_OK;
}

static status merge_lists(const dataset *ds, int64_t first, int64_t count, const lists *l,
                          photon_lists *p)
{
    int64_t n = 0, one = 0, multi = 0, k = 0;
    for (int64_t i = 0; i < count; i++)
        n += l->lengths[0][i] + l->lengths[1][i];
    TRY(photon_lists_allocate(ds->path, count, n, p));
    for (int64_t i = 0; i < count; i++) {
        for (int64_t j = 0; j < l->lengths[0][i]; j++, k++) {
            p->pixel[k] = l->values[0][one++];
            p->counts[k] = 1;
        }
        for (int64_t j = 0; j < l->lengths[1][i]; j++, k++, multi++) {
            p->pixel[k] = l->values[1][multi];
            p->counts[k] = l->values[2][multi];
        }
        p->start[i + 1] = k;
    }
    return photon_lists_check(ds->path, first, n_stored(ds), p);
}

static status dragonfly_read_photons(const dataset *ds, int64_t first, int64_t count,
                                     photon_lists *p)
{
    lists l = {{0}, {0}};
    status result = read_lists(ds, first, count, &l);
    if (result == STATUS_OK) result = merge_lists(ds, first, count, &l, p);
    for (int k = 0; k < 3; k++) {
        free(l.lengths[k]);
        free(l.values[k]);
    }
    if (result != STATUS_OK) photon_lists_free(p);
    return result;
}

static status dragonfly_read(const dataset *ds, int64_t first, int64_t count, float *images)
{
    photon_lists p = {0};
    TRY(dragonfly_read_photons(ds, first, count, &p));
    photon_lists_spread(&p, 0, count, n_stored(ds), images);
    photon_lists_free(&p);
    return STATUS_OK;
}

const dataset_format dataset_dragonfly = {
    .name = "dragonfly",
    .recognize = dragonfly_recognize,
    .open = dragonfly_open,
    .close = dragonfly_close,
    .read = dragonfly_read,
    .read_photons = dragonfly_read_photons,
};
