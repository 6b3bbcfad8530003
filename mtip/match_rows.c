#include "mtip/match_rows.h"

#include <stdlib.h>
#include <string.h>

#include "core/integer.h"

/* Rows that go to the device at once. */
enum { UPLOAD_ROWS = 4096 };

/* -- counts to rows -- */

/* Images first .. first+count-1 as rows: where they are, or spread into *spread. */
static const float *rows_of(const match_source *counts, int64_t first, int64_t count,
                            int64_t n_pixels, float *spread)
{
    if (counts->rows) return counts->rows + first * n_pixels;
    photon_lists_spread(counts->lists, first, count, n_pixels, spread);
    return spread;
}

/* Piece by piece through `piece` rows on the device, and as many on the host for lists. */
static status store_pieces(const device *dev, const match_options *o, const match_source *counts,
                           const void *weights, int64_t piece, const image_rows *rows)
{
    const image_kernels *products = image_kernels_of(dev, o->precision);
    const int64_t row_bytes = o->n_pixels * (int64_t)sizeof(float);
    float *spread = NULL;
    void *on_device;
    TRY(device_alloc(dev, piece * row_bytes, &on_device));
    status result = STATUS_OK;
    if (!counts->rows && !(spread = malloc((size_t)(piece * row_bytes) + 1)))
        result = FAILED(STATUS_RESOURCE, "out of host memory for %lld images", (long long)piece);
    for (int64_t first = 0; first < o->n_images && result == STATUS_OK; first += piece) {
        const int64_t count = smaller(piece, o->n_images - first);
        const image_rows part = image_rows_part(rows, o->precision, first, count);
        result = device_from_host(
            dev, on_device, rows_of(counts, first, count, o->n_pixels, spread), count * row_bytes);
        if (result == STATUS_OK) result = products->store(dev, on_device, weights, &part);
    }
    free(spread);
    device_free(dev, on_device);
    return result;
}

static status create_rows(const device *dev, const match_options *o, const match_source *counts,
                          const void *weights, image_rows *rows)
{
    const int64_t bytes = rows->n_rows * image_row_bytes(rows, o->precision);
    TRY(device_alloc(dev, bytes, &rows->data));
    TRY(device_zero(dev, rows->data, bytes));
    return store_pieces(dev, o, counts, weights, smaller(o->n_images, UPLOAD_ROWS), rows);
}

/* -- counts to lists -- */

/* Lists in the order of the pixels: what a row says, from its first pixel on. */
static void sort_lists(const photon_lists *lists, int64_t n_pixels, int64_t n_rows, float *row,
                       int64_t *start, int32_t *pixel, double *value)
{
    int64_t used = 0;
    for (int64_t i = 0; i < n_rows; i++) {
        start[i] = used;
        if (i >= lists->n_images) continue;
        photon_lists_spread(lists, i, 1, n_pixels, row);
        for (int64_t p = 0; p < n_pixels; p++) {
            if (row[p] == 0) continue;
            pixel[used] = (int32_t)p;
            value[used++] = (double)row[p];
        }
    }
    start[n_rows] = used;
}

static status upload_lists(const device *dev, precision p, int64_t n_rows, const int64_t *start,
                           const int32_t *pixel, const double *value, image_rows *rows)
{
    const int64_t n = rows->n_entries = start[n_rows],
                  start_bytes = (n_rows + 1) * (int64_t)sizeof *start;
    TRY(device_alloc(dev, start_bytes, &rows->data));
    TRY(device_alloc(dev, n * (int64_t)sizeof *pixel, (void **)&rows->pixel));
    TRY(device_alloc(dev, real_bytes(p, n), &rows->value));
    TRY(device_from_host(dev, rows->data, start, start_bytes));
    TRY(device_from_host(dev, rows->pixel, pixel, n * (int64_t)sizeof *pixel));
    return device_from_doubles(dev, p, n, value, rows->value);
}

static status create_lists(const device *dev, const match_options *o, const photon_lists *lists,
                           image_rows *rows)
{
    const size_t n = (size_t)lists->start[lists->n_images] + 1;
    int64_t *start = malloc((size_t)(rows->n_rows + 1) * sizeof *start);
    int32_t *pixel = malloc(n * sizeof *pixel);
    double *value = malloc(n * sizeof *value);
    float *row = malloc((size_t)(o->n_pixels + 1) * sizeof *row);
    status result = STATUS_OK;
    if (start && pixel && value && row) {
        sort_lists(lists, o->n_pixels, rows->n_rows, row, start, pixel, value);
        result = upload_lists(dev, o->precision, rows->n_rows, start, pixel, value, rows);
    } else {
        result = FAILED(STATUS_RESOURCE, "out of host memory for %lld photons", (long long)n);
    }
    free(start);
    free(pixel);
    free(value);
    free(row);
    return result;
}

status match_rows_create(const device *dev, const match_options *options,
                         const match_source *counts, row_format format, int64_t n_rows,
                         const void *weights, image_rows *rows)
{
    const int64_t n = options->n_pixels;
    *rows = (image_rows){.format = format,
                         .n_rows = n_rows,
                         .n_pixels = n,
                         .stride = format == ROWS_HALF ? (n + 7) / 8 * 8 : n};
    return format == ROWS_LISTS ? create_lists(dev, options, counts->lists, rows)
                                : create_rows(dev, options, counts, weights, rows);
}

void match_rows_free(const device *dev, image_rows *rows)
{
    device_free(dev, rows->data);
    device_free(dev, rows->pixel);
    device_free(dev, rows->value);
    *rows = (image_rows){0};
}

int64_t match_rows_bytes(const image_rows *rows, precision p)
{
    const int64_t each = (int64_t)sizeof *rows->pixel + real_bytes(p, 1);
    return rows->n_rows * image_row_bytes(rows, p) + rows->n_entries * each;
}

static bool rows_fit_halves(const device *dev, const float *counts, int64_t n)
{
    int misfit = 0;
#pragma omp parallel for num_threads(device_threads(dev)) schedule(static) reduction(| : misfit)
    for (int64_t i = 0; i < n; i++) /* branch free, so that it vectorises */
        misfit |=
            !(counts[i] >= 0) | !(counts[i] <= HALF_LARGEST) | (counts[i] != (float)(int)counts[i]);
    return !misfit;
}

bool match_rows_fit_halves(const device *dev, const match_options *options,
                           const match_source *counts)
{
    if (counts->rows)
        return rows_fit_halves(dev, counts->rows, options->n_images * options->n_pixels);
    const photon_lists *lists = counts->lists;
    for (int64_t k = 0; k < lists->start[lists->n_images]; k++)
        if (lists->counts[k] > HALF_LARGEST) return false;
    return true;
}
