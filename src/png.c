#include "png.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* Length, name and checksum of a chunk. */
enum { SIGNATURE = 8, CHUNK = 12, HEADER = 13 };

static uint8_t *put_number(uint8_t *at, uint32_t number)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(number >> (24 - 8 * i));
    return at + 4;
}

/* Closes the chunk that begins at `at` and whose data are there already; returns its end. */
static uint8_t *put_chunk(uint8_t *at, const char name[4], size_t size)
{
    put_number(at, (uint32_t)size);
    memcpy(at + 4, name, 4);
    return put_number(at + 8 + size, (uint32_t)crc32(0, at + 4, (uInt)(size + 4)));
}

static uint8_t *put_header(uint8_t *at, int64_t width, int64_t height)
{
    static const uint8_t signature[SIGNATURE] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
    memcpy(at, signature, SIGNATURE);
    at += SIGNATURE;
    uint8_t *data = put_number(put_number(at + 8, (uint32_t)width), (uint32_t)height);
    memcpy(data, (uint8_t[]){8, 2, 0, 0, 0}, 5); /* 8 bits of red, green and blue, not interlaced */
    return put_chunk(at, "IHDR", HEADER);
}

/* Rows begin with the number of a filter: none. */
static uint8_t *rows_of(int64_t width, int64_t height, const uint8_t *rgb)
{
    const size_t row = (size_t)(3 * width);
    uint8_t *rows = malloc((row + 1) * (size_t)height);
    for (int64_t y = 0; rows && y < height; y++) {
        rows[(row + 1) * (size_t)y] = 0;
        memcpy(rows + (row + 1) * (size_t)y + 1, rgb + row * (size_t)y, row);
    }
    return rows;
}

status png_encode(int64_t width, int64_t height, const uint8_t *rgb, uint8_t **bytes, size_t *size)
{
    const uLong raw = (uLong)((3 * width + 1) * height);
    uLong packed = compressBound(raw);
    uint8_t *rows = rows_of(width, height, rgb);
    *bytes = malloc(SIGNATURE + 3 * CHUNK + HEADER + packed);
    if (!rows || !*bytes) {
        free(rows);
        FAIL(STATUS_RESOURCE, "no memory for a picture of %lld x %lld", (long long)width,
             (long long)height);
    }
    uint8_t *at = put_header(*bytes, width, height);
    const int failed = compress2(at + 8, &packed, rows, raw, 9) != Z_OK;
    free(rows);
    if (failed) FAIL(STATUS_RESOURCE, "zlib cannot pack a picture");
    at = put_chunk(at, "IDAT", packed);
    *size = (size_t)(put_chunk(at, "IEND", 0) - *bytes);
    return STATUS_OK;
}

/* RFC 4648. */
static void print_base64(const uint8_t *bytes, size_t size, FILE *file)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < size; i += 3) {
        const size_t left = size - i;
        const uint32_t group = (uint32_t)bytes[i] << 16 |
                               (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
                               (left > 2 ? (uint32_t)bytes[i + 2] : 0);
        fputc(digits[group >> 18], file);
        fputc(digits[group >> 12 & 63], file);
        fputc(left > 1 ? digits[group >> 6 & 63] : '=', file);
        fputc(left > 2 ? digits[group & 63] : '=', file);
    }
}

status png_print(int64_t width, int64_t height, const uint8_t *rgb, FILE *file)
{
    uint8_t *bytes = NULL;
    size_t size = 0;
    const status result = png_encode(width, height, rgb, &bytes, &size);
    fputs("data:image/png;base64,", file);
    if (result == STATUS_OK) print_base64(bytes, size, file);
    free(bytes);
    return result;
}
