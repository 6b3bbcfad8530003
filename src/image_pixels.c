#include "image_pixels.h"

#include "io_hdf5.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct ranked {
    double radius;
    int64_t index;
} ranked;

static int by_radius(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->radius != y->radius) return x->radius < y->radius ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

status image_pixels_choose(const detector *det, const double *correction, catalogue *k)
{
    ranked *order = malloc((size_t)(det->n_pixels + 1) * sizeof *order);
    if (!order)
        FAIL(STATUS_RESOURCE, "out of host memory for %lld pixels", (long long)det->n_pixels);
    for (int64_t p = 0; p < det->n_pixels; p++) {
        const double *s = det->s + 3 * p;
        if (det->mask[p])
            order[k->n_pixels++] = (ranked){sqrt(s[0] * s[0] + s[1] * s[1] + s[2] * s[2]), p};
    }
    qsort(order, (size_t)k->n_pixels, sizeof *order, by_radius);
    const size_t n = (size_t)k->n_pixels + 1;
    k->pixel = malloc(n * sizeof *k->pixel);
    k->s = malloc(3 * n * sizeof *k->s);
    k->radius = malloc(n * sizeof *k->radius);
    k->correction = malloc(n * sizeof *k->correction);
    const bool fits = k->pixel && k->s && k->radius && k->correction;
    for (int64_t i = 0; fits && i < k->n_pixels; i++) {
        const int64_t p = order[i].index;
        k->pixel[i] = p;
        k->radius[i] = order[i].radius;
        k->correction[i] = correction ? correction[p] : 1;
        memcpy(k->s + 3 * i, det->s + 3 * p, 3 * sizeof *k->s);
    }
    free(order);
    if (!fits) FAIL(STATUS_RESOURCE, "out of host memory for %lld pixels", (long long)k->n_pixels);
    if (k->n_pixels == 0)
        FAIL(STATUS_INPUT, "the masks leave none of the %lld pixels; unmask some (data.mask_file)",
             (long long)det->n_pixels);
    return STATUS_OK;
}

status image_pixels_mask(const config *cfg, dataset *file)
{
    const char *path = cfg->data.mask_file;
    const int64_t *dims = file->det->shape;
    h5_reader *reader = NULL;
    h5_shape shape;
    uint8_t *mask = NULL;
    if (!*path) return STATUS_OK;
    TRY(h5_open(path, &reader));
    status result = h5_get_shape(reader, "/mask", &shape);
    const int skip = result == STATUS_OK && shape.rank == 2 && dims[0] == 1;
    if (result == STATUS_OK && !(mask = malloc((size_t)file->n_pixels)))
        result = FAILED(STATUS_RESOURCE, "out of host memory");
    if (result == STATUS_OK)
        result = h5_read(reader, "/mask", H5_UINT8, 3 - skip, dims + skip, mask);
    for (int64_t p = 0; result == STATUS_OK && p < file->n_pixels; p++)
        file->det->mask[p] = file->det->mask[p] && mask[p];
    free(mask);
    h5_close(reader);
    return result;
}
