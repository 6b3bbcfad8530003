#include "io_mrc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io_atomic.h"
#include "text_file.h"

/* Four-byte words of the header, counted from 0. */
enum {
    WORD_NX = 0,
    WORD_MODE = 3,
    WORD_START = 4,
    WORD_MX = 7,
    WORD_CELL = 10,
    WORD_ANGLES = 13,
    WORD_AXES = 16,
    WORD_MIN = 19,
    WORD_ISPG = 22,
    WORD_NSYMBT = 23,
    WORD_VERSION = 27,
    WORD_ORIGIN = 49,
    WORD_MAP = 52,
    WORD_STAMP = 53,
    WORD_RMS = 54,
    WORD_N_LABELS = 55,
    WORD_LABEL = 56,
    N_WORDS = 256,
    HEADER_BYTES = 1024,
    MAX_SIDE = 65535
};

typedef union word {
    int32_t i;
    float f;
    char c[4];
} word;

static bool is_big_endian(void)
{
    const uint16_t one = 1;
    return *(const uint8_t *)&one == 0;
}

/* ---- writing ---- */

static status fill_statistics(word *header, const char *path, int64_t n, const float *values)
{
    double least = INFINITY, most = -INFINITY, sum = 0, squares = 0;
    for (int64_t i = 0; i < n; i++) {
        double v = (double)values[i];
        if (!isfinite(v))
            FAIL(STATUS_NUMERIC, "%s: value %lld of the map is %g", path, (long long)i, v);
        least = fmin(least, v);
        most = fmax(most, v);
        sum += v;
    }
    double mean = sum / (double)n;
    for (int64_t i = 0; i < n; i++)
        squares += ((double)values[i] - mean) * ((double)values[i] - mean);
    header[WORD_MIN].f = (float)least;
    header[WORD_MIN + 1].f = (float)most;
    header[WORD_MIN + 2].f = (float)mean;
    header[WORD_RMS].f = (float)sqrt(squares / (double)n);
    return STATUS_OK;
}

static void fill_header(word *header, const mrc_map *map, const char *label)
{
    const int64_t n[3] = {map->nx, map->ny, map->nz};
    for (int d = 0; d < 3; d++) {
        header[WORD_NX + d].i = header[WORD_MX + d].i = (int32_t)n[d];
        header[WORD_CELL + d].f = (float)(map->voxel[d] * (double)n[d]);
        header[WORD_ANGLES + d].f = 90;
        header[WORD_AXES + d].i = d + 1;
        header[WORD_ORIGIN + d].f = (float)map->origin[d];
    }
    header[WORD_MODE].i = 2;
    header[WORD_ISPG].i = 1;
    header[WORD_VERSION].i = 20140;
    memcpy(header[WORD_MAP].c, "MAP ", 4);
    memcpy(header[WORD_STAMP].c, is_big_endian() ? "\x11\x11\0\0" : "\x44\x44\0\0", 4);
    header[WORD_N_LABELS].i = 1;
    memset(header[WORD_LABEL].c, ' ', 80);
    memcpy(header[WORD_LABEL].c, label, strnlen(label, 80));
}

status mrc_write_map(const char *path, const mrc_map *map, const char *label)
{
    const int64_t nx = map->nx, ny = map->ny, nz = map->nz;
    if (nx < 1 || ny < 1 || nz < 1 || nx > MAX_SIDE || ny > MAX_SIDE || nz > MAX_SIDE)
        FAIL(STATUS_INVALID, "%s: a map of %lld x %lld x %lld voxels", path, (long long)nx,
             (long long)ny, (long long)nz);
    word header[N_WORDS] = {{0}};
    fill_header(header, map, label);
    TRY(fill_statistics(header, path, nx * ny * nz, map->values));
    atomic_file *file;
    TRY(atomic_begin_stream(path, &file));
    (void)fwrite(header, HEADER_BYTES, 1, atomic_stream(file));
    (void)fwrite(map->values, sizeof *map->values, (size_t)(nx * ny * nz), atomic_stream(file));
    return atomic_commit(file);
}

