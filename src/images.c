#include "images.h"

#include "blacklist.h"
#include "core/checksum.h"
#include "core/host_memory.h"
#include "core/integer.h"
#include "core/median.h"
#include "image_lists.h"
#include "image_means.h"
#include "image_pixels.h"
#include "mtip/match.h"
#include "text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Images moved at once between file, ranks and arrays. */
enum { CHUNK = 256 };

/* An image with this many times the photons of the median image is no image of the particle. */
const double images_too_bright = 1000;

/* -- reading -- */

/* Images first .. first+count-1 of the file, the used pixels of each: rank `to` gets them in rows,
   read by itself or by rank 0. Collective in scatter mode. */
static status read_rows(const catalogue *k, comm *c, int64_t first, int64_t count, int to,
                        float *whole, float *rows)
{
    const int64_t n = k->file->n_pixels;
    const int reader = k->scatter ? 0 : to, rank = comm_rank(c);
    status result = STATUS_OK;
    if (rank == reader) result = dataset_read(k->file, first, count, whole);
    if (k->scatter) {
        TRY(comm_agree(c, result));
        if (to != 0) TRY(comm_send(c, whole, count * n, COMM_SINGLE, 0, to));
    }
    TRY(result);
    if (rank != to) return STATUS_OK;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < count; i++)
        for (int64_t p = 0; p < k->n_pixels; p++)
            rows[i * k->n_pixels + p] = whole[i * n + k->pixel[p]];
    if (k->store) image_store_put(k->store, first, count, rows);
    return STATUS_OK;
}

/* What is kept of a look at each image. */
typedef struct looks {
    double *photons; /* NAN if a pixel is not a count */
    double *pattern; /* pixels weighted differently: the same number for the same image only */
} looks;

static void look_at(const float *row, int64_t n, double *photons, double *pattern)
{
    const uint32_t golden = 2654435769; /* 2^32 times the golden ratio's fraction */
    double sum = 0, weighted = 0;
    for (int64_t p = 0; p < n; p++) {
        const double count = isfinite(row[p]) && row[p] >= 0 ? (double)row[p] : NAN;
        sum += count;
        weighted += count * (1 + 0x1p-32 * (double)(golden * (uint32_t)p));
    }
    *photons = sum;
    *pattern = weighted;
}

/* The chunks of first..last dealt to ranks, to each its share; the looks at all images on all ranks. */
static status look_at_all(const catalogue *k, comm *c, int64_t first, int64_t count, looks *seen)
{
    status result = STATUS_OK;
    float *whole = malloc((size_t)(CHUNK * k->file->n_pixels) * sizeof *whole);
    float *rows = malloc((size_t)(CHUNK * k->n_pixels) * sizeof *rows);
    if (!whole || !rows) result = FAILED(STATUS_RESOURCE, "out of host memory");
    if (k->scatter) TRY_OR(done, comm_agree(c, result));
    for (int64_t at = 0; at < count && result == STATUS_OK; at += CHUNK) {
        const int64_t n = smaller(CHUNK, count - at);
        const int to = (int)(at * comm_size(c) / count);
        if (!k->scatter && to != comm_rank(c)) continue;
        result = read_rows(k, c, first + at, n, to, whole, rows);
        if (result != STATUS_OK || to != comm_rank(c)) continue;
#pragma omp parallel for schedule(static)
        for (int64_t i = 0; i < n; i++)
            look_at(rows + i * k->n_pixels, k->n_pixels, seen->photons + at + i,
                    seen->pattern + at + i);
    }
done:
    free(whole);
    free(rows);
    TRY(comm_agree(c, result));
    TRY(comm_sum(c, seen->photons, count, COMM_DOUBLE));
    return comm_sum(c, seen->pattern, count, COMM_DOUBLE);
}

/* The median of the photons of images that have any; 0 if none has. */
static double median_photons(const double *photons, int64_t count, double *lit)
{
    int64_t n = 0;
    for (int64_t i = 0; i < count; i++)
        if (photons[i] > 0) lit[n++] = photons[i];
    return n > 0 ? median_upper(n, lit) : 0;
}

static bool is_unwanted(const catalogue *k, int64_t image)
{
    return k->unwanted && k->unwanted[image];
}

static image_fate fate_of(const catalogue *k, int64_t image, double photons, double median)
{
    if (is_unwanted(k, image)) return IMAGE_UNWANTED;
    if (isnan(photons)) return IMAGE_BAD;
    if (!(photons > 0)) return IMAGE_DARK;
    return photons > images_too_bright * median ? IMAGE_BRIGHT : IMAGE_USED;
}

