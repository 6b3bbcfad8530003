#include "dataset.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io_hdf5.h"

enum { MAX_PIXELS = 1 << 28 };

static const char positions_name[] = "/pixel_position_reciprocal";

/* Images (N, panels, rows, columns) or (N, rows, columns). */
static status read_shape(dataset *ds)
{
    h5_shape shape;
    TRY(h5_get_shape(ds->file, ds->images_name, &shape));
    char text[128];
    h5_describe(&shape, text, sizeof text);
    if (shape.rank != 3 && shape.rank != 4)
        FAIL(STATUS_INPUT,
             "%s: dataset '%s' is %s; expected images (N, panels, rows, columns) or (N, rows, "
             "columns)",
             ds->path, ds->images_name, text);
    ds->n_images = shape.dims[0];
    ds->shape[0] = shape.rank == 4 ? shape.dims[1] : 1;
    ds->shape[1] = shape.dims[shape.rank - 2];
    ds->shape[2] = shape.dims[shape.rank - 1];
    ds->n_pixels = 1;
    for (int d = 0; d < 3; d++) {
        if (ds->shape[d] < 1 || ds->shape[d] > MAX_PIXELS / ds->n_pixels)
            FAIL(STATUS_INPUT, "%s: dataset '%s' is %s; expected images of 1 to %d pixels",
                 ds->path, ds->images_name, text, MAX_PIXELS);
        ds->n_pixels *= ds->shape[d];
    }
    if (ds->n_images < 1)
        FAIL(STATUS_INPUT, "%s: dataset '%s' is %s: no images", ds->path, ds->images_name, text);
    return STATUS_OK;
}

static status allocate(dataset *ds)
{
    size_t n = (size_t)ds->n_pixels;
    ds->s = malloc(3 * n * sizeof *ds->s);
    ds->correction = malloc(n * sizeof *ds->correction);
    ds->mask = malloc(n);
    if (!ds->s || !ds->correction || !ds->mask)
        FAIL(STATUS_RESOURCE, "%s: no memory for a detector of %lld pixels", ds->path,
             (long long)ds->n_pixels);
    return STATUS_OK;
}

/* Whether dims [rank] are the detector's, with or without its axis of panels if that is one. */
static bool is_detector_shape(const dataset *ds, const int64_t *dims, int rank)
{
    int skip = 3 - rank;
    if (skip < 0 || skip > 1 || (skip == 1 && ds->shape[0] != 1)) return false;
    for (int d = 0; d < rank; d++)
        if (dims[d] != ds->shape[d + skip]) return false;
    return true;
}

/* (3, pixels) to (pixels, 3) */
static status transpose_positions(dataset *ds)
{
    size_t n = (size_t)ds->n_pixels;
    double *turned = malloc(3 * n * sizeof *turned);
    if (!turned) FAIL(STATUS_RESOURCE, "%s: no memory for the pixel positions", ds->path);
    for (size_t p = 0; p < n; p++)
        for (size_t d = 0; d < 3; d++)
            turned[3 * p + d] = ds->s[d * n + p];
    free(ds->s);
    ds->s = turned;
    return STATUS_OK;
}

/* Components last, or first as in old files.  The detector's shape decides: a three-panel detector
   has both a first and a last axis of 3. */
static status read_positions(dataset *ds)
{
    h5_shape shape;
    TRY(h5_get_shape(ds->file, positions_name, &shape));
    int rank = shape.rank;
    bool last =
        rank > 2 && shape.dims[rank - 1] == 3 && is_detector_shape(ds, shape.dims, rank - 1);
    bool first = rank > 2 && shape.dims[0] == 3 && is_detector_shape(ds, shape.dims + 1, rank - 1);
    if (!last && !first) {
        char text[128];
        h5_describe(&shape, text, sizeof text);
        FAIL(STATUS_INPUT,
             "%s: dataset '%s' is %s; for images of %lld x %lld x %lld pixels expected (%lld, "
             "%lld, %lld, 3)",
             ds->path, positions_name, text, (long long)ds->shape[0], (long long)ds->shape[1],
             (long long)ds->shape[2], (long long)ds->shape[0], (long long)ds->shape[1],
             (long long)ds->shape[2]);
    }
    TRY(h5_read(ds->file, positions_name, H5_DOUBLE, rank, shape.dims, ds->s));
    return last ? STATUS_OK : transpose_positions(ds);
}

/* From 1/m to 1/Angstrom; sizes that no diffraction experiment has are taken for a mistake. */
static status convert_positions(dataset *ds)
{
    double largest = 0;
    for (int64_t p = 0; p < ds->n_pixels; p++) {
        double *s = ds->s + 3 * p, square = s[0] * s[0] + s[1] * s[1] + s[2] * s[2];
        if (!isfinite(square))
            FAIL(STATUS_INPUT, "%s: dataset '%s': pixel %lld is at (%g, %g, %g)", ds->path,
                 positions_name, (long long)p, s[0], s[1], s[2]);
        largest = fmax(largest, sqrt(square));
        for (int d = 0; d < 3; d++)
            s[d] *= 1e-10;
    }
    if (largest < 1e6 || largest > 1e12)
        FAIL(STATUS_INPUT,
             "%s: dataset '%s' reaches |s| = %g; expected 1/m (1e6 to 1e12 for resolutions of 1 um "
             "to 0.01 Angstrom)",
             ds->path, positions_name, largest);
    return STATUS_OK;
}

