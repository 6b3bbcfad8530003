/* Dragonfly's photon files.  Little-endian: int32 num_data, num_pix, type; zeros (or what a user put
   there) up to byte 1024; then
     type 0:  int32 ones[num_data], multi[num_data], place_ones[..], place_multi[..], count_multi[..]
     type 1:  int32 frames[num_data][num_pix]
     type 2:  float64 frames[num_data][num_pix]
   There is no magic number: a file is known by its size, which all of these decide. */
#include "dataset_format.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { HEADER_BYTES = 1024, TYPE_SPARSE = 0, TYPE_INT = 1, TYPE_DOUBLE = 2 };

typedef struct emc_source {
    FILE *file;
    int64_t size; /* bytes */
    int32_t num_data, num_pix, type;
    int64_t *first_one, *first_multi; /* [num_data + 1] sums of ones and multi */
} emc_source;

static int32_t little(const unsigned char *b)
{
    return (int32_t)((uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 |
                     (uint32_t)b[3] << 24);
}

static status read_at(const char *path, const emc_source *e, int64_t offset, int64_t bytes,
                      void *data)
{
    if (fseeko(e->file, (off_t)offset, SEEK_SET) != 0 ||
        fread(data, 1, (size_t)bytes, e->file) != (size_t)bytes)
        FAIL(STATUS_INPUT, "%s: cannot read %lld bytes at %lld: %s", path, (long long)bytes,
             (long long)offset, ferror(e->file) ? strerror(errno) : "the file ends before");
    return STATUS_OK;
}

/* count integers at an offset; the bytes of the file are turned into numbers in place. */
static status read_integers(const char *path, const emc_source *e, int64_t offset, int64_t count,
                            int32_t *numbers)
{
    TRY(read_at(path, e, offset, 4 * count, numbers));
    for (int64_t i = 0; i < count; i++) {
        unsigned char bytes[4];
        memcpy(bytes, &numbers[i], 4);
        numbers[i] = little(bytes);
    }
    return STATUS_OK;
}

static status read_header(const char *path, emc_source *e)
{
    struct stat info;
    int32_t head[3];
    if (!(e->file = fopen(path, "rb")))
        FAIL(STATUS_INPUT, "%s: cannot open: %s", path, strerror(errno));
    if (fstat(fileno(e->file), &info) != 0) FAIL(STATUS_INPUT, "%s: %s", path, strerror(errno));
    e->size = (int64_t)info.st_size;
    if (!S_ISREG(info.st_mode) || e->size < HEADER_BYTES)
        FAIL(STATUS_INPUT, "%s: %lld bytes, fewer than the %d of the header of an .emc file", path,
             (long long)e->size, HEADER_BYTES);
    TRY(read_integers(path, e, 0, 3, head));
    e->num_data = head[0];
    e->num_pix = head[1];
    e->type = head[2];
    if (head[0] < 1 || head[1] < 1 || head[1] > DETECTOR_MAX_PIXELS || head[2] < 0 || head[2] > 2)
        FAIL(STATUS_INPUT,
             "%s: %d images of %d pixels in an .emc file of type %d; expected 1 or more of both "
             "(pixels up to %d), and type 0, 1 or 2",
             path, head[0], head[1], head[2], DETECTOR_MAX_PIXELS);
    return STATUS_OK;
}

static status check_size(const char *path, const emc_source *e, int64_t wanted)
{
    if (e->size == wanted) return STATUS_OK;
    FAIL(STATUS_INPUT,
         "%s: %lld bytes, but %d images of %d pixels in an .emc file of type %d take %lld (is it "
         "cut short?)",
         path, (long long)e->size, e->num_data, e->num_pix, e->type, (long long)wanted);
}

static status read_sums(const char *path, const emc_source *e, int64_t offset, int64_t *sums)
{
    int32_t *counts = malloc((size_t)e->num_data * sizeof *counts);
    if (!counts) FAIL(STATUS_RESOURCE, "%s: no memory for %d images", path, e->num_data);
    status result = read_integers(path, e, offset, e->num_data, counts);
    sums[0] = 0;
    for (int64_t i = 0; i < e->num_data && result == STATUS_OK; i++) {
        if (counts[i] < 0 || counts[i] > e->num_pix)
            result = FAILED(STATUS_INPUT, "%s: image %lld has %d pixels with photons of its %d",
                            path, (long long)i, counts[i], e->num_pix);
        sums[i + 1] = sums[i] + counts[i];
    }
    free(counts);
    return result;
}

static status read_index(const char *path, emc_source *e)
{
    const int64_t n = e->num_data;
    if (e->type != TYPE_SPARSE) {
        int64_t bytes = e->type == TYPE_INT ? 4 : 8;
        return check_size(path, e, HEADER_BYTES + n * e->num_pix * bytes);
    }
    if (e->size < HEADER_BYTES + 8 * n) return check_size(path, e, HEADER_BYTES + 8 * n);
    e->first_one = malloc(((size_t)n + 1) * sizeof *e->first_one);
    e->first_multi = malloc(((size_t)n + 1) * sizeof *e->first_multi);
    if (!e->first_one || !e->first_multi)
        FAIL(STATUS_RESOURCE, "%s: no memory for %lld images", path, (long long)n);
    TRY(read_sums(path, e, HEADER_BYTES, e->first_one));
    TRY(read_sums(path, e, HEADER_BYTES + 4 * n, e->first_multi));
    return check_size(path, e,
                      HEADER_BYTES + 4 * (2 * n + e->first_one[n] + 2 * e->first_multi[n]));
}

static void close_source(emc_source *e)
{
    if (!e) return;
    if (e->file) fclose(e->file);
    free(e->first_one);
    free(e->first_multi);
    free(e);
}

static status open_source(const char *path, emc_source **opened)
{
    emc_source *e = *opened = calloc(1, sizeof *e);
    if (!e) FAIL(STATUS_RESOURCE, "%s: no memory to read it", path);
    TRY(read_header(path, e));
    return read_index(path, e);
}

static bool emc_recognize(const char *path)
{
    emc_source *e = NULL;
    bool is_emc = open_source(path, &e) == STATUS_OK;
    close_source(e);
    return is_emc;
}

static status emc_open(dataset *ds, const dataset_settings *set)
{
    emc_source *e = NULL;
    status result = open_source(ds->path, &e);
    ds->source = e;
    TRY(result);
    ds->n_images = e->num_data;
    ds->is_sparse = e->type == TYPE_SPARSE;
    const geometry_images images = {ds->path, {1, 1, e->num_pix}, NULL};
    return dataset_locate(ds, set, &images);
}

static void emc_close(dataset *ds)
{
    close_source(ds->source);
}

/* ---- images ---- */

/* The lists of `count` images: pixels with one photon, then pixels with more. */
static status merge_lists(const dataset *ds, int64_t first, int64_t count, int32_t *lists,
                          photon_lists *p)
{
    const emc_source *e = ds->source;
    const int64_t *one = e->first_one + first, *multi = e->first_multi + first;
    const int64_t n_ones = one[count] - one[0], n_multi = multi[count] - multi[0];
    const int64_t places = HEADER_BYTES + 8 * (int64_t)e->num_data,
                  all_ones = e->first_one[e->num_data], all_multi = e->first_multi[e->num_data];
    int32_t *ones = lists, *place = lists + n_ones, *counts = place + n_multi;
    TRY(read_integers(ds->path, e, places + 4 * one[0], n_ones, ones));
    TRY(read_integers(ds->path, e, places + 4 * (all_ones + multi[0]), n_multi, place));
    TRY(read_integers(ds->path, e, places + 4 * (all_ones + all_multi + multi[0]), n_multi,
                      counts));
    int64_t k = 0;
    for (int64_t i = 0; i < count; i++) {
        for (int64_t j = one[i] - one[0]; j < one[i + 1] - one[0]; j++, k++) {
            p->pixel[k] = ones[j];
            p->counts[k] = 1;
        }
        for (int64_t j = multi[i] - multi[0]; j < multi[i + 1] - multi[0]; j++, k++) {
            p->pixel[k] = place[j];
            p->counts[k] = counts[j];
        }
        p->start[i + 1] = k;
    }
    return photon_lists_check(ds->path, first, e->num_pix, p);
}

static status read_sparse(const dataset *ds, int64_t first, int64_t count, photon_lists *p)
{
    const emc_source *e = ds->source;
    const int64_t n_ones = e->first_one[first + count] - e->first_one[first];
    const int64_t n_multi = e->first_multi[first + count] - e->first_multi[first];
    TRY(photon_lists_allocate(ds->path, count, n_ones + n_multi, p));
    int32_t *lists = malloc((size_t)(n_ones + 2 * n_multi + 1) * sizeof *lists);
    status result = lists ? merge_lists(ds, first, count, lists, p)
                          : FAILED(STATUS_RESOURCE, "%s: no memory for photons", ds->path);
    free(lists);
    if (result != STATUS_OK) photon_lists_free(p);
    return result;
}

/* Dense images of the file, piece by piece. */
static status read_dense(const dataset *ds, int64_t first, int64_t count, float *images)
{
    enum { PIECE = 1 << 16 };
    const emc_source *e = ds->source;
    const int64_t bytes = e->type == TYPE_INT ? 4 : 8, n = count * e->num_pix;
    unsigned char *piece = malloc(PIECE * (size_t)bytes);
    if (!piece) FAIL(STATUS_RESOURCE, "%s: no memory for its images", ds->path);
    status result = STATUS_OK;
    for (int64_t done = 0, m; done < n && result == STATUS_OK; done += m) {
        m = n - done < PIECE ? n - done : PIECE;
        result = read_at(ds->path, e, HEADER_BYTES + (first * e->num_pix + done) * bytes, m * bytes,
                         piece);
        for (int64_t i = 0; i < m && result == STATUS_OK; i++) {
            const unsigned char *b = piece + i * bytes;
            uint64_t bits = (uint32_t)little(b);
            double value = (double)little(b);
            if (e->type == TYPE_DOUBLE) {
                bits |= (uint64_t)(uint32_t)little(b + 4) << 32;
                memcpy(&value, &bits, sizeof value);
            }
            images[done + i] = (float)value;
        }
    }
    free(piece);
    return result;
}

static status emc_read(const dataset *ds, int64_t first, int64_t count, float *images)
{
    const emc_source *e = ds->source;
    if (e->type != TYPE_SPARSE) return read_dense(ds, first, count, images);
    photon_lists p;
    TRY(read_sparse(ds, first, count, &p));
    photon_lists_spread(&p, 0, count, e->num_pix, images);
    photon_lists_free(&p);
    return STATUS_OK;
}

const dataset_format dataset_emc = {
    .name = "emc",
    .recognize = emc_recognize,
    .open = emc_open,
    .close = emc_close,
    .read = emc_read,
    .read_photons = read_sparse,
};