static void sort_images(catalogue *k, const double *photons, double median)
{
    int64_t *const left_out[N_IMAGE_FATES] = {NULL, &k->n_unwanted, &k->n_bad, &k->n_dark,
                                              &k->n_bright};
    for (int64_t i = 0; i < k->n_seen; i++) {
        k->fate[i] = (uint8_t)fate_of(k, k->first + i, photons[i], median);
        if (k->fate[i] == IMAGE_USED)
            k->usable[k->n_usable++] = k->first + i;
        else
            *left_out[k->fate[i]] += 1;
    }
}

static status check_fractions(const config *cfg, const catalogue *k, const double *photons,
                              int64_t first, int64_t count)
{
    int64_t worst = 0;
    while (worst < count && (!isnan(photons[worst]) || is_unwanted(k, first + worst)))
        worst++;
    if (cfg->data.strict && k->n_bad > 0)
        FAIL(STATUS_INPUT,
             "%s: %lld image%s with a NaN, infinite or negative pixel, image %lld is the first; "
             "mend them, mask the pixel, or set data.strict: false to leave them out",
             cfg->data.file, (long long)k->n_bad, text_plural(k->n_bad),
             (long long)(first + worst));
    if ((double)(k->n_bad + k->n_dark + k->n_bright) > cfg->data.max_bad_fraction * (double)count)
        FAIL(STATUS_INPUT,
             "%s: %lld of %lld images have no photons, %lld more than %g times those of the median "
             "image, and %lld a NaN, infinite or negative pixel; more than data.max_bad_fraction = "
             "%g of them: mask the pixels (data.mask_file), choose other images, or raise it",
             cfg->data.file, (long long)k->n_dark, (long long)count, (long long)k->n_bright,
             images_too_bright, (long long)k->n_bad, cfg->data.max_bad_fraction);
    if (k->n_usable < 2)
        FAIL(STATUS_INPUT,
             "%s: usable images: %lld of %lld from data.first = %lld on; the two halves need one "
             "each",
             cfg->data.file, (long long)k->n_usable, (long long)count, (long long)first);
    return STATUS_OK;
}

/* Whether images usable[part], usable[part + parts], .. are more than one and all the same. */
static bool are_alike(const catalogue *k, const double *pattern, int64_t first, int part, int parts)
{
    int64_t i = part + parts;
    if (i >= k->n_usable) return false;
    const double one = pattern[k->usable[part] - first];
    while (i < k->n_usable && fabs(pattern[k->usable[i] - first] - one) <= 1e-7 * one)
        i += parts;
    return i >= k->n_usable;
}

/* Images that do not differ have no orientations to be found. */
static status check_variety(const catalogue *k, const double *pattern, int64_t first)
{
    const bool all = are_alike(k, pattern, first, 0, 1);
    if (all || are_alike(k, pattern, first, 0, 2) || are_alike(k, pattern, first, 1, 2))
        FAIL(STATUS_INPUT,
             "%s: all images%s are the same; check data.dataset, data.first and "
             "data.images",
             k->file->path, all ? "" : " of a half");
    return STATUS_OK;
}

static status check_window(const config *cfg, const catalogue *k)
{
    const int64_t first = cfg->data.first, held = k->file->n_images;
    if (first >= held)
        return config_fail(cfg, &cfg->data.first, "is %lld, but %s holds %lld image%s; lower it",
                           (long long)first, cfg->data.file, (long long)held, text_plural(held));
    if (cfg->data.images > held - first)
        return config_fail(cfg, &cfg->data.images,
                           "is %lld, but %s holds %lld image%s from data.first %lld on; lower it",
                           (long long)cfg->data.images, cfg->data.file, (long long)(held - first),
                           text_plural(held - first), (long long)first);
    return STATUS_OK;
}

