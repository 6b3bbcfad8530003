/* io_hdf5_values.c: what readers of other programs' files need beside whole arrays. */
#include <stdlib.h>
#include <string.h>

#include "io_hdf5.h"

enum { MAX_LIST = 1 << 24, PIECE_VALUES = 1 << 22 };

int64_t h5_count(const h5_shape *shape, int64_t limit)
{
    int64_t n = 1;
    for (int d = 0; d < shape->rank; d++) {
        if (shape->dims[d] == 0) return 0;
        n = n <= limit && shape->dims[d] <= limit / n ? n * shape->dims[d] : limit + 1;
    }
    return n;
}

status h5_read_list(const h5_reader *r, const char *name, double **values, int64_t *n)
{
    h5_shape shape;
    *values = NULL;
    TRY(h5_get_shape(r, name, &shape));
    *n = h5_count(&shape, MAX_LIST);
    if (*n < 1 || *n > MAX_LIST) {
        char text[128];
        h5_describe(&shape, text, sizeof text);
        FAIL(STATUS_INPUT, "%s: dataset '%s' is %s; expected 1 to %d numbers", h5_path(r), name,
             text, MAX_LIST);
    }
    *values = malloc((size_t)*n * sizeof **values);
    if (!*values) FAIL(STATUS_RESOURCE, "%s: no memory for '%s'", h5_path(r), name);
    status result = h5_read(r, name, H5_DOUBLE, shape.rank, shape.dims, *values);
    if (result == STATUS_OK) return STATUS_OK;
    free(*values);
    *values = NULL;
    return result;
}

status h5_read_value(const h5_reader *r, const char *name, double *value)
{
    double *values = NULL;
    int64_t n;
    TRY(h5_read_list(r, name, &values, &n));
    *value = values[0];
    free(values);
    if (n != 1)
        FAIL(STATUS_INPUT, "%s: dataset '%s' holds %lld numbers; expected one", h5_path(r), name,
             (long long)n);
    return STATUS_OK;
}

/* ---- masks ---- */

/* Whether dims end in the detector's shape, with or without its axis of panels if that is one; what
   precedes it is at most one axis of images. */
static bool is_mask_shape(const h5_shape *found, const int64_t shape[3], bool *per_image)
{
    for (int skip = 0; skip < 2; skip++) {
        const int rank = 3 - skip, before = found->rank - rank;
        if (before < 0 || before > 1 || (skip == 1 && shape[0] != 1)) continue;
        bool same = true;
        for (int d = 0; d < rank; d++)
            same = same && found->dims[before + d] == shape[skip + d];
        *per_image = before == 1;
        if (same) return true;
    }
    return false;
}

static status apply_values(const h5_reader *r, const char *name, const h5_shape *found,
                           int64_t first, int64_t rows, int64_t *values)
{
    if (found->is_float)
        FAIL(STATUS_INPUT, "%s: mask '%s' holds floating-point numbers; expected integers",
             h5_path(r), name);
    return h5_read_rows(r, name, H5_INT64, first, rows, values);
}

status h5_apply_mask(const h5_reader *r, const char *name, const int64_t shape[3], uint32_t good,
                     uint32_t bad, uint8_t *mask)
{
    h5_shape found;
    bool per_image = false;
    TRY(h5_get_shape(r, name, &found));
    if (!is_mask_shape(&found, shape, &per_image)) {
        char text[128];
        h5_describe(&found, text, sizeof text);
        FAIL(STATUS_INPUT,
             "%s: mask '%s' is %s; expected (%lld, %lld, %lld), or one for each image", h5_path(r),
             name, text, (long long)shape[0], (long long)shape[1], (long long)shape[2]);
    }
    const int64_t n = shape[0] * shape[1] * shape[2], n_masks = per_image ? found.dims[0] : 1;
    const int64_t at_once = per_image ? 1 + PIECE_VALUES / n : 1;
    int64_t *values = malloc((size_t)(at_once * n) * sizeof *values);
    if (!values) FAIL(STATUS_RESOURCE, "%s: no memory for a mask", h5_path(r));
    status result = STATUS_OK;
    for (int64_t i = 0; i < n_masks && result == STATUS_OK; i += at_once) {
        const int64_t count = n_masks - i < at_once ? n_masks - i : at_once;
        result = apply_values(r, name, &found, per_image ? i : 0, per_image ? count : found.dims[0],
                              values);
        for (int64_t k = 0; k < count * n && result == STATUS_OK; k++) {
            const uint32_t value = (uint32_t)values[k];
            if ((value & good) != good || (value & bad) != 0) mask[k % n] = 0;
        }
    }
    free(values);
    return result;
}
