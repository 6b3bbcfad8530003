#include "inputs.h"

#include "core/log.h"
#include "text.h"

#include <math.h>

/* The autocorrelation may stick out of the box by this much: a particle is narrower than its largest
   diameter in most directions, and that is often overstated. */
static const double overhang = 1.3;

status inputs_check_grid(const config *cfg, double s_max)
{
    const double voxel = 1 / (2 * s_max), box = (double)cfg->grid.size * voxel;
    const double width = 2 * cfg->grid.diameter;
    if (cfg->grid.diameter * s_max < 1)
        return config_fail(cfg, &cfg->grid.diameter,
                           "is %g A, smaller than the finest period of the images, %.2f A; write "
                           "the particle's largest diameter in A",
                           cfg->grid.diameter, 1 / s_max);
    if (width > overhang * box)
        return config_fail(
            cfg, &cfg->grid.size,
            "is %lld voxels of %.3f A, half the finest period, a box of %.1f A, but "
            "the autocorrelation of a particle of grid.diameter %g A is %g A across; "
            "make grid.size at least %.0f",
            (long long)cfg->grid.size, voxel, box, cfg->grid.diameter, width, ceil(width / voxel));
    if (width > box)
        log_warning("grid.size %lld is a box of %.1f A, less than twice grid.diameter %g A; "
                    "%.0f would hold all of the autocorrelation",
                    (long long)cfg->grid.size, box, cfg->grid.diameter, ceil(width / voxel));
    return STATUS_OK;
}

/* The first generation has pixels as well as a Fourier voxel. */
static status check_resolution(const config *cfg, const catalogue *k)
{
    const double s_max = k->radius[k->n_pixels - 1];
    const double first = fmax(k->radius[0] / s_max, 2 / (double)cfg->grid.size);
    if (cfg->run.resolution_start < first)
        return config_fail(cfg, &cfg->run.resolution_start,
                           "is %g of the largest |s|, a period of %.1f A, where the images or the "
                           "grid have nothing yet; make it at least %.3f",
                           cfg->run.resolution_start, 1 / (cfg->run.resolution_start * s_max),
                           ceil(1000 * first) / 1000);
    return STATUS_OK;
}

/* The orientations that a run would start from. */
static status check_truth(const config *cfg, const catalogue *k)
{
    if (!cfg->run.true_orientations) return STATUS_OK;
    if (!k->file->has_truth)
        return config_fail(cfg, &cfg->run.true_orientations,
                           "is true, but %s holds no orientations; write false", k->file->path);
    double q[4];
    for (int64_t i = 0; i < k->n_usable; i++)
        TRY(dataset_read_truth(k->file, k->usable[i], 1, q, NULL));
    return STATUS_OK;
}

static void warn_of_data(const config *cfg, const catalogue *k)
{
    const double slices = ceil(M_PI * cfg->grid.diameter * k->radius[k->n_pixels - 1]);
    if (k->n_unwanted > 0)
        log_info("%lld image%s on data.blacklist left out", (long long)k->n_unwanted,
                 text_plural(k->n_unwanted));
    if (k->n_bright > 0)
        log_warning(
            "%lld image%s with more than 1000 times the photons of the median image left out",
            (long long)k->n_bright, text_plural(k->n_bright));
    if ((double)k->n_usable < 2 * slices)
        log_warning("%lld images are few: each half needs about pi x diameter / resolution = %.0f "
                    "to fill the sphere, and the agreement of the halves means little below that",
                    (long long)k->n_usable, slices);
}

static status check(const config *cfg, const catalogue *k)
{
    TRY(inputs_check_grid(cfg, k->radius[k->n_pixels - 1]));
    TRY(check_resolution(cfg, k));
    TRY(check_truth(cfg, k));
    warn_of_data(cfg, k);
    return STATUS_OK;
}

status inputs_open(const config *cfg, comm *c, catalogue **created)
{
    catalogue *k = NULL;
    *created = NULL;
    TRY(catalogue_create(cfg, c, &k));
    const status result = comm_agree(c, comm_rank(c) == 0 ? check(cfg, k) : STATUS_OK);
    if (result == STATUS_OK)
        *created = k;
    else
        catalogue_destroy(k);
    return result;
}
