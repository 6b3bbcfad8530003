#include "geometry_write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io_atomic.h"
#include "io_hdf5.h"

/* Radius of the Ewald sphere in voxels. */
static double choose_radius(const detector *det)
{
    if (det->distance > 0 && det->pixel_size > 0) return det->distance / det->pixel_size;
    return 0.5 * (double)det->shape[2] / (detector_s_corner(det) * det->wavelength);
}

static uint8_t mask_of(const detector *det, int64_t p)
{
    return det->mask[p] ? 0 : 2;
}

static status write_hdf5(h5_writer *w, const detector *det, double radius, double *values,
                         uint8_t *mask)
{
    static const char *const names[3] = {"/qx", "/qy", "/qz"};
    const int64_t n = det->n_pixels;
    const double detd = det->distance > 0 && det->pixel_size > 0 ? radius : 0;
    for (int d = 0; d < 3; d++) {
        for (int64_t p = 0; p < n; p++)
            values[p] = det->s[3 * p + d] * det->wavelength * radius;
        TRY(h5_write(w, names[d], H5_DOUBLE, 1, &n, values, NULL, NULL));
    }
    for (int64_t p = 0; p < n; p++) {
        values[p] = det->polarization[p] * det->solid_angle[p];
        mask[p] = mask_of(det, p);
    }
    TRY(h5_write(w, "/corr", H5_DOUBLE, 1, &n, values, NULL, NULL));
    TRY(h5_write(w, "/mask", H5_UINT8, 1, &n, mask, NULL, NULL));
    TRY(h5_write(w, "/detd", H5_DOUBLE, 0, NULL, &detd, NULL, NULL));
    return h5_write(w, "/ewald_rad", H5_DOUBLE, 0, NULL, &radius, NULL, NULL);
}

static status save_hdf5(const char *path, const detector *det, double radius)
{
    h5_writer *w = NULL;
    double *values = malloc((size_t)det->n_pixels * sizeof *values);
    uint8_t *mask = malloc((size_t)det->n_pixels);
    status result = values && mask ? h5_create(path, &w)
                                   : FAILED(STATUS_RESOURCE, "%s: no memory for its pixels", path);
    if (result == STATUS_OK) result = write_hdf5(w, det, radius, values, mask);
    free(values);
    free(mask);
    if (result == STATUS_OK) return h5_commit(w);
    h5_abandon(w);
    return result;
}

static status save_text(const char *path, const detector *det, double radius)
{
    atomic_file *file = NULL;
    TRY(atomic_begin_stream(path, &file));
    FILE *out = atomic_stream(file);
    fprintf(out, "%lld %.17g %.17g\n", (long long)det->n_pixels,
            det->distance > 0 && det->pixel_size > 0 ? radius : 0, radius);
    for (int64_t p = 0; p < det->n_pixels; p++) {
        for (int d = 0; d < 3; d++)
            fprintf(out, "%.17g ", det->s[3 * p + d] * det->wavelength * radius);
        fprintf(out, "%.17g %d\n", det->polarization[p] * det->solid_angle[p], mask_of(det, p));
    }
    return atomic_commit(file);
}

status geometry_write_dragonfly(const char *path, const detector *det)
{
    const size_t n = strlen(path);
    if (!det->s || !(det->wavelength > 0))
        FAIL(STATUS_INVALID, "%s: a detector without positions or wavelength", path);
    const double radius = choose_radius(det);
    const bool is_text = n > 4 && strcmp(path + n - 4, ".dat") == 0;
    return is_text ? save_text(path, det, radius) : save_hdf5(path, det, radius);
}
