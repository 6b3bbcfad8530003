/* Detectors of Dragonfly.  In HDF5: /qx, /qy, /qz, /corr f8 (of any rank), /mask u1, /detd and
   /ewald_rad.  As text: a line "num_pix detd ewald_rad" (old files: num_pix alone), then lines
   "qx qy qz corr mask".  q is in voxels of a grid in which the Ewald sphere has the radius ewald_rad,
   so that s = q / (wavelength ewald_rad); corr is polarization times solid angle; detd is the
   distance in pixels; mask 0 is good, 1 good but not for orientations (used here), 2 bad. */
#include "geometry_format.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "text_file.h"

static status check_pixel(const geometry_settings *set, const detector *det, int64_t p,
                          double radius)
{
    const double *q = det->s + 3 * p;
    double from_centre = sqrt(q[0] * q[0] + q[1] * q[1] + (q[2] + radius) * (q[2] + radius));
    if (!(fabs(from_centre - radius) <= 1e-3 * radius))
        FAIL(STATUS_INPUT,
             "%s: pixel %lld at q = (%g, %g, %g) is not on the Ewald sphere of radius %g voxels",
             set->file, (long long)p, q[0], q[1], q[2], radius);
    if (det->mask[p] && !(det->solid_angle[p] > 0 && isfinite(det->solid_angle[p])))
        FAIL(STATUS_INPUT, "%s: pixel %lld has corr %g; expected a positive number", set->file,
             (long long)p, det->solid_angle[p]);
    return STATUS_OK;
}

/* det holds q, corr and the mask as they are in the file; radius 0: not given. */
static status finish(const geometry_settings *set, double detd, double radius, detector *det)
{
    TRY(geometry_wavelength(set, 0, &det->wavelength));
    if (set->distance > 0)
        FAIL(STATUS_CONFIG,
             "geometry.distance is %g m, but %s gives the pixels for its own distance; make "
             "another detector file",
             set->distance, set->file);
    if (radius == 0) radius = 1 / detector_curvature(det);
    if (!(radius > 0) || !isfinite(radius))
        FAIL(STATUS_INPUT, "%s: the Ewald sphere has a radius of %g voxels", set->file, radius);
    for (int64_t p = 0; p < det->n_pixels; p++) {
        det->mask[p] = det->mask[p] < 2;
        TRY(check_pixel(set, det, p, radius));
        for (int d = 0; d < 3; d++)
            det->s[3 * p + d] /= radius * det->wavelength;
    }
    det->pixel_size = set->pixel_size;
    det->distance = detd > 0 ? detd * set->pixel_size : 0;
    return STATUS_OK;
}

static status allocate(const geometry_settings *set, const geometry_images *images,
                       int64_t n_pixels, detector **det)
{
    const int64_t own[3] = {1, 1, n_pixels};
    int64_t shape[3];
    if (n_pixels < 1 || n_pixels > DETECTOR_MAX_PIXELS)
        FAIL(STATUS_INPUT, "%s: %lld pixels; expected 1 to %d", set->file, (long long)n_pixels,
             DETECTOR_MAX_PIXELS);
    TRY(geometry_shape(set, images, own, shape));
    return detector_allocate(shape, det);
}

/* ---- HDF5 ---- */

static bool hdf5_recognize(const char *path)
{
    return h5_file_has(path, "/qx") && h5_file_has(path, "/corr");
}

/* A dataset of the detector's number of pixels, whatever its rank. */
static status read_pixels(const h5_reader *file, const char *name, h5_type type, int64_t n_pixels,
                          void *values)
{
    h5_shape shape;
    TRY(h5_get_shape(file, name, &shape));
    if (h5_count(&shape, DETECTOR_MAX_PIXELS) != n_pixels) {
        char text[128];
        h5_describe(&shape, text, sizeof text);
        FAIL(STATUS_INPUT, "%s: dataset '%s' is %s; expected %lld values", h5_path(file), name,
             text, (long long)n_pixels);
    }
    return h5_read(file, name, type, shape.rank, shape.dims, values);
}

