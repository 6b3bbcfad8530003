#include "dataset.h"

#include <math.h>
#include <stdlib.h>

#include "build_info.h"
#include "io_hdf5.h"

struct dataset_writer {
    h5_writer *file;
    bool truth;
};

static status write_positions(h5_writer *file, const detector *det)
{
    const int64_t dims[4] = {det->shape[0], det->shape[1], det->shape[2], 3};
    double *s = malloc(3 * (size_t)det->n_pixels * sizeof *s);
    if (!s) FAIL(STATUS_RESOURCE, "no memory for the pixel positions");
    for (int64_t i = 0; i < 3 * det->n_pixels; i++)
        s[i] = 1e10 * det->s[i];
    status result = h5_write(file, "/pixel_position_reciprocal", H5_DOUBLE, 4, dims, s, "1/m",
                             "s = (k_out - k_in)/2pi at pixel centres, components x, y, z");
    free(s);
    return result;
}

static status write_index_map(h5_writer *file, const detector *det)
{
    const int64_t dims[4] = {det->shape[0], det->shape[1], det->shape[2], 2};
    int64_t *map = malloc(2 * (size_t)det->n_pixels * sizeof *map);
    if (!map) FAIL(STATUS_RESOURCE, "no memory for the pixel index map");
    for (int64_t p = 0; p < det->n_pixels; p++) {
        map[2 * p] = p / det->shape[2];
        map[2 * p + 1] = p % det->shape[2];
    }
    status result = h5_write(file, "/pixel_index_map", H5_INT64, 4, dims, map, NULL,
                             "row and column of a pixel in the assembled image");
    free(map);
    return result;
}

static status write_detector(h5_writer *file, const detector *det)
{
    const int64_t *dims = det->shape;
    TRY(write_positions(file, det));
    TRY(write_index_map(file, det));
    TRY(h5_write(file, "/polarization", H5_DOUBLE, 3, dims, det->polarization, "1",
                 "polarization factor of the scattered intensity"));
    TRY(h5_write(file, "/solid_angle", H5_DOUBLE, 3, dims, det->solid_angle, "sr",
                 "solid angle of a pixel"));
    return h5_write(file, "/mask", H5_UINT8, 3, dims, det->mask, NULL,
                    "1 where a pixel is used, 0 behind the beam stop");
}

static status write_number(h5_writer *file, const char *object, const char *name, double value)
{
    return h5_write_numbers(file, object, name, H5_DOUBLE, 1, &value);
}

static status write_integer(h5_writer *file, const char *object, const char *name, int64_t value)
{
    return h5_write_numbers(file, object, name, H5_INT64, 1, &value);
}

/* The corner of the detector is where |s| ends. */
static status write_attributes(h5_writer *file, const dataset_description *about)
{
    const detector *det = about->det;
    TRY(write_number(file, "/", "reciprocal_extent", 1e10 * detector_s_corner(det)));
    TRY(write_integer(file, "/", "n_images", about->n_images));
    TRY(write_integer(file, "/", "n_pixels_per_image", det->n_pixels));
    TRY(h5_write_numbers(file, "/", "det_shape", H5_INT64, 3, det->shape));
    TRY(write_number(file, "/", "det_distance", det->distance));
    TRY(h5_write_text(file, "/", "command_line", about->command_line));
    if (det->wavelength > 0) TRY(write_number(file, "/", "wavelength", det->wavelength));
    if (det->wavelength > 0)
        TRY(write_number(file, "/", "photon_energy", PHYSICS_HC / det->wavelength));
    TRY(write_number(file, "/", "pixel_size", det->pixel_size));
    TRY(write_number(file, "/", "flux", about->flux));
    TRY(write_integer(file, "/", "seed", (int64_t)about->seed));
    TRY(h5_write_text(file, "/", "attribute_units",
                      "reciprocal_extent 1/m, det_distance m, wavelength Angstrom, photon_energy "
                      "eV, pixel_size m, flux photons/m^2 at fluence 1"));
    TRY(h5_write_text(file, "/mtip", "version", BUILD_VERSION));
    if (about->config_text) TRY(h5_write_text(file, "/mtip", "config", about->config_text));
    return write_integer(file, "/mtip", "format", 1);
}

