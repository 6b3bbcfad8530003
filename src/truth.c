#include "truth.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/log.h"
#include "dataset.h"
#include "io_mrc.h"
#include "molecule.h"

static status allocate_density(const run_output *run, truth *t)
{
    t->density = malloc((size_t)(run->n * run->n * run->n) * sizeof *t->density);
    if (!t->density) FAIL(STATUS_RESOURCE, "no memory for a map of %lld", (long long)run->n);
    return STATUS_OK;
}

static status density_of(const device *dev, const atom *atoms, int64_t n_atoms,
                         const scatter_settings *scattering, const run_output *run, truth *t)
{
    const reference_grid grid = {run->n, run->voxel, run->s_max};
    TRY(allocate_density(run, t));
    return reference_density(dev, atoms, n_atoms, scattering, &grid, t->density);
}

static status density_of_structure(const device *dev, const char *path, const run_output *run,
                                   truth *t)
{
    const config *c = &run->settings;
    molecule_settings settings;
    const scatter_settings scattering = {.photon_energy = c->beam.photon_energy};
    molecule *mol = NULL;
    TRY(molecule_settings_of(c, &settings));
    TRY(molecule_read(path, &settings, &mol));
    status result = density_of(dev, mol->atoms, mol->n_atoms, &scattering, run, t);
    molecule_destroy(mol);
    return result;
}

static status density_of_map(const char *path, const run_output *run, truth *t)
{
    int64_t n;
    double voxel;
    TRY(run_output_read_map(path, &n, &voxel, &t->density));
    if (n != run->n || fabs(voxel - run->voxel) > 1e-3 * run->voxel)
        FAIL(STATUS_INPUT, "%s: %lld voxels of %g A; expected the run's %lld of %g A", path,
             (long long)n, voxel, (long long)run->n, run->voxel);
    return STATUS_OK;
}

/* The rows of the run's images. */
static status pick_orientations(const dataset *ds, const run_output *run, truth *t)
{
    for (int64_t i = 0; i < run->n_images; i++)
        if (run->image[i] < 0 || run->image[i] >= ds->n_images)
            FAIL(STATUS_INPUT, "the run used image %lld, but %s has %lld: it is not its data set",
                 (long long)run->image[i], ds->path, (long long)ds->n_images);
    t->orientations = malloc((size_t)run->n_images * 4 * sizeof *t->orientations);
    double *all = malloc((size_t)ds->n_images * 4 * sizeof *all);
    if (!t->orientations || !all) {
        free(all);
        FAIL(STATUS_RESOURCE, "no memory for %lld orientations", (long long)ds->n_images);
    }
    status result = dataset_read_truth(ds, 0, ds->n_images, all, NULL);
    for (int64_t i = 0; i < run->n_images && result == STATUS_OK; i++)
        memcpy(t->orientations + 4 * i, all + 4 * run->image[i], 4 * sizeof *all);
    free(all);
    return result;
}

static status read_dataset(const device *dev, const dataset *ds, const run_output *run, truth *t)
{
    dataset_atoms atoms = {0};
    if (ds->has_truth && run->n_images > 0) TRY(pick_orientations(ds, run, t));
    if (!ds->has_atoms) {
        log_warning("%s holds no atoms; the density cannot be judged by it", ds->path);
        return STATUS_OK;
    }
    TRY(dataset_read_atoms(ds, &atoms));
    status result = density_of(dev, atoms.atoms, atoms.n_atoms, &atoms.scattering, run, t);
    free(atoms.atoms);
    return result;
}

static status read_file(const device *dev, const char *path, const run_output *run, truth *t)
{
    if (access(path, R_OK) != 0) FAIL(STATUS_INPUT, "cannot read %s: %s", path, strerror(errno));
    if (mrc_recognize(path)) return density_of_map(path, run, t);
    if (!h5_recognize(path)) return density_of_structure(dev, path, run, t);
    dataset *ds = NULL;
    dataset_settings settings = {.path = path};
    if (strcmp(path, run->data_file) == 0) settings = dataset_settings_of(&run->settings);
    settings.path = path;
    TRY(dataset_open(&settings, &ds));
    status result = read_dataset(dev, ds, run, t);
    dataset_close(ds);
    return result;
}

status truth_read(const device *dev, const char *path, const run_output *run, truth **read)
{
    truth *t = calloc(1, sizeof *t);
    if (!t) FAIL(STATUS_RESOURCE, "no memory for the truth");
    status result = read_file(dev, path, run, t);
    if (result == STATUS_OK)
        *read = t;
    else
        truth_destroy(t);
    return result;
}

void truth_destroy(truth *t)
{
    if (!t) return;
    free(t->density);
    free(t->orientations);
    free(t);
}