static status read_q(const h5_reader *file, detector *det, double *values)
{
    static const char *const names[3] = {"/qx", "/qy", "/qz"};
    for (int d = 0; d < 3; d++) {
        TRY(read_pixels(file, names[d], H5_DOUBLE, det->n_pixels, values));
        for (int64_t p = 0; p < det->n_pixels; p++)
            det->s[3 * p + d] = values[p];
    }
    TRY(read_pixels(file, "/corr", H5_DOUBLE, det->n_pixels, det->solid_angle));
    return read_pixels(file, "/mask", H5_UINT8, det->n_pixels, det->mask);
}

static status read_open(const geometry_settings *set, const h5_reader *file,
                        const geometry_images *images, detector **det)
{
    h5_shape shape;
    double detd = 0, radius = 0;
    TRY(h5_get_shape(file, "/qx", &shape));
    const int64_t n_pixels = h5_count(&shape, DETECTOR_MAX_PIXELS);
    TRY(allocate(set, images, n_pixels, det));
    double *values = malloc((size_t)n_pixels * sizeof *values);
    if (!values) FAIL(STATUS_RESOURCE, "%s: no memory for its pixels", set->file);
    status result = read_q(file, *det, values);
    free(values);
    TRY(result);
    TRY(h5_read_value(file, "/detd", &detd));
    TRY(h5_read_value(file, "/ewald_rad", &radius));
    return finish(set, detd, radius, *det);
}

static status hdf5_read(const geometry_settings *set, const geometry_images *images, detector **det)
{
    h5_reader *file = NULL;
    TRY(h5_open(set->file, &file));
    status result = read_open(set, file, images, det);
    h5_close(file);
    if (result == STATUS_OK) return STATUS_OK;
    detector_destroy(*det);
    *det = NULL;
    return result;
}

const geometry_format geometry_dragonfly_hdf5 = {
    .name = "detector of Dragonfly (HDF5)", .recognize = hdf5_recognize, .read = hdf5_read};

/* ---- text ---- */

static bool text_recognize(const char *path)
{
    char begin[512];
    double numbers[5];
    if (text_begin(path, begin, sizeof begin - 1) == 0 || strlen(begin) == 0) return false;
    begin[sizeof begin - 1] = 0;
    text_lines lines = {begin, 0};
    const char *line = text_next_line(&lines, "");
    int n = line ? text_numbers(line, 3, numbers) : 0;
    if (n != 1 && n != 3) return false;
    line = text_next_line(&lines, "");
    return line && text_numbers(line, 5, numbers) == 5;
}

static status read_lines(const geometry_settings *set, text_lines *lines, detector *det)
{
    for (int64_t p = 0; p < det->n_pixels; p++) {
        double row[5];
        const char *line = text_next_line(lines, "");
        int n = line ? text_numbers(line, 5, row) : 0;
        if (n != 5 || row[4] < 0 || row[4] > 255)
            FAIL(STATUS_INPUT, "%s:%lld: expected qx qy qz corr mask of pixel %lld of %lld",
                 set->file, (long long)lines->number, (long long)p, (long long)det->n_pixels);
        memcpy(det->s + 3 * p, row, 3 * sizeof *row);
        det->solid_angle[p] = row[3];
        det->mask[p] = (uint8_t)row[4];
    }
    return STATUS_OK;
}

static status parse(const geometry_settings *set, const geometry_images *images, char *text,
                    size_t size, detector **det)
{
    double head[3] = {0};
    text_lines lines = {0};
    lines.at = text;
    const char *line = text_next_line(&lines, "");
    int n = line ? text_numbers(line, 3, head) : 0;
    /* A pixel takes 10 bytes at least. */
    if ((n != 1 && n != 3) || !(head[0] >= 1) || head[0] * 10 > (double)size)
        FAIL(STATUS_INPUT,
             "%s:1: expected the number of pixels, detd and ewald_rad, and a line for every pixel",
             set->file);
    TRY(allocate(set, images, (int64_t)head[0], det));
    TRY(read_lines(set, &lines, *det));
    return finish(set, head[1], head[2], *det);
}

static status text_read(const geometry_settings *set, const geometry_images *images, detector **det)
{
    char *text = NULL;
    size_t size;
    TRY(text_load(set->file, &text, &size));
    status result = parse(set, images, text, size, det);
    free(text);
    if (result == STATUS_OK) return STATUS_OK;
    detector_destroy(*det);
    *det = NULL;
    return result;
}

const geometry_format geometry_dragonfly_text = {
    .name = "detector of Dragonfly (text)", .recognize = text_recognize, .read = text_read};
