/* run_create.c: a run's beginning, its end, and what it can be asked for. */
#include "forecast.h"
#include "run_check.h"
#include "run_parts.h"
#include "schedule.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Slices are cut at this fraction of the data's mean. */
static const double slice_floor = 1e-3;

/* New device reals: scale times host doubles. */
static status upload(const run *r, const double *from, double scale, int64_t n, void **to)
{
    TRY(device_alloc(r->dev, bytes(r, n), to));
    double *scaled = malloc((size_t)(n + 1) * sizeof *scaled);
    if (!scaled) FAIL(STATUS_RESOURCE, "out of host memory");
    for (int64_t i = 0; i < n; i++)
        scaled[i] = from[i] * scale;
    status result = device_from_doubles(r->dev, r->precision, n, scaled, *to);
    free(scaled);
    return result;
}

/* 1/sqrt(standard deviation of the data in the pixel's shell), shells one Fourier voxel wide. */
static void make_whitening(const run *r, double *whitening)
{
    const images *set = r->set;
    const double width = 2 * r->s_max / (double)r->size;
    for (int64_t first = 0, last; first < set->n_pixels; first = last) {
        const int64_t shell = (int64_t)(r->catalogue->radius[first] / width);
        double mean = 0, square = 0;
        for (last = first; last < set->n_pixels; last++) {
            if ((int64_t)(r->catalogue->radius[last] / width) != shell) break;
            mean += set->mean[last];
            square += set->square[last];
        }
        mean /= (double)(last - first);
        square /= (double)(last - first);
        double deviation = sqrt(fmax(square - mean * mean, 0));
        for (int64_t p = first; p < last; p++)
            whitening[p] = deviation > 0 ? 1 / sqrt(deviation) : 0;
    }
}

static status create_match(run *r)
{
    const images *set = r->set;
    double *whitening = malloc((size_t)(set->n_pixels + 1) * sizeof *whitening);
    if (!whitening) FAIL(STATUS_RESOURCE, "out of host memory");
    make_whitening(r, whitening);
    double mean = 0;
    for (int64_t p = 0; p < set->n_pixels; p++)
        mean += set->mean[p] / (double)set->n_pixels;
    const device_kind kind = device_kind_of(r->dev);
    const int64_t unused = device_free_bytes(r->dev) / device_users(r->dev);
    match_options options = run_match_options(r->cfg, forecast_score_bytes(r->cfg, kind, unused),
                                              set->n_local, set->n_pixels);
    options.floor = slice_floor * mean;
    const match_pixels pixels = {r->catalogue->correction, set->mean, whitening};
    const match_source counts = {set->counts, &set->lists};
    status result = match_create(r->dev, &options, &pixels, &counts, &r->match);
    if (result == STATUS_OK) result = run_check_create(r, &options, whitening);
    free(whitening);
    return result;
}

static status allocate_density(run *r)
{
    const int64_t size = volume(r) * (int64_t)sizeof *r->average;
    void *memory;
    TRY(device_alloc(r->dev, size, &memory));
    r->average = memory;
    return device_zero(r->dev, memory, size);
}

static status create_stages(run *r)
{
    const config *cfg = r->cfg;
    const slice_options slicing = run_slice_options(cfg);
    const merge_options merging = run_merge_options(cfg, r->voxel);
    TRY(slicer_create(r->dev, &slicing, &r->slicer));
    TRY(merger_create(r->dev, &merging, &r->merger));
    TRY(create_match(r));
    const double radians = 2 * M_PI * r->voxel;
    TRY(upload(r, r->catalogue->s, radians, 3 * r->set->n_pixels, &r->pixels));
    TRY(upload(r, r->catalogue->correction, 1, r->set->n_pixels, &r->correction));
    TRY(device_alloc(r->dev, bytes(r, volume(r)), &r->model));
    TRY(device_alloc(r->dev, bytes(r, volume(r)), &r->merged));
    TRY(device_zero(r->dev, r->merged, bytes(r, volume(r))));
    return allocate_density(r);
}

/* Every image's fluence from the counts it has and those expected at fluence 1, mean 1 over all.
   Collective. */
status run_update_fluence(run *r, const double *expected)
{
    const images *set = r->set;
    double *mine = r->fluence + set->first;
    TRY(comm_agree(r->comm, match_counts(r->match, r->n_used, mine)));
    for (int64_t k = 0; k < set->n_local && expected; k++)
        mine[k] /= fmax(expected[k], 1e-300);
    TRY(comm_share(r->comm, r->fluence, set->per_rank, COMM_DOUBLE));
    double mean = 0;
    for (int64_t k = 0; k < set->n; k++)
        mean += r->fluence[k] / (double)set->n;
    for (int64_t k = 0; k < set->n; k++)
        r->fluence[k] = mean > 0 ? r->fluence[k] / mean : 1;
    return comm_agree(r->comm, match_set_fluence(r->match, r->fluence + set->first));
}