/* Arrays of one field each, from the array of atoms. */
typedef struct columns {
    double *positions, *occupancies, *b_factors;
    int32_t *elements;
} columns;

static status write_columns(h5_writer *file, const dataset_atoms *truth, columns *c)
{
    const int64_t n = truth->n_atoms, dims[2] = {n, 3};
    for (int64_t i = 0; i < n; i++) {
        for (int d = 0; d < 3; d++)
            c->positions[3 * i + d] = truth->atoms[i].position[d];
        c->occupancies[i] = truth->atoms[i].occupancy;
        c->b_factors[i] = truth->atoms[i].b_factor;
        c->elements[i] = truth->atoms[i].element;
    }
    TRY(h5_write(file, "/truth/atomic_numbers", H5_INT32, 1, dims, c->elements, NULL,
                 "elements of the atoms"));
    TRY(h5_write(file, "/truth/positions", H5_DOUBLE, 2, dims, c->positions, "Angstrom",
                 "atoms in the particle's frame, as in the structure file"));
    TRY(h5_write(file, "/truth/occupancies", H5_DOUBLE, 1, dims, c->occupancies, "1", NULL));
    return h5_write(file, "/truth/b_factors", H5_DOUBLE, 1, dims, c->b_factors, "Angstrom^2", NULL);
}

static status write_atoms(h5_writer *file, const dataset_atoms *truth)
{
    size_t n = (size_t)truth->n_atoms;
    columns c = {malloc(3 * n * sizeof *c.positions), malloc(n * sizeof *c.occupancies),
                 malloc(n * sizeof *c.b_factors), malloc(n * sizeof *c.elements)};
    status result;
    if (!c.positions || !c.occupancies || !c.b_factors || !c.elements)
        result = status_fail(STATUS_RESOURCE, __FILE__, __LINE__, "no memory for %zu atoms", n);
    else
        result = write_columns(file, truth, &c);
    free(c.positions);
    free(c.occupancies);
    free(c.b_factors);
    free(c.elements);
    TRY(result);
    TRY(write_number(file, "/truth", "photon_energy", truth->scattering.photon_energy));
    TRY(write_integer(file, "/truth", "dispersion", truth->scattering.dispersion));
    return write_integer(file, "/truth", "absorption", truth->scattering.absorption);
}

static status write_head(h5_writer *file, const dataset_description *about)
{
    const int64_t *shape = about->det->shape, n = about->n_images;
    const int64_t dims[4] = {n, shape[0], shape[1], shape[2]}, quaternion_dims[2] = {n, 4};
    TRY(write_detector(file, about->det));
    if (about->truth) {
        if (about->truth->n_atoms > 0) TRY(write_atoms(file, about->truth));
        TRY(h5_declare(file, "/orientations", H5_DOUBLE, 2, quaternion_dims, NULL,
                       "true rotation of the particle, unit quaternion w, x, y, z"));
        TRY(h5_declare(file, "/fluences", H5_DOUBLE, 1, dims, "1", "true fluence, 1 on average"));
    }
    TRY(h5_declare(file, "/intensities", H5_SINGLE, 4, dims, "photons", "counts of a pixel"));
    return write_attributes(file, about);
}

status dataset_create(const char *path, const dataset_description *about, dataset_writer **created)
{
    *created = NULL;
    dataset_writer *w = calloc(1, sizeof *w);
    if (!w) FAIL(STATUS_RESOURCE, "%s: no memory to write it", path);
    w->truth = about->truth;
    status result = h5_create(path, &w->file);
    if (result == STATUS_OK) result = write_head(w->file, about);
    if (result == STATUS_OK)
        *created = w;
    else
        dataset_abandon(w);
    return result;
}

status dataset_write(dataset_writer *w, int64_t first, int64_t count, const float *images,
                     const double *quaternions, const double *fluences)
{
    TRY(h5_write_rows(w->file, "/intensities", first, count, images));
    if (!w->truth) return STATUS_OK;
    TRY(h5_write_rows(w->file, "/orientations", first, count, quaternions));
    return h5_write_rows(w->file, "/fluences", first, count, fluences);
}

status dataset_commit(dataset_writer *w)
{
    status result = h5_commit(w->file);
    free(w);
    return result;
}

void dataset_abandon(dataset_writer *w)
{
    if (!w) return;
    h5_abandon(w->file);
    free(w);
}
