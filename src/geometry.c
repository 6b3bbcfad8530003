#include "geometry.h"

#include <math.h>
#include <string.h>

#include "geometry_format.h"

enum { N_FORMATS = 4 };

/* In the order in which contents are looked at. */
static const geometry_format *const formats[N_FORMATS] = {
    &geometry_dragonfly_hdf5, &geometry_dragonfly_text, &geometry_json, &geometry_crystfel};

static int64_t product(const int64_t shape[3])
{
    return shape[0] * shape[1] * shape[2];
}

status geometry_shape(const geometry_settings *set, const geometry_images *images,
                      const int64_t own[3], int64_t shape[3])
{
    memcpy(shape, own, 3 * sizeof *shape);
    if (!images) return STATUS_OK;
    bool is_flat = images->shape[0] == 1 && images->shape[1] == 1;
    if (product(images->shape) != product(own))
        FAIL(STATUS_INPUT,
             "%s: a detector of %lld pixels (%lld x %lld x %lld), but the images of %s have %lld "
             "(%lld x %lld x %lld)",
             set->file, (long long)product(own), (long long)own[0], (long long)own[1],
             (long long)own[2], images->path, (long long)product(images->shape),
             (long long)images->shape[0], (long long)images->shape[1], (long long)images->shape[2]);
    if (!is_flat) memcpy(shape, images->shape, 3 * sizeof *shape);
    return STATUS_OK;
}

status geometry_wavelength(const geometry_settings *set, double found, double *wavelength)
{
    *wavelength = set->wavelength > 0 ? set->wavelength : found;
    if (!(*wavelength > 0) || !isfinite(*wavelength))
        FAIL(STATUS_CONFIG, "%s does not say the photon energy; set geometry.photon_energy (eV)",
             set->file);
    return STATUS_OK;
}

/* ---- a flat detector ---- */

static status check_flat(const geometry_settings *set, const geometry_images *images,
                         int64_t shape[3])
{
    if (!(set->wavelength > 0) || !(set->distance > 0) || !(set->pixel_size > 0))
        FAIL(STATUS_CONFIG,
             "nothing says where the pixels of %s are: set geometry.file, or for a flat detector "
             "geometry.photon_energy, geometry.distance and geometry.pixel_size",
             images->path);
    memcpy(shape, images->shape, sizeof images->shape);
    if (shape[0] != 1)
        FAIL(STATUS_CONFIG,
             "the images of %s have %lld panels of %lld x %lld pixels; where they are takes a file "
             "(geometry.file)",
             images->path, (long long)shape[0], (long long)shape[1], (long long)shape[2]);
    if (shape[1] > 1) return STATUS_OK;
    const int64_t side = (int64_t)(sqrt((double)shape[2]) + 0.5);
    if (side * side != shape[2])
        FAIL(STATUS_CONFIG,
             "the images of %s have %lld pixels, not those of a square detector; where they are "
             "takes a file (geometry.file)",
             images->path, (long long)shape[2]);
    shape[1] = shape[2] = side;
    return STATUS_OK;
}

void geometry_centre(const geometry_settings *set, int64_t n_rows, int64_t n_cols, double centre[2])
{
    const int64_t n[2] = {n_cols, n_rows};
    for (int d = 0; d < 2; d++)
        centre[d] =
            set->has_centre && set->centre[d] >= 0 ? set->centre[d] : 0.5 * (double)(n[d] - 1);
}

static status read_flat(const geometry_settings *set, const geometry_images *images, detector **det)
{
    int64_t shape[3];
    TRY(check_flat(set, images, shape));
    const double p = set->pixel_size;
    double centre[2];
    geometry_centre(set, shape[1], shape[2], centre);
    const panel whole = {.n_fs = shape[2],
                         .n_ss = shape[1],
                         .first = {-centre[0] * p, -centre[1] * p, set->distance},
                         .fs = {p, 0, 0},
                         .ss = {0, p, 0},
                         .stride_fs = 1,
                         .stride_ss = shape[2]};
    return detector_from_panels(&whole, 1, shape, set->wavelength, set->polarized, det);
}

/* ---- files ---- */

static const geometry_format *format_of(const char *path)
{
    for (int i = 0; i < N_FORMATS; i++)
        if (formats[i]->recognize(path)) return formats[i];
    return NULL;
}

const char *geometry_recognize(const char *path)
{
    const geometry_format *format = format_of(path);
    return format ? format->name : NULL;
}

static status read_file(const geometry_settings *set, const geometry_images *images, detector **det)
{
    const geometry_format *format = format_of(set->file);
    if (!format)
        FAIL(STATUS_INPUT,
             "%s: cannot be opened, or is no geometry: expected CrystFEL's .geom, a detector file "
             "of Dragonfly, or panel vectors in JSON",
             set->file);
    return format->read(set, images, det);
}

status geometry_read(const geometry_settings *set, const geometry_images *images, detector **det)
{
    *det = NULL;
    return set->file && *set->file ? read_file(set, images, det) : read_flat(set, images, det);
}

status geometry_read_alone(const geometry_settings *set, detector **det)
{
    *det = NULL;
    return read_file(set, NULL, det);
}