status mrc_write(const char *path, int64_t nx, int64_t ny, int64_t nz, const float *values,
                 double voxel, const char *label)
{
    const int64_t n[3] = {nx, ny, nz};
    mrc_map map = {.nx = nx, .ny = ny, .nz = nz, .values = (float *)values};
    for (int d = 0; d < 3; d++) {
        map.voxel[d] = voxel;
        map.origin[d] = -voxel * (double)(n[d] / 2);
    }
    return mrc_write_map(path, &map, label);
}

/* ---- reading ---- */

typedef struct mrc_reader {
    const char *path;
    char *bytes; /* the file */
    size_t size, at;
    word header[N_WORDS];
    bool swapped;
    int mode, value_bytes;
    int64_t n[3];   /* columns, rows, sections, as stored */
    int axis_of[3]; /* 0..2 for x..z: the axis of columns, rows, sections */
} mrc_reader;

static void swap_bytes(char *p, int size)
{
    for (int i = 0; i < size / 2; i++) {
        char c = p[i];
        p[i] = p[size - 1 - i];
        p[size - 1 - i] = c;
    }
}

static status read_header(mrc_reader *r)
{
    if (r->size < HEADER_BYTES)
        FAIL(STATUS_INPUT, "%s: shorter than the 1024 bytes of an MRC header", r->path);
    memcpy(r->header, r->bytes, HEADER_BYTES);
    int32_t mode = r->header[WORD_MODE].i, axis = r->header[WORD_AXES].i;
    r->swapped = (mode < 0 || mode > 127) || (axis != 0 && (axis < 0 || axis > 3));
    for (int i = 0; i < WORD_LABEL && r->swapped; i++)
        if (i != WORD_MAP && i != WORD_STAMP) swap_bytes(r->header[i].c, 4);
    if (memcmp(r->header[WORD_MAP].c, "MAP", 3) != 0)
        FAIL(STATUS_INPUT, "%s: no 'MAP' in bytes 208-210; expected a map in MRC2014 format",
             r->path);
    return STATUS_OK;
}

static status read_layout(mrc_reader *r)
{
    bool seen[3] = {false};
    r->mode = r->header[WORD_MODE].i;
    r->value_bytes = r->mode == 0 ? 1 : r->mode == 2 ? 4 : 2;
    if (r->mode != 0 && r->mode != 1 && r->mode != 2 && r->mode != 6)
        FAIL(STATUS_INPUT, "%s: mode %d; modes 0, 1, 2 and 6 can be read", r->path, r->mode);
    for (int d = 0; d < 3; d++) {
        r->n[d] = r->header[WORD_NX + d].i;
        int axis = r->header[WORD_AXES + d].i;
        if (r->header[WORD_AXES].i == 0) axis = d + 1; /* not given */
        if (r->n[d] < 1 || r->n[d] > MAX_SIDE)
            FAIL(STATUS_INPUT, "%s: side %d has %lld voxels", r->path, d + 1, (long long)r->n[d]);
        if (axis < 1 || axis > 3 || seen[axis - 1])
            FAIL(STATUS_INPUT, "%s: axes %d, %d, %d; expected 1, 2 and 3 in some order", r->path,
                 r->header[WORD_AXES].i, r->header[WORD_AXES + 1].i, r->header[WORD_AXES + 2].i);
        seen[axis - 1] = true;
        r->axis_of[d] = axis - 1;
    }
    return STATUS_OK;
}

/* The header's claims against the size of the file, before memory is taken for them. */
static status check_size(mrc_reader *r)
{
    int64_t extended = r->header[WORD_NSYMBT].i, size = (int64_t)r->size;
    int64_t wanted = HEADER_BYTES + extended + r->n[0] * r->n[1] * r->n[2] * r->value_bytes;
    if (extended < 0 || size < wanted)
        FAIL(STATUS_INPUT,
             "%s: %lld bytes; a map of %lld x %lld x %lld voxels in mode %d with an extended "
             "header of %lld needs %lld",
             r->path, (long long)size, (long long)r->n[0], (long long)r->n[1], (long long)r->n[2],
             r->mode, (long long)extended, (long long)wanted);
    r->at = (size_t)(HEADER_BYTES + extended);
    return STATUS_OK;
}

