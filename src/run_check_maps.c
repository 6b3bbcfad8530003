/* run_check_maps.c: what is merged, and the densities. */
#include "run_check_parts.h"

#include <math.h>
#include <stdlib.h>

/* A host copy of n device reals; *copy is made at the first call. */
static status fetch(const run *r, const void *from, int64_t n, double **copy)
{
    if (!*copy) *copy = malloc((size_t)n * sizeof **copy);
    if (!*copy) FAIL(STATUS_RESOURCE, "out of host memory for run.check_invariants");
    return device_to_doubles(r->dev, r->precision, n, from, *copy);
}

/* Index of the centre of n^3. */
static int64_t centre_of(int64_t n)
{
    return n / 2 * (n * n + n + 1);
}

static status check_even(const run *r, const char *what, int64_t n, const double *v, double allowed)
{
    const double found = recompute_asymmetry(n, v);
    if (found <= allowed) return STATUS_OK;
    FAIL(
        STATUS_NUMERIC,
        "%s breaks Friedel's law: v(x) - v(-x) is %.2g of it (%.1g is allowed; grid %lld); " CHECK_CURE,
        what, found, allowed, (long long)r->size);
}

status run_check_sums(run *r)
{
    run_check *c = r->check;
    void *kernel, *data;
    int64_t n_kernel, n_data;
    if (!c) return STATUS_OK;
    const int64_t n = r->size, k = 2 * n - 1;
    const double error = fmax(r->cfg->nufft.tolerance, c->rounding);
    merger_sums(r->merger, &kernel, &n_kernel, &data, &n_data);
    TRY(fetch(r, kernel, n_kernel, &c->kernel));
    TRY(fetch(r, data, n_data, &c->data));
    TRY(run_check_near(r, "the merged weight", c->kernel[centre_of(k)], c->totals[TOTAL_POINTS],
                       10 * error));
    TRY(run_check_near(r, "the merged signal", c->data[centre_of(n)], c->totals[TOTAL_DATA],
                       10 * error));
    TRY(check_even(r, "the kernel of the merge", k, c->kernel, 4 * error));
    return check_even(r, "the merged data", n, c->data, 4 * error);
}

status run_check_solution(run *r, const merge_report *report)
{
    run_check *c = r->check;
    double residual;
    if (!c) return STATUS_OK;
    const merge_options options = run_merge_options(r->cfg, r->voxel);
    const double allowed = 2 * report->residual + 10 * fmax(r->cfg->nufft.tolerance, c->rounding);
    TRY(fetch(r, r->merged, volume(r), &c->merged));
    TRY(check_even(r, "the merged autocorrelation", r->size, c->merged, 0));
    TRY(recompute_residual(c->host, r->size, c->kernel, c->data, c->merged, options.radius,
                           options.lambda, &residual));
    if (residual <= allowed) return STATUS_OK;
    FAIL(
        STATUS_NUMERIC,
        "the merged autocorrelation leaves %.3g of the equations' right side, on the host, but %.3g "
        "was said (%.3g is allowed); " CHECK_CURE,
        residual, report->residual, allowed);
}

/* The R factor of a density for the run's merged autocorrelation, by FFTs on the host. */
static status r_factor_of(run *r, const double *density, double *r_factor)
{
    run_check *c = r->check;
    double *same = NULL;
    phase_options options = run_phase_options(r, 1);
    options.precision = PRECISION_DOUBLE;
    if (!c->phaser) TRY(phaser_create(c->host, &options, &c->phaser));
    TRY(fetch(r, r->merged, volume(r), &c->merged));
    TRY(phaser_set_target(c->phaser, c->merged, run_k_min(r), r->k_max));
    TRY(phaser_start_from(c->phaser, 0, density));
    TRY(device_alloc(c->host, volume(r) * (int64_t)sizeof *same, (void **)&same));
    const status result = phaser_get(c->phaser, same, r_factor);
    device_free(c->host, same);
    return result;
}

status run_check_phasing(run *r, int64_t count, const double *densities, const double *r_factors)
{
    run_check *c = r->check;
    double again;
    if (!c || count == 0) return STATUS_OK;
    const int64_t start = (int64_t)(random_uniform(&c->random) * (double)count);
    const int64_t size = volume(r) * (int64_t)sizeof *densities;
    double *density = malloc((size_t)size);
    if (!density) FAIL(STATUS_RESOURCE, "out of host memory");
    status result = device_to_host(r->dev, density, densities + start * volume(r), size);
    if (result == STATUS_OK) result = r_factor_of(r, density, &again);
    free(density);
    TRY(result);
    if (fabs(again - r_factors[start]) <= 100 * c->rounding) return STATUS_OK;
    FAIL(
        STATUS_NUMERIC,
        "a phased density (start %lld of this rank) has the R factor %.6f on the host, but %.6f was "
        "said; " CHECK_CURE,
        (long long)start, again, r_factors[start]);
}

status run_check_density(run *r)
{
    run_check *c = r->check;
    double squares = 0;
    if (!c) return STATUS_OK;
    TRY(fetch(r, r->model, volume(r), &c->modes));
    for (int64_t i = 0; i < volume(r); i++)
        squares += r->density[i] * r->density[i];
    TRY(run_check_near(r, "the density's autocorrelation at 0", c->modes[centre_of(r->size)],
                       squares, 10 * c->rounding));
    return check_even(r, "the density's autocorrelation", r->size, c->modes, c->rounding);
}
