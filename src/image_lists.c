#include "image_lists.h"

#include "core/integer.h"

#include <stdlib.h>
#include <string.h>

/* Images read at once; looks at so many places of a file, images of a look. */
enum { CHUNK = 256, LOOKS = 8, LOOK_IMAGES = 32 };

bool image_lists_wanted(const catalogue *k)
{
    return k->file && dataset_is_sparse(k->file) && !k->scatter;
}

/* The catalogue's number of each pixel of the file, -1 where it is masked. */
static status number_pixels(const catalogue *k, int32_t **number)
{
    *number = malloc((size_t)k->file->n_pixels * sizeof **number);
    if (!*number) FAIL(STATUS_RESOURCE, "out of host memory");
    for (int64_t p = 0; p < k->file->n_pixels; p++)
        (*number)[p] = -1;
    for (int64_t i = 0; i < k->n_pixels; i++)
        (*number)[k->pixel[i]] = (int32_t)i;
    return STATUS_OK;
}

/* Room for n more entries at the end of lists, which have `used` of them. */
static status reserve(photon_lists *lists, int64_t used, int64_t n, int64_t *capacity)
{
    if (used + n <= *capacity) return STATUS_OK;
    const int64_t larger = used + n > 2 * *capacity ? used + n : 2 * *capacity;
    int32_t *pixel = realloc(lists->pixel, (size_t)larger * sizeof *pixel);
    if (pixel) lists->pixel = pixel;
    int32_t *counts = realloc(lists->counts, (size_t)larger * sizeof *counts);
    if (counts) lists->counts = counts;
    if (!pixel || !counts)
        FAIL(STATUS_RESOURCE, "out of host memory for %lld photons", (long long)larger);
    *capacity = larger;
    return STATUS_OK;
}

/* Appends image i of read as the next image of lists. */
static status append(const photon_lists *read, int64_t i, const int32_t *number,
                     photon_lists *lists, int64_t *capacity)
{
    int64_t used = lists->start[lists->n_images];
    TRY(reserve(lists, used, read->start[i + 1] - read->start[i], capacity));
    for (int64_t j = read->start[i]; j < read->start[i + 1]; j++) {
        const int32_t p = number[read->pixel[j]];
        if (p < 0) continue;
        lists->pixel[used] = p;
        lists->counts[used++] = read->counts[j];
    }
    lists->start[++lists->n_images] = used;
    return STATUS_OK;
}

/* A run of the file's images is read at once, however many of them are wanted. */
static status read_runs(const catalogue *k, const int64_t *source, int64_t n, const int32_t *number,
                        photon_lists *lists)
{
    int64_t capacity = 0;
    for (int64_t i = 0; i < n;) {
        const int64_t from = source[i], start = i;
        photon_lists read;
        while (i < n && source[i] < from + CHUNK)
            i++;
        TRY(dataset_read_photons(k->file, from, source[i - 1] - from + 1, &read));
        status result = STATUS_OK;
        for (int64_t j = start; j < i && result == STATUS_OK; j++)
            result = append(&read, source[j] - from, number, lists, &capacity);
        photon_lists_free(&read);
        TRY(result);
    }
    return STATUS_OK;
}

status image_lists_read(const catalogue *k, const int64_t *source, int64_t n, photon_lists *lists)
{
    int32_t *number = NULL;
    *lists = (photon_lists){.start = calloc((size_t)n + 1, sizeof *lists->start)};
    status result =
        lists->start ? number_pixels(k, &number) : FAILED(STATUS_RESOURCE, "out of host memory");
    if (result == STATUS_OK) result = read_runs(k, source, n, number, lists);
    free(number);
    if (result != STATUS_OK) photon_lists_free(lists);
    return result;
}

/* Adds the photons of a look. */
static status look_at(const catalogue *k, const int32_t *number, int64_t first, int64_t count,
                      photon_means *sums)
{
    photon_lists read;
    TRY(dataset_read_photons(k->file, first, count, &read));
    for (int64_t j = 0; j < read.start[read.n_images]; j++) {
        if (number[read.pixel[j]] < 0) continue;
        sums->pixels += 1;
        sums->photons += read.counts[j];
    }
    photon_lists_free(&read);
    return STATUS_OK;
}

status image_lists_means(const catalogue *k, photon_means *means)
{
    status result = STATUS_OK;
    int32_t *number = NULL;
    int64_t seen = 0;
    *means = (photon_means){0, 0};
    if (!image_lists_wanted(k)) return STATUS_OK;
    TRY(number_pixels(k, &number));
    for (int64_t i = 0; i < LOOKS && result == STATUS_OK; i++) {
        const int64_t first = k->file->n_images * i / LOOKS,
                      count = smaller(LOOK_IMAGES, k->file->n_images * (i + 1) / LOOKS - first);
        result = look_at(k, number, first, count, means);
        seen += count;
    }
    free(number);
    means->pixels /= (double)seen;
    means->photons /= (double)seen;
    return result;
}
