/* CXI 1.6: a stack of images, the mask, and the detector where its panels are flat grids across the
   beam. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "image_writer.h"

static const double joules_per_ev = 1.602176634e-19;

#define DETECTOR "/entry_1/instrument_1/detector_1"

typedef struct cxi_writer {
    h5_writer *file;
} cxi_writer;

static void cxi_abandon(void *writer)
{
    cxi_writer *w = writer;
    if (!w) return;
    h5_abandon(w->file);
    free(w);
}

/* Where a pixel's ray meets the plane at the detector's distance, m. */
static void place_of(const detector *det, int64_t p, double at[3])
{
    const double *s = det->s + 3 * p;
    const double along = s[2] + 1 / det->wavelength;
    at[0] = s[0] / along * det->distance;
    at[1] = s[1] / along * det->distance;
    at[2] = det->distance;
}

/* Steps and corner of one panel from its first pixels, if all of its pixels that are used lie where
   these say, within a hundredth of a pixel. */
static bool find_grid(const detector *det, int64_t module, double basis[6], double corner[3])
{
    const int64_t n_rows = det->shape[1], n_cols = det->shape[2], first = module * n_rows * n_cols;
    double origin[3], row[3], col[3], size = 0;
    if (n_rows < 2 || n_cols < 2) return false;
    place_of(det, first, origin);
    place_of(det, first + (n_rows - 1) * n_cols, row);
    place_of(det, first + n_cols - 1, col);
    for (int d = 0; d < 3; d++) {
        basis[d] = (row[d] - origin[d]) / (double)(n_rows - 1);
        basis[3 + d] = (col[d] - origin[d]) / (double)(n_cols - 1);
        corner[d] = origin[d] - 0.5 * (basis[d] + basis[3 + d]);
        size += basis[d] * basis[d];
    }
    for (int64_t i = 0; i < n_rows * n_cols; i++) {
        double at[3], off = 0;
        place_of(det, first + i, at);
        for (int d = 0; d < 3; d++) {
            double meant =
                origin[d] + (double)(i / n_cols) * basis[d] + (double)(i % n_cols) * basis[3 + d];
            off += (at[d] - meant) * (at[d] - meant);
        }
        if (det->mask[first + i] && !(off <= 1e-4 * size)) return false;
    }
    return true;
}

static status write_grids(h5_writer *file, const detector *det, const double *basis,
                          const double *corner)
{
    const int64_t n = det->shape[0], basis_dims[3] = {n, 2, 3}, corner_dims[2] = {n, 3};
    const int skip = n == 1;
    const double x_pixel = sqrt(basis[3] * basis[3] + basis[4] * basis[4] + basis[5] * basis[5]);
    const double y_pixel = sqrt(basis[0] * basis[0] + basis[1] * basis[1] + basis[2] * basis[2]);
    TRY(h5_write(file, DETECTOR "/distance", H5_DOUBLE, 0, NULL, &det->distance, NULL, NULL));
    TRY(h5_write(file, DETECTOR "/x_pixel_size", H5_DOUBLE, 0, NULL, &x_pixel, NULL, NULL));
    TRY(h5_write(file, DETECTOR "/y_pixel_size", H5_DOUBLE, 0, NULL, &y_pixel, NULL, NULL));
    TRY(h5_write(file, DETECTOR "/basis_vectors", H5_DOUBLE, 3 - skip, basis_dims + skip, basis,
                 NULL, NULL));
    return h5_write(file, DETECTOR "/corner_position", H5_DOUBLE, 2 - skip, corner_dims + skip,
                    corner, NULL, NULL);
}

static status write_places(h5_writer *file, const dataset *ds)
{
    const detector *det = ds->det;
    const size_t n = (size_t)det->shape[0];
    double *basis = malloc(9 * n * sizeof *basis), *corner = basis + 6 * n;
    if (!basis) FAIL(STATUS_RESOURCE, "no memory for %zu panels", n);
    bool is_grid = det->s && det->distance > 0 && det->wavelength > 0;
    for (int64_t k = 0; k < det->shape[0] && is_grid; k++)
        is_grid = find_grid(det, k, basis + 6 * k, corner + 3 * k);
    status result = STATUS_OK;
    if (is_grid)
        result = write_grids(file, det, basis, corner);
    else
        log_warning(
            "%s: its panels are not flat grids across the beam at a known distance; the CXI "
            "file does not say where its pixels are",
            ds->path);
    free(basis);
    return result;
}

/* 0 good, 1 (invalid) where the mask says no. */
static status write_mask(h5_writer *file, const detector *det)
{
    int32_t *bits = malloc((size_t)det->n_pixels * sizeof *bits);
    const int skip = det->shape[0] == 1;
    if (!bits) FAIL(STATUS_RESOURCE, "no memory for a mask");
    for (int64_t p = 0; p < det->n_pixels; p++)
        bits[p] = !det->mask[p];
    status result =
        h5_write(file, DETECTOR "/mask", H5_INT32, 3 - skip, det->shape + skip, bits, NULL, NULL);
    free(bits);
    return result;
}

static status write_head(h5_writer *file, const dataset *ds)
{
    const detector *det = ds->det;
    const int32_t version = 160, entries = 1;
    const int64_t dims[4] = {ds->n_images, det->shape[0], det->shape[1], det->shape[2]};
    const int64_t flat[3] = {ds->n_images, det->shape[1], det->shape[2]};
    const bool is_flat = det->shape[0] == 1;
    TRY(h5_write(file, "/cxi_version", H5_INT32, 0, NULL, &version, NULL, NULL));
    TRY(h5_write(file, "/number_of_entries", H5_INT32, 0, NULL, &entries, NULL, NULL));
    TRY(h5_write_string(file, "/entry_1/program_name", "mtip"));
    TRY(h5_declare(file, DETECTOR "/data", H5_SINGLE, is_flat ? 3 : 4, is_flat ? flat : dims, NULL,
                   NULL));
    TRY(h5_write_text(file, DETECTOR "/data", "axes",
                      is_flat ? "experiment_identifier:y:x"
                              : "experiment_identifier:module_identifier:y:x"));
    TRY(write_mask(file, det));
    TRY(h5_link(file, "/entry_1/data_1/data", DETECTOR "/data"));
    TRY(h5_link(file, "/entry_1/data_1/mask", DETECTOR "/mask"));
    if (det->wavelength > 0) {
        const double energy = PHYSICS_HC / det->wavelength * joules_per_ev;
        TRY(h5_write(file, "/entry_1/instrument_1/source_1/energy", H5_DOUBLE, 0, NULL, &energy,
                     NULL, NULL));
    }
    return write_places(file, ds);
}

static status cxi_create(const char *path, const dataset *ds, void **writer)
{
    cxi_writer *w = *writer = calloc(1, sizeof *w);
    if (!w) FAIL(STATUS_RESOURCE, "%s: no memory to write it", path);
    TRY(h5_create(path, &w->file));
    return write_head(w->file, ds);
}

static status cxi_write(void *writer, int64_t first, int64_t count, const float *images)
{
    cxi_writer *w = writer;
    return h5_write_rows(w->file, DETECTOR "/data", first, count, images);
}

static status cxi_commit(void *writer)
{
    cxi_writer *w = writer;
    status result = h5_commit(w->file);
    free(w);
    return result;
}

const image_format image_cxi = {"cxi", ".cxi", cxi_create, cxi_write, cxi_commit, cxi_abandon};
