/* reference.c: see reference.h.  The coefficients are the simulator's own, at the Fourier voxels
   instead of a detector's pixels. */
#include "mtip/reference.h"

#include "mtip/atom_modes.h"
#include "mtip/ball.h"

#include <stdlib.h>

static const double tolerance = 1e-10;

/* The simulator's F has exp(+2 pi i s.r), a transform of the density exp(-2 pi i s.r): conjugate. */
static status fill(const device *dev, const ball *b, const double *modes, double voxel,
                   double *density)
{
    double per_voxel = 1 / (voxel * voxel * voxel);
    int64_t n = b->n, centre = n / 2;
    double *values = malloc((size_t)b->n_points * 2 * sizeof *values);
    if (!values) FAIL(STATUS_RESOURCE, "no memory for a reference of %lld", (long long)n);
    for (int64_t i = 0; i < b->n_points; i++) {
        const int *k = b->k[i];
        const double *f = modes + 2 * (((k[2] + centre) * n + k[1] + centre) * n + k[0] + centre);
        values[2 * i] = f[0] * per_voxel;
        values[2 * i + 1] = -f[1] * per_voxel;
    }
    status result = ball_to_map(dev, b, values, density);
    free(values);
    return result;
}

/* modes [n][n][n] complex in host memory. */
static status make_modes(const device *dev, const atom *atoms, int64_t n_atoms,
                         const scatter_settings *scattering, const reference_grid *grid,
                         double *modes)
{
    int64_t bytes = 2 * grid->n * grid->n * grid->n * (int64_t)sizeof *modes;
    /* the sphere itself belongs to the ball */
    const mode_grid box = {
        .n = grid->n, .box = (double)grid->n * grid->voxel, .s_cut = grid->s_max * (1 + 1e-9)};
    scatter_settings real_part = *scattering;
    void *on_device;
    real_part.absorption = false;
    TRY(device_alloc(dev, bytes, &on_device));
    status result = atom_modes(dev, atoms, n_atoms, &real_part, &box, tolerance, on_device);
    if (result == STATUS_OK) result = device_to_host(dev, modes, on_device, bytes);
    device_free(dev, on_device);
    return result;
}

status reference_density(const device *dev, const atom *atoms, int64_t n_atoms,
                         const scatter_settings *scattering, const reference_grid *grid,
                         double *density)
{
    status result = STATUS_OK;
    double box = (double)grid->n * grid->voxel;
    scatter_size size = scatter_measure(atoms, n_atoms);
    if (!(2 * size.radius <= box))
        FAIL(STATUS_INPUT, "atoms up to %.1f A from their centre do not fit into a box of %.1f A",
             size.radius, box);
    ball *b = NULL;
    double *modes = malloc((size_t)(2 * grid->n * grid->n * grid->n) * sizeof *modes);
    if (!modes) FAIL(STATUS_RESOURCE, "no memory for a reference of %lld", (long long)grid->n);
    TRY_OR(done, ball_create(grid->n, grid->s_max * box, &b));
    TRY_OR(done, make_modes(dev, atoms, n_atoms, scattering, grid, modes));
    TRY_OR(done, fill(dev, b, modes, grid->voxel, density));
done:
    free(modes);
    ball_destroy(b);
    return result;
}
