#include "dataset_format.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char positions_name[] = "/pixel_position_reciprocal";

static const h5_reader *file_of(const dataset *ds)
{
    return ((const hdf5_images *)ds->source)->file;
}

/* Whether dims [rank] are the detector's, with or without its axis of panels if that is one. */
static bool is_detector_shape(const dataset *ds, const int64_t *dims, int rank)
{
    int skip = 3 - rank;
    if (skip < 0 || skip > 1 || (skip == 1 && ds->det->shape[0] != 1)) return false;
    for (int d = 0; d < rank; d++)
        if (dims[d] != ds->det->shape[d + skip]) return false;
    return true;
}

/* (3, pixels) to (pixels, 3) */
static status transpose_positions(dataset *ds)
{
    size_t n = (size_t)ds->det->n_pixels;
    double *turned = malloc(3 * n * sizeof *turned);
    if (!turned) FAIL(STATUS_RESOURCE, "%s: no memory for the pixel positions", ds->path);
    for (size_t p = 0; p < n; p++)
        for (size_t d = 0; d < 3; d++)
            turned[3 * p + d] = ds->det->s[d * n + p];
    free(ds->det->s);
    ds->det->s = turned;
    return STATUS_OK;
}

/* Components last, or first as in old files.  The detector's shape decides: a three-panel detector
   has both a first and a last axis of 3. */
static status read_positions(dataset *ds)
{
    h5_shape shape;
    TRY(h5_get_shape(file_of(ds), positions_name, &shape));
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
             ds->path, positions_name, text, (long long)ds->det->shape[0],
             (long long)ds->det->shape[1], (long long)ds->det->shape[2],
             (long long)ds->det->shape[0], (long long)ds->det->shape[1],
             (long long)ds->det->shape[2]);
    }
    TRY(h5_read(file_of(ds), positions_name, H5_DOUBLE, rank, shape.dims, ds->det->s));
    return last ? STATUS_OK : transpose_positions(ds);
}