static float decode(const mrc_reader *r, char *bytes)
{
    union {
        float f;
        int16_t i;
        uint16_t u;
        int8_t c;
    } value;
    if (r->swapped) swap_bytes(bytes, r->value_bytes);
    memcpy(&value, bytes, (size_t)r->value_bytes);
    switch (r->mode) {
    case 0:
        return (float)value.c;
    case 1:
        return (float)value.i;
    case 6:
        return (float)value.u;
    default:
        return value.f;
    }
}

static void read_values(const mrc_reader *r, mrc_map *map)
{
    const int64_t stride_of[3] = {1, map->nx, map->nx * map->ny};
    int64_t stride[3]; /* in the map, along columns, rows, sections */
    char *from = r->bytes + r->at;
    for (int d = 0; d < 3; d++)
        stride[d] = stride_of[r->axis_of[d]];
    for (int64_t line = 0; line < r->n[1] * r->n[2]; line++) {
        float *to = map->values + line % r->n[1] * stride[1] + line / r->n[1] * stride[2];
        for (int64_t i = 0; i < r->n[0]; i++, from += r->value_bytes)
            to[i * stride[0]] = decode(r, from);
    }
}

/* ORIGIN counts where it is given, else NXSTART. */
static void fill_geometry(const mrc_reader *r, mrc_map *map)
{
    const word *h = r->header;
    bool has_origin =
        h[WORD_ORIGIN].f != 0 || h[WORD_ORIGIN + 1].f != 0 || h[WORD_ORIGIN + 2].f != 0;
    for (int d = 0; d < 3; d++) {
        int32_t intervals = h[WORD_MX + d].i;
        map->voxel[d] = intervals > 0 ? (double)h[WORD_CELL + d].f / intervals : 0;
        map->origin[d] = (double)h[WORD_ORIGIN + d].f;
    }
    for (int d = 0; d < 3 && !has_origin; d++) {
        int axis = r->axis_of[d];
        map->origin[axis] = h[WORD_START + d].i * map->voxel[axis];
    }
}

static status read_map(mrc_reader *r, mrc_map *map)
{
    TRY(read_header(r));
    TRY(read_layout(r));
    TRY(check_size(r));
    int64_t n[3];
    for (int d = 0; d < 3; d++)
        n[r->axis_of[d]] = r->n[d];
    map->nx = n[0];
    map->ny = n[1];
    map->nz = n[2];
    map->values = malloc((size_t)(n[0] * n[1] * n[2]) * sizeof *map->values);
    if (!map->values) FAIL(STATUS_RESOURCE, "%s: no memory for the map", r->path);
    fill_geometry(r, map);
    read_values(r, map);
    return STATUS_OK;
}

status mrc_read(const char *path, mrc_map **read)
{
    *read = NULL;
    mrc_reader r = {.path = path};
    mrc_map *map = calloc(1, sizeof *map);
    status result = map ? text_load(path, &r.bytes, &r.size)
                        : FAILED(STATUS_RESOURCE, "%s: no memory for the map", path);
    if (result == STATUS_OK) result = read_map(&r, map);
    free(r.bytes);
    if (result == STATUS_OK)
        *read = map;
    else
        mrc_destroy(map);
    return result;
}

bool mrc_recognize(const char *path)
{
    char begin[212];
    return text_begin(path, begin, sizeof begin) == sizeof begin &&
           memcmp(begin + 4 * WORD_MAP, "MAP", 3) == 0;
}

void mrc_destroy(mrc_map *map)
{
    if (!map) return;
    free(map->values);
    free(map);
}
