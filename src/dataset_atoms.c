#include "dataset_format.h"

#include <math.h>
#include <stdlib.h>

typedef struct columns {
    double *positions, *occupancies, *b_factors;
    int32_t *elements;
} columns;

static status count_atoms(const h5_reader *file, int64_t *n_atoms)
{
    h5_shape shape;
    TRY(h5_get_shape(file, "/truth/atomic_numbers", &shape));
    if (shape.rank != 1 || shape.dims[0] < 1 || shape.dims[0] > INT32_MAX)
        FAIL(STATUS_INPUT,
             "%s: dataset '/truth/atomic_numbers' of rank %d; expected one axis, of "
             "1 to 2^31 atoms",
             h5_path(file), shape.rank);
    *n_atoms = shape.dims[0];
    return STATUS_OK;
}

static status read_columns(const h5_reader *file, columns *c, dataset_atoms *truth)
{
    const int64_t dims[2] = {truth->n_atoms, 3};
    TRY(h5_read(file, "/truth/atomic_numbers", H5_INT32, 1, dims, c->elements));
    TRY(h5_read(file, "/truth/positions", H5_DOUBLE, 2, dims, c->positions));
    TRY(h5_read(file, "/truth/occupancies", H5_DOUBLE, 1, dims, c->occupancies));
    TRY(h5_read(file, "/truth/b_factors", H5_DOUBLE, 1, dims, c->b_factors));
    for (int64_t i = 0; i < truth->n_atoms; i++) {
        atom *a = &truth->atoms[i];
        *a = (atom){
            .occupancy = c->occupancies[i], .b_factor = c->b_factors[i], .element = c->elements[i]};
        double sum = a->occupancy + a->b_factor;
        for (int d = 0; d < 3; d++) {
            a->position[d] = c->positions[3 * i + d];
            sum += a->position[d];
        }
        if (!isfinite(sum))
            FAIL(STATUS_INPUT, "%s: atom %lld of '/truth' is not finite", h5_path(file),
                 (long long)i);
    }
    return STATUS_OK;
}

static status read_scattering(const h5_reader *file, scatter_settings *set)
{
    int32_t dispersion, absorption;
    TRY(h5_read_numbers(file, "/truth", "photon_energy", H5_DOUBLE, 1, &set->photon_energy));
    TRY(h5_read_numbers(file, "/truth", "dispersion", H5_INT32, 1, &dispersion));
    TRY(h5_read_numbers(file, "/truth", "absorption", H5_INT32, 1, &absorption));
    set->dispersion = dispersion != 0;
    set->absorption = absorption != 0;
    return STATUS_OK;
}

status dataset_atoms_read(const h5_reader *file, dataset_atoms *truth)
{
    *truth = (dataset_atoms){0};
    TRY(count_atoms(file, &truth->n_atoms));
    TRY(read_scattering(file, &truth->scattering));
    size_t n = (size_t)truth->n_atoms;
    truth->atoms = malloc(n * sizeof *truth->atoms);
    columns c = {malloc(3 * n * sizeof *c.positions), malloc(n * sizeof *c.occupancies),
                 malloc(n * sizeof *c.b_factors), malloc(n * sizeof *c.elements)};
    status result;
    if (!truth->atoms || !c.positions || !c.occupancies || !c.b_factors || !c.elements)
        result = status_fail(STATUS_RESOURCE, __FILE__, __LINE__, "no memory for %zu atoms", n);
    else
        result = read_columns(file, &c, truth);
    free(c.positions);
    free(c.occupancies);
    free(c.b_factors);
    free(c.elements);
    if (result != STATUS_OK) {
        free(truth->atoms);
        *truth = (dataset_atoms){0};
    }
    return result;
}
