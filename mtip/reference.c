/* reference.c: see reference.h.  The coefficients are the simulator's own direct sum, at the
   Fourier voxels instead of a detector's pixels. */
#include "mtip/reference.h"

#include "mtip/ball.h"

#include <stdlib.h>

/* The simulator's F has exp(+2 pi i s.r), a transform of the density exp(-2 pi i s.r): conjugate. */
static status fill(const device *dev, const ball *b, const scatter *sc, double voxel,
                   double *density)
{
    const double still[4] = {1, 0, 0, 0};
    double per_voxel = 1 / (voxel * voxel * voxel);
    double *values = malloc((size_t)b->n_points * 2 * sizeof *values);
    if (!values) FAIL(STATUS_RESOURCE, "no memory for a reference of %lld", (long long)b->n);
    scatter_amplitudes(sc, still, values);
    for (int64_t i = 0; i < b->n_points; i++) {
        values[2 * i] *= per_voxel;
        values[2 * i + 1] *= -per_voxel;
    }
    status result = ball_to_map(dev, b, values, density);
    free(values);
    return result;
}

/* The atoms, ready for the Fourier voxels of the ball. */
static status prepare(const atom *atoms, int64_t n_atoms, const scatter_settings *scattering,
                      const ball *b, double box, scatter **sc)
{
    scatter_settings real_part = *scattering;
    real_part.absorption = false;
    double *s = malloc((size_t)b->n_points * 3 * sizeof *s);
    if (!s) FAIL(STATUS_RESOURCE, "no memory for a reference of %lld", (long long)b->n);
    for (int64_t i = 0; i < 3 * b->n_points; i++)
        s[i] = b->k[i / 3][i % 3] / box;
    status result = scatter_create(atoms, n_atoms, s, b->n_points, &real_part, sc);
    free(s);
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
    scatter *sc = NULL;
    TRY(ball_create(grid->n, grid->s_max * box, &b));
    TRY_OR(done, prepare(atoms, n_atoms, scattering, b, box, &sc));
    TRY_OR(done, fill(dev, b, sc, grid->voxel, density));
done:
    scatter_destroy(sc);
    ball_destroy(b);
    return result;
}