static status allocate_host(run *r)
{
    const size_t n = (size_t)r->set->n;
    r->density = calloc((size_t)volume(r), sizeof *r->density);
    r->prtf = calloc((size_t)r->size / 2 + 1, sizeof *r->prtf);
    r->fluence = calloc(n, sizeof *r->fluence);
    r->scores = calloc(n, sizeof *r->scores);
    r->orientations = calloc(4 * n, sizeof *r->orientations);
    r->entropy = calloc(n, sizeof *r->entropy);
    r->moved = calloc(n, sizeof *r->moved);
    r->share = calloc((size_t)comm_size(r->comm), sizeof *r->share);
    if (!r->density || !r->prtf || !r->fluence || !r->scores || !r->orientations || !r->entropy ||
        !r->moved || !r->share)
        FAIL(STATUS_RESOURCE, "out of host memory");
    return STATUS_OK;
}

status run_create(const config *cfg, const device *dev, comm *c, const catalogue *k,
                  const images *set, uint64_t seed, run **created)
{
    status result = STATUS_OK;
    *created = NULL;
    run *r = calloc(1, sizeof *r);
    comm_set_stage(c, "setup");
    TRY_OR(fail, comm_agree(c, r ? STATUS_OK : FAILED(STATUS_RESOURCE, "out of host memory")));
    *r = (run){.cfg = cfg, .dev = dev, .comm = c, .catalogue = k, .set = set, .seed = seed};
    r->precision = run_precision(cfg);
    r->size = cfg->grid.size;
    r->s_max = k->radius[k->n_pixels - 1];
    r->voxel = 1 / (2 * r->s_max);
    r->n_used = set->n_pixels;
    TRY_OR(fail, comm_device_create(c, dev, COMM_AUTO, &r->devices));
    result = allocate_host(r);
    if (result == STATUS_OK) result = create_stages(r);
    TRY_OR(fail, comm_agree(c, result));
    TRY_OR(fail, run_update_fluence(r, NULL));
    *created = r;
    return STATUS_OK;
fail:
    run_destroy(r);
    return result;
}

void run_destroy(run *r)
{
    if (!r) return;
    run_check_destroy(r);
    comm_device_destroy(r->devices);
    slicer_destroy(r->slicer);
    match_destroy(r->match);
    merger_destroy(r->merger);
    phaser_destroy(r->phaser);
    averager_destroy(r->averager);
    void *on_device[] = {r->pixels,       r->correction, r->model,   r->merged,   r->slices,
                         r->waiting_data, r->fixed,      r->average, r->densities};
    for (size_t i = 0; i < sizeof on_device / sizeof *on_device; i++)
        device_free(r->dev, on_device[i]);
    void *on_host[] = {
        r->density,         r->prtf,        r->fluence, r->scores,  r->orientations,
        r->moved,           r->quaternions, r->weights, r->columns, r->waiting_quaternions,
        r->waiting_weights, r->share,       r->entropy};
    for (size_t i = 0; i < sizeof on_host / sizeof *on_host; i++)
        free(on_host[i]);
    free(r);
}

/* This rank's part of n things. */
static int64_t part_of(const run *r, int64_t n)
{
    const int64_t ranks = comm_size(r->comm), rank = comm_rank(r->comm);
    return n * (rank + 1) / ranks - n * rank / ranks;
}

void run_account(const run *r, bool matched, int64_t starts, int loops, run_record *record)
{
    const config *cfg = r->cfg;
    const precision p = r->precision;
    const double tolerance = cfg->nufft.tolerance;
    const int64_t references = record->step.n_references;
    const int64_t passes = !matched ? 0 : match_keeps_scores(r->match) ? 1 : 2;
    const int64_t steps = schedule_phase_steps(cfg, loops);
    const int64_t sliced = cfg->run.deterministic ? references : part_of(r, references);
    const int64_t merged = cfg->run.deterministic ? record->n_active : part_of(r, record->n_active);
    stage_work *w = record->works;
    memcpy(record->costs, r->timer.costs, sizeof record->costs);
    if (passes > 0) w[STAGE_SLICE] = slice_work(p, r->size, tolerance, sliced * r->n_used * passes);
    w[STAGE_MATCH] = match_work(p, r->set->n_local, references, r->n_used);
    if (merged > 0) w[STAGE_MERGE] = merge_work(p, r->size, tolerance, merged * r->n_used);
    if (comm_rank(r->comm) == 0) w[STAGE_SOLVE] = solve_work(p, r->size, record->cg_iterations);
    w[STAGE_PHASE] = phase_work(p, r->size, steps, part_of(r, starts));
}

const double *run_density(const run *r)
{
    return r->density;
}

const double *run_prtf(const run *r)
{
    return r->prtf;
}

const double *run_orientations(const run *r)
{
    return r->orientations;
}

const double *run_fluence(const run *r)
{
    return r->fluence;
}

const double *run_scores(const run *r)
{
    return r->scores;
}

double run_voxel(const run *r)
{
    return r->voxel;
}

double run_s_max(const run *r)
{
    return r->s_max;
}

status run_autocorrelation(const run *r, double *out)
{
    return device_to_doubles(r->dev, r->precision, volume(r), r->merged, out);
}
