/* A text file that names image files, one a line, relative to its own folder; '#' begins a comment.
   A name may be followed by that of the images in an HDF5 file.  All have the same pixels; the
   images count through. */
#include "dataset_format.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "array.h"
#include "text_file.h"

enum { MAX_FILES = 100000, PATH_SIZE = 2 * CONFIG_TEXT_SIZE };

typedef struct listed {
    dataset *file;
    int64_t first; /* number of its first image */
} listed;

typedef struct list_source {
    listed *files;
    int64_t n, capacity;
} list_source;

/* The path of a line, and what follows it. */
static bool split_line(const char *list, char *line, char path[PATH_SIZE], const char **images)
{
    size_t n = strcspn(line, " \t");
    *images = line + n + strspn(line + n, " \t");
    line[n] = 0;
    if (**images) *images = text_trim(line + n + 1);
    const char *slash = strrchr(list, '/');
    int folder = *line != '/' && slash ? (int)(slash - list) + 1 : 0;
    return snprintf(path, PATH_SIZE, "%.*s%s", folder, list, line) < PATH_SIZE;
}

static bool list_recognize(const char *list)
{
    char begin[8192], path[PATH_SIZE];
    if (text_begin(list, begin, sizeof begin - 1) == 0) return false;
    text_lines lines = {begin, 0};
    for (char *line; (line = text_next_line(&lines, "#"));) {
        const char *images;
        if (!*line) continue;
        return split_line(list, line, path, &images) && access(path, R_OK) == 0;
    }
    return false;
}

static status check_same(const dataset *ds, const dataset *first, const dataset *other)
{
    const detector *a = first->det, *b = other->det;
    const size_t n = (size_t)a->n_pixels;
    bool same = a->n_pixels == b->n_pixels && !a->s == !b->s && memcmp(a->mask, b->mask, n) == 0 &&
                memcmp(a->solid_angle, b->solid_angle, n * sizeof(double)) == 0 &&
                memcmp(a->polarization, b->polarization, n * sizeof(double)) == 0;
    same = same && (!a->s || memcmp(a->s, b->s, 3 * n * sizeof(double)) == 0);
    if (!same)
        FAIL(STATUS_INPUT, "%s: %s and %s have different pixels (number, place, factor or mask)",
             ds->path, first->path, other->path);
    return STATUS_OK;
}

static status add_file(dataset *ds, const dataset_settings *set, const char *path,
                       const char *images)
{
    list_source *source = ds->source;
    dataset_settings own = *set;
    own.path = path;
    if (*images) own.images = images;
    own.clip = own.bin = 0;
    own.units_per_photon = 1;
    if (source->n == MAX_FILES) FAIL(STATUS_INPUT, "more than %d files", MAX_FILES);
    if (list_recognize(path)) FAIL(STATUS_INPUT, "%s is a list itself", path);
    own.format = CONFIG_FORMAT_AUTO;
    TRY(array_grow((void **)&source->files, &source->capacity, source->n, sizeof *source->files));
    listed *new = &source->files[source->n];
    TRY(dataset_open(&own, &new->file));
    new->first = ds->n_images;
    ds->n_images += new->file->n_images;
    source->n++;
    return check_same(ds, source->files[0].file, new->file);
}

static status add_files(dataset *ds, const dataset_settings *set, char *text)
{
    text_lines lines = {0};
    lines.at = text;
    for (char *line; (line = text_next_line(&lines, "#"));) {
        char path[PATH_SIZE];
        const char *images;
        if (!*line) continue;
        status result = split_line(ds->path, line, path, &images)
                            ? add_file(ds, set, path, images)
                            : FAILED(STATUS_INPUT, "a path of %zu characters", strlen(line));
        TRY(status_prefix(result, "%s:%lld", ds->path, (long long)lines.number));
    }
    return STATUS_OK;
}