static status read_mask(dataset *ds)
{
    memset(ds->mask, 1, (size_t)ds->n_pixels);
    if (!h5_has(ds->file, "/mask")) return STATUS_OK;
    h5_shape shape;
    TRY(h5_get_shape(ds->file, "/mask", &shape));
    const int64_t *dims = is_detector_shape(ds, shape.dims, shape.rank) ? shape.dims : ds->shape;
    TRY(h5_read(ds->file, "/mask", H5_UINT8, dims == ds->shape ? 3 : shape.rank, dims, ds->mask));
    int64_t n_used = 0;
    for (int64_t p = 0; p < ds->n_pixels; p++) {
        ds->mask[p] = ds->mask[p] != 0;
        n_used += ds->mask[p];
    }
    if (n_used == 0)
        FAIL(STATUS_INPUT, "%s: dataset '/mask' leaves no pixel to use; expected 1 = use",
             ds->path);
    return STATUS_OK;
}

static status multiply_factor(dataset *ds, const char *name, double *factor)
{
    if (!h5_has(ds->file, name)) return STATUS_OK;
    h5_shape shape;
    TRY(h5_get_shape(ds->file, name, &shape));
    const int64_t *dims = is_detector_shape(ds, shape.dims, shape.rank) ? shape.dims : ds->shape;
    TRY(h5_read(ds->file, name, H5_DOUBLE, dims == ds->shape ? 3 : shape.rank, dims, factor));
    for (int64_t p = 0; p < ds->n_pixels; p++) {
        if (ds->mask[p] && !(factor[p] > 0 && isfinite(factor[p])))
            FAIL(STATUS_INPUT, "%s: dataset '%s' is %g in pixel %lld; expected a positive number",
                 ds->path, name, factor[p], (long long)p);
        ds->correction[p] *= factor[p];
    }
    return STATUS_OK;
}

static status read_correction(dataset *ds)
{
    for (int64_t p = 0; p < ds->n_pixels; p++)
        ds->correction[p] = 1;
    double *factor = malloc((size_t)ds->n_pixels * sizeof *factor);
    if (!factor) FAIL(STATUS_RESOURCE, "%s: no memory for correction factors", ds->path);
    status result = multiply_factor(ds, "/polarization", factor);
    if (result == STATUS_OK) result = multiply_factor(ds, "/solid_angle", factor);
    free(factor);
    TRY(result);
    double sum = 0;
    int64_t n_used = 0;
    for (int64_t p = 0; p < ds->n_pixels; p++) {
        if (!ds->mask[p]) continue;
        sum += ds->correction[p];
        n_used++;
    }
    for (int64_t p = 0; p < ds->n_pixels; p++)
        ds->correction[p] *= (double)n_used / sum;
    return STATUS_OK;
}

/* |s + z/lambda| = 1/lambda for elastic scattering: lambda = -2 s_z / |s|^2. */
static double curvature_wavelength(const dataset *ds)
{
    double along = 0, square = 0;
    for (int64_t p = 0; p < ds->n_pixels; p++) {
        const double *s = ds->s + 3 * p;
        along += s[2];
        square += s[0] * s[0] + s[1] * s[1] + s[2] * s[2];
    }
    return fabs(2 * along / square);
}

static status read_wavelength(dataset *ds)
{
    double curved = curvature_wavelength(ds);
    ds->wavelength = curved;
    if (!h5_has_attribute(ds->file, "/", "wavelength")) return STATUS_OK;
    TRY(h5_read_numbers(ds->file, "/", "wavelength", H5_DOUBLE, 1, &ds->wavelength));
    if (!(ds->wavelength > 0) || fabs(ds->wavelength - curved) > 0.01 * ds->wavelength)
        FAIL(STATUS_INPUT,
             "%s: attribute 'wavelength' is %g Angstrom, but the pixel positions lie on an Ewald "
             "sphere of %g Angstrom",
             ds->path, ds->wavelength, curved);
    return STATUS_OK;
}

static status orientation_shape(const dataset *ds, h5_shape *shape)
{
    TRY(h5_get_shape(ds->file, "/orientations", shape));
    bool flat = shape->rank == 2, nested = shape->rank == 3 && shape->dims[1] == 1;
    if ((flat || nested) && shape->dims[0] == ds->n_images && shape->dims[shape->rank - 1] == 4)
        return STATUS_OK;
    char text[128];
    h5_describe(shape, text, sizeof text);
    FAIL(STATUS_INPUT, "%s: dataset '/orientations' is %s; expected (%lld, 4)", ds->path, text,
         (long long)ds->n_images);
}

