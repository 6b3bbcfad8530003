/* run_check.c: slices, scores, posteriors and tomograms; run_check_maps.c has the volumes. */
#include "run_check_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "mtip/random.h"
#include "mtip/rotation.h"

/* Of every batch: slice values, and images whose scores are computed again. */
enum { SAMPLES = 2, SAMPLE_IMAGES = 8 };

/* How far a posterior's sum may be from 1. */
static const double posterior_error = 0.02;

/* -- beginning and end -- */

static status allocate(run_check *c, const run *r)
{
    const images *set = r->set;
    const size_t n = (size_t)volume(r), pixels = (size_t)set->n_pixels + 1;
    c->n_images = smaller(SAMPLE_IMAGES, set->n_local);
    c->modes = calloc(2 * n, sizeof *c->modes);
    c->slice = calloc(pixels, sizeof *c->slice);
    c->whitening = calloc(pixels, sizeof *c->whitening);
    c->counts = calloc((size_t)c->n_images * pixels, sizeof *c->counts);
    c->sums = calloc((size_t)set->n_local + 1, sizeof *c->sums);
    c->batch_sums = calloc((size_t)set->n_local + 1, sizeof *c->batch_sums);
    c->photons = calloc((size_t)set->n_local + 1, sizeof *c->photons);
    if (!c->modes || !c->slice || !c->whitening || !c->counts || !c->sums || !c->batch_sums ||
        !c->photons)
        FAIL(STATUS_RESOURCE, "out of host memory for run.check_invariants");
    return device_create_cpu(device_threads(r->dev), &c->host);
}

/* The images are spread evenly over the rank's. */
static int64_t sample_image(const run *r, int64_t i)
{
    return i * r->set->n_local / r->check->n_images;
}

status run_check_create(run *r, const match_options *options, const double *whitening)
{
    const int64_t pixels = r->set->n_pixels;
    if (!r->cfg->run.check_invariants) return STATUS_OK;
    run_check *c = r->check = calloc(1, sizeof *c);
    if (!c) FAIL(STATUS_RESOURCE, "out of host memory");
    TRY(allocate(c, r));
    memcpy(c->whitening, whitening, (size_t)pixels * sizeof *whitening);
    for (int64_t i = 0; i < c->n_images; i++)
        images_row(r->set, sample_image(r, i), c->counts + i * pixels);
    c->method = options->method;
    c->floor = options->floor;
    c->rounding = r->precision == PRECISION_SINGLE ? 1e-5 : 1e-12;
    return STATUS_OK;
}

void run_check_destroy(run *r)
{
    run_check *c = r->check;
    if (!c) return;
    phaser_destroy(c->phaser);
    device_destroy(c->host);
    void *arrays[] = {c->modes,      c->slice,   c->whitening, c->counts, c->sums,
                      c->batch_sums, c->photons, c->kernel,    c->data,   c->merged};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
    free(c);
    r->check = NULL;
}

status run_check_begin(run *r, int number)
{
    run_check *c = r->check;
    if (!c) return STATUS_OK;
    random_start(&c->random, r->seed, RANDOM_CHECK, (uint64_t)number, (uint64_t)comm_rank(r->comm));
    memset(c->sums, 0, (size_t)r->set->n_local * sizeof *c->sums);
    memset(c->totals, 0, sizeof c->totals);
    return match_counts(r->match, r->n_used, c->photons);
}

/* A number below n. */
static int64_t pick(run_check *c, int64_t n)
{
    return (int64_t)(random_uniform(&c->random) * (double)n);
}

/* -- slices -- */

status run_check_model(run *r)
{
    run_check *c = r->check;
    const int64_t n = volume(r);
    if (!c) return STATUS_OK;
    TRY(device_to_doubles(r->dev, r->precision, n, r->model, c->modes));
    c->norm = 0;
    for (int64_t i = n - 1; i >= 0; i--) { /* to complex numbers, from the end, in place */
        c->norm += c->modes[i] * c->modes[i];
        c->modes[2 * i] = c->modes[i];
        c->modes[2 * i + 1] = 0;
    }
    c->norm = sqrt(c->norm);
    return STATUS_OK;
}