static status choose_images(const config *cfg, comm *c, catalogue *k)
{
    TRY(comm_agree(c, check_window(cfg, k)));
    const int64_t first = cfg->data.first;
    int64_t count = k->file->n_images - first;
    if (cfg->data.images > 0) count = cfg->data.images;
    const size_t n = (size_t)count;
    looks seen = {calloc(n, sizeof *seen.photons), calloc(n, sizeof *seen.pattern)};
    double *sorted = malloc(n * sizeof *sorted);
    k->first = first;
    k->n_seen = count;
    k->usable = calloc(n, sizeof *k->usable);
    k->fate = calloc(n, sizeof *k->fate);
    status result = STATUS_OK;
    if (!seen.photons || !seen.pattern || !sorted || !k->usable || !k->fate)
        result = FAILED(STATUS_RESOURCE, "out of host memory for %lld images", (long long)count);
    TRY_OR(done, comm_agree(c, result));
    TRY_OR(done, look_at_all(k, c, first, count, &seen));
    sort_images(k, seen.photons, median_photons(seen.photons, count, sorted));
    TRY_OR(done, comm_agree(c, check_fractions(cfg, k, seen.photons, first, count)));
    TRY_OR(done, comm_agree(c, check_variety(k, seen.pattern, first)));
    k->checksum = checksum(k->s, (size_t)(3 * k->n_pixels) * sizeof *k->s);
    k->checksum = checksum_add(k->checksum, seen.photons, n * sizeof *seen.photons);
    k->checksum = checksum_add(k->checksum, seen.pattern, n * sizeof *seen.pattern);
done:
    free(seen.photons);
    free(seen.pattern);
    free(sorted);
    return result;
}

/* Room for the images that this rank reads, in a part of the memory that is free for it; images that
   come from rank 0 or stay lists are not kept. */
static void keep_images(comm *c, catalogue *k)
{
    if (k->scatter || dataset_is_sparse(k->file)) return;
    const int64_t most = host_memory_free("") / 8 / comm_node_size(c);
    k->store = image_store_create(k->file->n_images, k->n_pixels, most);
}

/* A map needs more than one point of Fourier space. */
static status check_positions(const catalogue *k)
{
    for (int64_t i = 3; i < 3 * k->n_pixels; i++)
        if (k->s[i] != k->s[i % 3]) return STATUS_OK;
    FAIL(
        STATUS_INPUT,
        "%s: all of the pixels to use (%lld of %lld) are at one position, (%g, %g, %g) 1/A; unmask "
        "more (data.mask_file), or mend '/pixel_position_reciprocal'",
        k->file->path, (long long)k->n_pixels, (long long)k->file->n_pixels, k->s[0], k->s[1],
        k->s[2]);
}

static status open_file(const config *cfg, comm *c, catalogue *k)
{
    k->scatter = cfg->parallel.read == CONFIG_READ_SCATTER;
    const dataset_settings settings = dataset_settings_of(cfg);
    TRY(dataset_open(&settings, &k->file));
    TRY(image_pixels_mask(cfg, k->file));
    if (*cfg->data.blacklist)
        TRY(blacklist_read(cfg->data.blacklist, k->file->n_images, &k->unwanted));
    TRY(image_pixels_choose(k->file->det, k->file->correction, k));
    TRY(check_positions(k));
    keep_images(c, k);
    return STATUS_OK;
}

status catalogue_create(const config *cfg, comm *c, catalogue **created)
{
    *created = NULL;
    status result = STATUS_OK;
    catalogue *k = calloc(1, sizeof *k);
    TRY_OR(fail,
           comm_agree(c, k ? open_file(cfg, c, k) : FAILED(STATUS_RESOURCE, "out of host memory")));
    TRY_OR(fail, choose_images(cfg, c, k));
    *created = k;
    return STATUS_OK;
fail:
    catalogue_destroy(k);
    return result;
}

int64_t catalogue_pixels_within(const catalogue *k, double fraction)
{
    const double limit = fraction * k->radius[k->n_pixels - 1] * (1 + 1e-9);
    int64_t n = 0;
    while (n < k->n_pixels && k->radius[n] <= limit)
        n++;
    return larger(n, 1);
}

void catalogue_destroy(catalogue *k)
{
    if (!k) return;
    dataset_close(k->file);
    image_store_destroy(k->store);
    free(k->unwanted);
    free(k->usable);
    free(k->fate);
    free(k->pixel);
    free(k->s);
    free(k->radius);
    free(k->correction);
    free(k);
}

/* -- sets -- */

status images_divide(images *set, const comm *c)
{
    const int ranks = comm_size(c);
    const int64_t blocks = (set->n + MATCH_BLOCK - 1) / MATCH_BLOCK;
    set->per_rank = calloc((size_t)ranks, sizeof *set->per_rank);
    if (!set->per_rank) FAIL(STATUS_RESOURCE, "out of host memory");
    for (int r = 0; r < ranks; r++) {
        int64_t from = smaller(blocks * r / ranks * MATCH_BLOCK, set->n);
        int64_t to = smaller(blocks * (r + 1) / ranks * MATCH_BLOCK, set->n);
        set->per_rank[r] = to - from;
        if (r == comm_rank(c)) set->first = from;
    }
    set->n_local = set->per_rank[comm_rank(c)];
    return STATUS_OK;
}