/* The detector of the first file becomes that of the list. */
static status take_detector(dataset *ds)
{
    list_source *source = ds->source;
    if (source->n == 0) FAIL(STATUS_INPUT, "%s: names no files", ds->path);
    ds->is_sparse = true;
    for (int64_t i = 0; i < source->n; i++)
        ds->is_sparse = ds->is_sparse && dataset_is_sparse(source->files[i].file);
    ds->det = source->files[0].file->det;
    source->files[0].file->det = NULL;
    return STATUS_OK;
}

static status list_open(dataset *ds, const dataset_settings *set)
{
    char *text = NULL;
    size_t size;
    ds->source = calloc(1, sizeof(list_source));
    if (!ds->source) FAIL(STATUS_RESOURCE, "%s: no memory to read it", ds->path);
    TRY(text_load(ds->path, &text, &size));
    status result = add_files(ds, set, text);
    free(text);
    TRY(result);
    return take_detector(ds);
}

static void list_close(dataset *ds)
{
    list_source *source = ds->source;
    if (!source) return;
    for (int64_t i = 0; i < source->n; i++)
        dataset_close(source->files[i].file);
    free(source->files);
    free(source);
}

/* The file that holds an image, and how many of `count` it has from there on. */
static const dataset *file_of(const dataset *ds, int64_t image, int64_t count, int64_t *first,
                              int64_t *n)
{
    const list_source *source = ds->source;
    int64_t low = 0, high = source->n - 1;
    while (low < high) {
        int64_t middle = (low + high + 1) / 2;
        if (source->files[middle].first <= image)
            low = middle;
        else
            high = middle - 1;
    }
    *first = image - source->files[low].first;
    *n = source->files[low].file->n_images - *first;
    if (*n > count) *n = count;
    return source->files[low].file;
}

static status list_read(const dataset *ds, int64_t first, int64_t count, float *images)
{
    const int64_t *stored = ds->stored_shape, n_pixels = stored[0] * stored[1] * stored[2];
    for (int64_t done = 0, from, n; done < count; done += n) {
        const dataset *file = file_of(ds, first + done, count - done, &from, &n);
        TRY(dataset_read(file, from, n, images + done * n_pixels));
    }
    return STATUS_OK;
}

/* Appends lists to lists. */
static status join(const char *path, const photon_lists *more, photon_lists *p)
{
    photon_lists both;
    const int64_t n = p->n_images > 0 ? p->start[p->n_images] : 0;
    const size_t n_more = (size_t)more->start[more->n_images];
    TRY(photon_lists_allocate(path, p->n_images + more->n_images, n + (int64_t)n_more, &both));
    if (p->n_images > 0) {
        memcpy(both.start, p->start, (size_t)p->n_images * sizeof *both.start);
        memcpy(both.pixel, p->pixel, (size_t)n * sizeof *both.pixel);
        memcpy(both.counts, p->counts, (size_t)n * sizeof *both.counts);
    }
    for (int64_t i = 0; i <= more->n_images; i++)
        both.start[p->n_images + i] = n + more->start[i];
    memcpy(both.pixel + n, more->pixel, n_more * sizeof *both.pixel);
    memcpy(both.counts + n, more->counts, n_more * sizeof *both.counts);
    photon_lists_free(p);
    *p = both;
    return STATUS_OK;
}

static status list_read_photons(const dataset *ds, int64_t first, int64_t count, photon_lists *p)
{
    status result = STATUS_OK;
    for (int64_t done = 0, from, n; done < count && result == STATUS_OK; done += n) {
        const dataset *file = file_of(ds, first + done, count - done, &from, &n);
        photon_lists part;
        result = dataset_read_photons(file, from, n, &part);
        if (result != STATUS_OK) break;
        result = join(ds->path, &part, p);
        photon_lists_free(&part);
    }
    if (result != STATUS_OK) photon_lists_free(p);
    return result;
}

const dataset_format dataset_list = {
    .name = "list",
    .recognize = list_recognize,
    .open = list_open,
    .close = list_close,
    .read = list_read,
    .read_photons = list_read_photons,
};