static status check_value(const run *r, int64_t reference, int64_t pixel,
                          const double quaternion[4], double found)
{
    const run_check *c = r->check;
    double matrix[9], q[3];
    const double *s = r->catalogue->s + 3 * pixel;
    rotation_matrix(quaternion, matrix);
    for (int d = 0; d < 3; d++)
        q[d] =
            2 * M_PI * r->voxel * (matrix[d] * s[0] + matrix[3 + d] * s[1] + matrix[6 + d] * s[2]);
    /* a NUFFT's error is relative to the values, which on average over all q are the norm of the
       modes, and larger near the beam */
    const double value = recompute_intensity(r->size, c->modes, q);
    const double allowed =
        10 * fmax(r->cfg->nufft.tolerance, c->rounding) * fmax(c->norm, fabs(value));
    if (!(fabs(found - value) <= allowed))
        FAIL(STATUS_NUMERIC,
             "a slice is wrong: %g at pixel %lld of reference %lld of a batch, the direct sum on "
             "the host is %g (%.1g is allowed); " CHECK_CURE,
             found, (long long)pixel, (long long)reference, value, allowed);
    return STATUS_OK;
}

status run_check_slices(run *r, int64_t count, const double *quaternions, const void *slices)
{
    run_check *c = r->check;
    if (!c || count == 0) return STATUS_OK;
    for (int i = 0; i < SAMPLES; i++) {
        double found;
        const int64_t reference = pick(c, count), pixel = pick(c, r->n_used);
        TRY(device_to_doubles(r->dev, r->precision, 1,
                              (const char *)slices + bytes(r, reference * r->n_used + pixel),
                              &found));
        TRY(check_value(r, reference, pixel, quaternions + 4 * reference, found));
    }
    return STATUS_OK;
}

/* -- scores -- */

status run_check_keep_slice(run *r, int64_t count, const void *slices)
{
    run_check *c = r->check;
    if (!c) return STATUS_OK;
    c->column = pick(c, count);
    return device_to_doubles(r->dev, r->precision, r->n_used,
                             (const char *)slices + bytes(r, c->column * r->n_used), c->slice);
}

status run_check_scores(run *r, int64_t first)
{
    const run_check *c = r->check;
    if (!c) return STATUS_OK;
    const recompute_rule rule = {c->method,        c->floor,
                                 r->set->n_pixels, r->catalogue->correction,
                                 r->set->mean,     c->whitening};
    for (int64_t i = 0; i < c->n_images; i++) {
        const int64_t image = sample_image(r, i);
        double found, size;
        TRY(match_get_score(r->match, first, c->column, image, &found));
        const double score = recompute_score(&rule, r->n_used, c->counts + i * r->set->n_pixels,
                                             c->slice, r->fluence[r->set->first + image], &size);
        if (!(fabs(found - score) <= c->rounding * size))
            FAIL(
                STATUS_NUMERIC,
                "a score is wrong: %.9g of image %lld and reference %lld, on the host %.9g (%.1g is "
                "allowed); " CHECK_CURE,
                found, (long long)r->set->source[r->set->first + image],
                (long long)(first + c->column), score, c->rounding * size);
    }
    return STATUS_OK;
}

/* -- posteriors and tomograms: sums -- */

status run_check_posterior(run *r)
{
    run_check *c = r->check;
    if (!c) return STATUS_OK;
    TRY(match_posterior_sums(r->match, -1, c->batch_sums));
    for (int64_t k = 0; k < r->set->n_local; k++) {
        c->sums[k] += c->batch_sums[k];
        c->totals[TOTAL_WEIGHTS] += c->batch_sums[k] * r->fluence[r->set->first + k];
    }
    return STATUS_OK;
}