/* From 1/m to 1/Angstrom; sizes that no diffraction experiment has are taken for a mistake. */
static status convert_positions(dataset *ds)
{
    double largest = 0;
    for (int64_t p = 0; p < ds->det->n_pixels; p++) {
        double *s = ds->det->s + 3 * p, square = s[0] * s[0] + s[1] * s[1] + s[2] * s[2];
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
    memset(ds->det->mask, 1, (size_t)ds->det->n_pixels);
    if (!h5_has(file_of(ds), "/mask")) return STATUS_OK;
    h5_shape shape;
    TRY(h5_get_shape(file_of(ds), "/mask", &shape));
    const int64_t *dims =
        is_detector_shape(ds, shape.dims, shape.rank) ? shape.dims : ds->det->shape;
    TRY(h5_read(file_of(ds), "/mask", H5_UINT8, dims == ds->det->shape ? 3 : shape.rank, dims,
                ds->det->mask));
    int64_t n_used = 0;
    for (int64_t p = 0; p < ds->det->n_pixels; p++) {
        ds->det->mask[p] = ds->det->mask[p] != 0;
        n_used += ds->det->mask[p];
    }
    if (n_used == 0)
        FAIL(STATUS_INPUT, "%s: dataset '/mask' leaves no pixel to use; expected 1 = use",
             ds->path);
    return STATUS_OK;
}

/* A factor of the detector, where the file has it. */
static status read_factor(dataset *ds, const char *name, double *factor)
{
    if (!h5_has(file_of(ds), name)) return STATUS_OK;
    h5_shape shape;
    TRY(h5_get_shape(file_of(ds), name, &shape));
    const int64_t *dims =
        is_detector_shape(ds, shape.dims, shape.rank) ? shape.dims : ds->det->shape;
    int rank = dims == ds->det->shape ? 3 : shape.rank;
    TRY(h5_read(file_of(ds), name, H5_DOUBLE, rank, dims, factor));
    for (int64_t p = 0; p < ds->det->n_pixels; p++)
        if (ds->det->mask[p] && !(factor[p] > 0 && isfinite(factor[p])))
            FAIL(STATUS_INPUT, "%s: dataset '%s' is %g in pixel %lld; expected a positive number",
                 ds->path, name, factor[p], (long long)p);
    return STATUS_OK;
}

static status read_wavelength(dataset *ds)
{
    const double curved = fabs(detector_curvature(ds->det));
    ds->det->wavelength = curved;
    if (!h5_has_attribute(file_of(ds), "/", "wavelength")) return STATUS_OK;
    TRY(h5_read_numbers(file_of(ds), "/", "wavelength", H5_DOUBLE, 1, &ds->det->wavelength));
    if (!(ds->det->wavelength > 0) || !detector_is_on_sphere(ds->det))
        FAIL(STATUS_INPUT,
             "%s: attribute 'wavelength' is %g Angstrom, but the pixel positions lie on an Ewald "
             "sphere of %g Angstrom",
             ds->path, ds->det->wavelength, curved);
    return STATUS_OK;
}

static status orientation_shape(const dataset *ds, h5_shape *shape)
{
    TRY(h5_get_shape(file_of(ds), "/orientations", shape));
    bool flat = shape->rank == 2, nested = shape->rank == 3 && shape->dims[1] == 1;
    if ((flat || nested) && shape->dims[0] == ds->n_images && shape->dims[shape->rank - 1] == 4)
        return STATUS_OK;
    char text[128];
    h5_describe(shape, text, sizeof text);
    FAIL(STATUS_INPUT, "%s: dataset '/orientations' is %s; expected (%lld, 4)", ds->path, text,
         (long long)ds->n_images);
}

static status read_size(dataset *ds, const char *name, double *size)
{
    if (!h5_has_attribute(file_of(ds), "/", name)) return STATUS_OK;
    return h5_read_numbers(file_of(ds), "/", name, H5_DOUBLE, 1, size);
}

static status read_detector(dataset *ds)
{
    TRY(read_positions(ds));
    TRY(convert_positions(ds));
    TRY(read_mask(ds));
    TRY(read_factor(ds, "/polarization", ds->det->polarization));
    TRY(read_factor(ds, "/solid_angle", ds->det->solid_angle));
    TRY(read_wavelength(ds));
    TRY(read_size(ds, "det_distance", &ds->det->distance));
    return read_size(ds, "pixel_size", &ds->det->pixel_size);
}

static status spinifel_open(dataset *ds, const dataset_settings *set)
{
    int64_t image[3];
    TRY(dataset_hdf5_open(ds, set->images, "intensities"));
    TRY(dataset_hdf5_shape(ds, false, image));
    if (set->geometry.file && *set->geometry.file) {
        const geometry_images images = {ds->path, {image[0], image[1], image[2]}, file_of(ds)};
        TRY(dataset_locate(ds, set, &images));
    } else {
        TRY(detector_allocate(image, &ds->det));
        TRY(read_detector(ds));
    }
    h5_shape shape;
    ds->has_truth = h5_has(file_of(ds), "/orientations");
    ds->has_atoms = h5_has(file_of(ds), "/truth/atomic_numbers");
    return ds->has_truth ? orientation_shape(ds, &shape) : STATUS_OK;
}

static status read_fluences(const dataset *ds, int64_t first, int64_t count, double *fluences)
{
    for (int64_t i = 0; i < count; i++)
        fluences[i] = 1;
    if (!h5_has(file_of(ds), "/fluences")) return STATUS_OK;
    h5_shape shape;
    TRY(h5_get_shape(file_of(ds), "/fluences", &shape));
    if (shape.rank == 1 && shape.dims[0] == 0) return STATUS_OK; /* no jitter */
    if (shape.rank != 1 || shape.dims[0] != ds->n_images) {
        char text[128];
        h5_describe(&shape, text, sizeof text);
        FAIL(STATUS_INPUT, "%s: dataset '/fluences' is %s; expected (%lld)", ds->path, text,
             (long long)ds->n_images);
    }
    return h5_read_rows(file_of(ds), "/fluences", H5_DOUBLE, first, count, fluences);
}

static status spinifel_read_truth(const dataset *ds, int64_t first, int64_t count,
                                  double *quaternions, double *fluences)
{
    h5_shape shape;
    TRY(orientation_shape(ds, &shape));
    TRY(h5_read_rows(file_of(ds), "/orientations", H5_DOUBLE, first, count, quaternions));
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

static status spinifel_read_atoms(const dataset *ds, dataset_atoms *truth)
{
    return dataset_atoms_read(file_of(ds), truth);
}

static bool spinifel_recognize(const char *path)
{
    return h5_file_has(path, positions_name) || h5_file_has(path, "/intensities");
}

const dataset_format dataset_spinifel = {
    .name = "spinifel",
    .recognize = spinifel_recognize,
    .open = spinifel_open,
    .close = dataset_hdf5_close,
    .read = dataset_hdf5_read,
    .read_truth = spinifel_read_truth,
    .read_atoms = spinifel_read_atoms,
};