static status read_all(dataset *ds)
{
    TRY(h5_open(ds->path, (h5_reader **)&ds->file));
    TRY(read_shape(ds));
    TRY(allocate(ds));
    TRY(read_positions(ds));
    TRY(convert_positions(ds));
    TRY(read_mask(ds));
    TRY(read_correction(ds));
    TRY(read_wavelength(ds));
    h5_shape shape;
    ds->has_truth = h5_has(ds->file, "/orientations");
    return ds->has_truth ? orientation_shape(ds, &shape) : STATUS_OK;
}

status dataset_open(const char *path, const char *images_name, dataset **opened)
{
    *opened = NULL;
    dataset *ds = calloc(1, sizeof *ds);
    if (!ds) FAIL(STATUS_RESOURCE, "%s: no memory to read it", path);
    if (!images_name || !images_name[0]) images_name = "intensities";
    int n = snprintf(ds->images_name, sizeof ds->images_name, "%s%s",
                     images_name[0] == '/' ? "" : "/", images_name);
    ds->path = strdup(path);
    status result;
    if (!ds->path || n >= (int)sizeof ds->images_name)
        result = status_fail(STATUS_INPUT, __FILE__, __LINE__,
                             "%s: a dataset name of %d characters, at most %zu are possible", path,
                             n, sizeof ds->images_name - 1);
    else
        result = read_all(ds);
    if (result == STATUS_OK)
        *opened = ds;
    else
        dataset_close(ds);
    return result;
}

void dataset_close(dataset *ds)
{
    if (!ds) return;
    h5_close(ds->file);
    free(ds->path);
    free(ds->s);
    free(ds->correction);
    free(ds->mask);
    free(ds);
}

status dataset_read(const dataset *ds, int64_t first, int64_t count, float *images)
{
    return h5_read_rows(ds->file, ds->images_name, H5_SINGLE, first, count, images);
}

static status read_fluences(const dataset *ds, int64_t first, int64_t count, double *fluences)
{
    for (int64_t i = 0; i < count; i++)
        fluences[i] = 1;
    if (!h5_has(ds->file, "/fluences")) return STATUS_OK;
    h5_shape shape;
    TRY(h5_get_shape(ds->file, "/fluences", &shape));
    if (shape.rank == 1 && shape.dims[0] == 0) return STATUS_OK; /* no jitter */
    if (shape.rank != 1 || shape.dims[0] != ds->n_images) {
        char text[128];
        h5_describe(&shape, text, sizeof text);
        FAIL(STATUS_INPUT, "%s: dataset '/fluences' is %s; expected (%lld)", ds->path, text,
             (long long)ds->n_images);
    }
    return h5_read_rows(ds->file, "/fluences", H5_DOUBLE, first, count, fluences);
}

status dataset_read_truth(const dataset *ds, int64_t first, int64_t count, double *quaternions,
                          double *fluences)
{
    h5_shape shape;
    TRY(orientation_shape(ds, &shape));
    TRY(h5_read_rows(ds->file, "/orientations", H5_DOUBLE, first, count, quaternions));
    for (int64_t i = 0; i < count; i++) {
        double *q = quaternions + 4 * i;
        double norm = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
        if (!(fabs(norm - 1) < 1e-3))
            FAIL(STATUS_INPUT,
                 "%s: dataset '/orientations': quaternion %lld has length %g; expected 1", ds->path,
                 (long long)(first + i), norm);
        for (int d = 0; d < 4; d++)
            q[d] /= norm;
    }
    return fluences ? read_fluences(ds, first, count, fluences) : STATUS_OK;
}

const dataset_faults dataset_no_faults = {.first_bad = -1, .first_dark = -1};

void dataset_check(const dataset *ds, const float *images, int64_t first, int64_t count,
                   dataset_faults *faults)
{
    for (int64_t i = 0; i < count; i++) {
        const float *image = images + i * ds->n_pixels;
        int64_t before = faults->n_nan + faults->n_infinite + faults->n_negative;
        double sum = 0;
        for (int64_t p = 0; p < ds->n_pixels; p++) {
            if (!ds->mask[p]) continue;
            bool is_nan = isnan(image[p]), is_infinite = isinf(image[p]),
                 is_negative = image[p] < 0;
            faults->n_nan += is_nan;
            faults->n_infinite += is_infinite;
            faults->n_negative += is_negative && !is_infinite;
            if (!is_nan && !is_infinite && !is_negative) sum += (double)image[p];
        }
        if (faults->n_nan + faults->n_infinite + faults->n_negative > before) {
            if (faults->n_bad_images++ == 0) faults->first_bad = first + i;
        }
        if (!(sum > 0)) {
            if (faults->n_dark_images++ == 0) faults->first_dark = first + i;
        }
    }
}
