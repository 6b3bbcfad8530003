#include "image_store.h"

#include <stdlib.h>
#include <string.h>

typedef struct kept {
    void *values; /* NULL: not kept */
    int size;     /* bytes of a value */
} kept;

struct image_store {
    int64_t n_images, n_pixels, bytes_left;
    kept *images;
};

image_store *image_store_create(int64_t n_images, int64_t n_pixels, int64_t most)
{
    image_store *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    *s = (image_store){.n_images = n_images, .n_pixels = n_pixels, .bytes_left = most};
    s->images = calloc((size_t)n_images + 1, sizeof *s->images);
    if (s->images) return s;
    free(s);
    return NULL;
}

void image_store_destroy(image_store *s)
{
    if (!s) return;
    for (int64_t i = 0; i < s->n_images; i++)
        free(s->images[i].values);
    free(s->images);
    free(s);
}

bool image_store_has(const image_store *s, int64_t image)
{
    return s && s->images[image].values;
}

/* Bytes that hold every value of a row exactly; negative zeros are no whole numbers here. */
static int size_of(const float *row, int64_t n)
{
    int odd = 0, wide = 0;
    for (int64_t p = 0; p < n; p++) { /* branch free, so that it vectorises */
        uint32_t bits;
        memcpy(&bits, row + p, sizeof bits);
        const int in_range = bits <= 0x477FFF00; /* the bits of 65535: neither NaN nor negative */
        const float value = in_range ? row[p] : 0;
        odd |= !in_range | (value != (float)(int)value);
        wide |= value > 255;
    }
    return odd ? 4 : wide ? 2 : 1;
}

static kept keep(const float *row, int64_t n)
{
    kept image = {.size = size_of(row, n)};
    image.values = malloc((size_t)(n * image.size) + 1);
    if (!image.values) return image;
    uint8_t *bytes = image.values;
    uint16_t *words = image.values;
    if (image.size == 4) memcpy(image.values, row, (size_t)n * sizeof *row);
    for (int64_t p = 0; p < n && image.size == 1; p++)
        bytes[p] = (uint8_t)row[p];
    for (int64_t p = 0; p < n && image.size == 2; p++)
        words[p] = (uint16_t)row[p];
    return image;
}

void image_store_put(image_store *s, int64_t first, int64_t count, const float *rows)
{
    const int64_t most = count * s->n_pixels * (int64_t)sizeof *rows;
    int64_t used = 0;
    if (s->bytes_left < most) return;
#pragma omp parallel for schedule(static) reduction(+ : used)
    for (int64_t i = 0; i < count; i++) {
        if (s->images[first + i].values) continue;
        s->images[first + i] = keep(rows + i * s->n_pixels, s->n_pixels);
        used += s->n_pixels * s->images[first + i].size;
    }
    s->bytes_left -= used;
}

void image_store_get(const image_store *s, int64_t image, float *row)
{
    const kept *from = s->images + image;
    const uint8_t *bytes = from->values;
    const uint16_t *words = from->values;
    if (from->size == 4) memcpy(row, from->values, (size_t)s->n_pixels * sizeof *row);
    for (int64_t p = 0; p < s->n_pixels && from->size == 1; p++)
        row[p] = bytes[p];
    for (int64_t p = 0; p < s->n_pixels && from->size == 2; p++)
        row[p] = words[p];
}