static status allocate(images *set, bool sparse)
{
    const size_t n = (size_t)set->n_pixels + 1;
    if (!sparse) set->counts = calloc(((size_t)set->n_local + 1) * n, sizeof *set->counts);
    set->mean = calloc(n, sizeof *set->mean);
    set->square = calloc(n, sizeof *set->square);
    if ((!sparse && !set->counts) || !set->mean || !set->square)
        FAIL(STATUS_RESOURCE, "out of host memory for %lld images of %lld pixels",
             (long long)set->n_local, (long long)set->n_pixels);
    return STATUS_OK;
}

/* Images of this rank that it has read before. */
static void take_kept(const catalogue *k, images *set)
{
    const int64_t *source = set->source + set->first;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < set->n_local; i++)
        if (image_store_has(k->store, source[i]))
            image_store_get(k->store, source[i], set->counts + i * k->n_pixels);
}

/* Reads rank r's other images: a run of the file's images is read at once, however many of them
   belong to the set. Collective in scatter mode. */
static status read_rank(const catalogue *k, comm *c, images *set, int r, int64_t first)
{
    status result = STATUS_OK;
    float *whole = malloc((size_t)(CHUNK * k->file->n_pixels) * sizeof *whole);
    float *rows = malloc((size_t)(CHUNK * k->n_pixels) * sizeof *rows);
    if (!whole || !rows) result = FAILED(STATUS_RESOURCE, "out of host memory");
    if (k->scatter) result = comm_agree(c, result);
    const size_t row = (size_t)k->n_pixels;
    const int64_t last = first + set->per_rank[r];
    for (int64_t i = first; i < last && result == STATUS_OK;) {
        const int64_t from = set->source[i], start = i++;
        if (image_store_has(k->store, from)) continue;
        while (i < last && set->source[i] < from + CHUNK &&
               !image_store_has(k->store, set->source[i]))
            i++;
        TRY_OR(done, read_rows(k, c, from, set->source[i - 1] - from + 1, r, whole, rows));
        for (int64_t j = start; j < i && r == comm_rank(c); j++)
            memcpy(set->counts + (size_t)(j - first) * row,
                   rows + (size_t)(set->source[j] - from) * row, row * sizeof *rows);
    }
done:
    free(whole);
    free(rows);
    return result;
}

static status read_all(const catalogue *k, comm *c, images *set)
{
    int64_t first = 0;
    if (!set->counts)
        return image_lists_read(k, set->source + set->first, set->n_local, &set->lists);
    take_kept(k, set);
    for (int r = 0; r < comm_size(c); r++) {
        if (k->scatter || r == comm_rank(c)) TRY(read_rank(k, c, set, r, first));
        first += set->per_rank[r];
    }
    return STATUS_OK;
}

/* Which images, and room for those of this rank. */
static status choose_part(const catalogue *k, const comm *c, int parts, int part, images *set)
{
    set->n_pixels = k->n_pixels;
    set->source = calloc((size_t)k->n_usable, sizeof *set->source);
    if (!set->source) FAIL(STATUS_RESOURCE, "out of host memory");
    for (int64_t i = part; i < k->n_usable; i += parts)
        set->source[set->n++] = k->usable[i];
    TRY(images_divide(set, c));
    return allocate(set, image_lists_wanted(k));
}

status images_load(const catalogue *k, comm *c, int parts, int part, images **created)
{
    *created = NULL;
    status result = STATUS_OK;
    images *set = calloc(1, sizeof *set);
    TRY_OR(fail, comm_agree(c, set ? choose_part(k, c, parts, part, set)
                                   : FAILED(STATUS_RESOURCE, "out of host memory")));
    TRY_OR(fail, comm_agree(c, read_all(k, c, set)));
    TRY_OR(fail, image_means(set, c));
    *created = set;
    return STATUS_OK;
fail:
    images_destroy(set);
    return result;
}

void images_row(const images *set, int64_t i, float *row)
{
    const int64_t n = set->n_pixels;
    if (set->counts)
        memcpy(row, set->counts + i * n, (size_t)n * sizeof *row);
    else
        photon_lists_spread(&set->lists, i, 1, n, row);
}

void images_destroy(images *set)
{
    if (!set) return;
    free(set->source);
    free(set->counts);
    photon_lists_free(&set->lists);
    free(set->per_rank);
    free(set->mean);
    free(set->square);
    free(set);
}