status run_check_tomograms(run *r, int64_t n_active)
{
    run_check *c = r->check;
    if (!c) return STATUS_OK;
    TRY(match_posterior_sums(r->match, n_active, c->batch_sums));
    for (int64_t k = 0; k < r->set->n_local; k++)
        c->totals[TOTAL_PHOTONS] += c->batch_sums[k] * c->photons[k];
    return STATUS_OK;
}

/* The sum of all of [count][n_used]. */
static status sum_rows(const run *r, int64_t count, const void *rows, double *sum)
{
    const image_rows all = {
        .n_rows = count, .n_pixels = r->n_used, .stride = r->n_used, .data = (void *)rows};
    const int64_t size = count * (int64_t)sizeof(double);
    void *on_device = NULL;
    double *sums = malloc((size_t)size + 1);
    status result = STATUS_OK;
    if (!sums) FAIL(STATUS_RESOURCE, "out of host memory");
    TRY_OR(done, device_alloc(r->dev, size, &on_device));
    TRY_OR(done, image_kernels_of(r->dev, r->precision)->count(r->dev, &all, r->n_used, on_device));
    TRY_OR(done, device_to_host(r->dev, sums, on_device, size));
    for (int64_t i = 0; i < count; i++)
        *sum += sums[i];
done:
    device_free(r->dev, on_device);
    free(sums);
    return result;
}

status run_check_photons(run *r, int64_t count, const void *rows)
{
    run_check *c = r->check;
    return c && count > 0 ? sum_rows(r, count, rows, &c->totals[TOTAL_FOUND]) : STATUS_OK;
}

status run_check_rows(run *r, int64_t count, const void *rows, const double *weights)
{
    run_check *c = r->check;
    if (!c || count == 0) return STATUS_OK;
    for (int64_t a = 0; a < count; a++)
        c->totals[TOTAL_POINTS] += weights[a] * (double)r->n_used;
    return sum_rows(r, count, rows, &c->totals[TOTAL_DATA]);
}

status run_check_near(const run *r, const char *what, double found, double expected, double allowed)
{
    if (fabs(found - expected) <= allowed * fabs(expected)) return STATUS_OK;
    FAIL(STATUS_NUMERIC,
         "%s is %.9g, but must be %.9g (within %.1g of that; %lld images); " CHECK_CURE, what,
         found, expected, allowed, (long long)r->set->n);
}

static status check_posteriors(const run *r)
{
    const run_check *c = r->check;
    for (int64_t k = 0; k < r->set->n_local; k++)
        if (!(fabs(c->sums[k] - 1) <= posterior_error))
            FAIL(
                STATUS_NUMERIC,
                "the posterior of image %lld sums to %.6f instead of 1 (%g is allowed); " CHECK_CURE,
                (long long)r->set->source[r->set->first + k], c->sums[k], posterior_error);
    return STATUS_OK;
}

/* In the deterministic mode every rank merges all rows, else its own. */
status run_check_second_pass(run *r, double total_weight)
{
    run_check *c = r->check;
    if (!c) return STATUS_OK;
    TRY(comm_agree(r->comm, check_posteriors(r)));
    const int64_t n = r->cfg->run.deterministic ? TOTAL_FOUND : N_TOTALS;
    TRY(comm_sum(r->comm, c->totals, n, COMM_DOUBLE));
    TRY(run_check_near(r, "the sum of the references' weights", total_weight,
                       c->totals[TOTAL_WEIGHTS],
                       c->rounding + (double)r->n_references / WEIGHT_SCALE));
    TRY(run_check_near(r, "the sum of the references' weights", total_weight, (double)r->set->n,
                       posterior_error));
    return run_check_near(r, "the sum of the tomograms", c->totals[TOTAL_FOUND],
                          c->totals[TOTAL_PHOTONS], c->rounding);
}
