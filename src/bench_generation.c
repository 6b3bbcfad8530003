#include "bench_generation.h"

#include "trial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct generation {
    config cfg;
    catalogue *catalogue;
    trial *trial;
    run_step step;
    int64_t n_active;
};

static void fill_settings(generation *g, const iteration_options *o, int64_t starts, double memory)
{
    config *c = &g->cfg;
    config_default(c);
    c->run.precision =
        o->precision == PRECISION_SINGLE ? CONFIG_PRECISION_SINGLE : CONFIG_PRECISION_DOUBLE;
    c->grid.size = o->size;
    c->grid.diameter =
        0.25 * (double)o->size; /* half the box: a voxel is 1/2 where |s| ends at 1 */
    c->nufft.tolerance = o->tolerance;
    c->match.memory = memory;
    c->merge.iterations = o->cg;
    c->merge.tolerance = 0;
    c->phase.generation_starts = starts;
    c->phase.loops = o->loops;
    g->step = (run_step){
        .resolution = 1, .n_references = o->references, .perplexity = 1.5, .feedback = true};
}

static int by_radius(const void *a, const void *b)
{
    const double *s = a, *t = b;
    const double x = s[0] * s[0] + s[1] * s[1] + s[2] * s[2];
    const double y = t[0] * t[0] + t[1] * t[1] + t[2] * t[2];
    return x < y ? -1 : x > y;
}

/* A flat square detector whose corners are at |s| = 1 on an Ewald sphere of radius 3. */
static void place_pixels(catalogue *k, int64_t edge)
{
    const double half = tan(2 * asin(1. / 6)) / sqrt(2);
    for (int64_t i = 0; i < k->n_pixels; i++) {
        const double u = half * (2 * (double)(i % edge) + 1 - (double)edge) / (double)(edge - 1);
        const double v = half * (2 * (double)(i / edge) + 1 - (double)edge) / (double)(edge - 1);
        const double length = sqrt(u * u + v * v + 1);
        k->s[3 * i] = 3 * u / length;
        k->s[3 * i + 1] = 3 * v / length;
        k->s[3 * i + 2] = 3 * (1 / length - 1);
    }
    qsort(k->s, (size_t)k->n_pixels, 3 * sizeof *k->s, by_radius);
    for (int64_t i = 0; i < k->n_pixels; i++) {
        const double *s = k->s + 3 * i;
        k->radius[i] = sqrt(s[0] * s[0] + s[1] * s[1] + s[2] * s[2]);
        k->correction[i] = 1;
    }
}

static status make_catalogue(generation *g, int64_t edge)
{
    catalogue *k = g->catalogue = calloc(1, sizeof *k);
    if (!k) FAIL(STATUS_RESOURCE, "out of host memory");
    k->n_pixels = edge * edge;
    k->s = malloc(3 * (size_t)k->n_pixels * sizeof *k->s);
    k->radius = malloc((size_t)k->n_pixels * sizeof *k->radius);
    k->correction = malloc((size_t)k->n_pixels * sizeof *k->correction);
    if (!k->s || !k->radius || !k->correction) FAIL(STATUS_RESOURCE, "out of host memory");
    place_pixels(k, edge);
    return STATUS_OK;
}

status generation_create(const device *dev, comm *c, const iteration_options *options,
                         int64_t starts, double memory, double *setup, generation **created)
{
    status result = STATUS_OK;
    *created = NULL;
    generation *g = calloc(1, sizeof *g);
    TRY_OR(fail, comm_agree(c, g ? STATUS_OK : FAILED(STATUS_RESOURCE, "out of host memory")));
    fill_settings(g, options, starts, memory);
    TRY_OR(fail, comm_agree(c, make_catalogue(g, options->pixels)));
    TRY_OR(fail, trial_create(&g->cfg, dev, c, g->catalogue, TRIAL_PHOTONS, options->images, setup,
                              &g->trial));
    *created = g;
    return STATUS_OK;
fail:
    generation_destroy(g);
    return result;
}

void generation_destroy(generation *g)
{
    if (!g) return;
    trial_destroy(g->trial);
    catalogue_destroy(g->catalogue);
    free(g);
}

status generation_run(generation *g, stage_cost *costs)
{
    run_record record;
    TRY(trial_start(g->trial));
    TRY(run_generation(trial_run(g->trial), 1, &g->step, &record));
    memcpy(costs, record.costs, N_STAGES * sizeof *costs);
    g->n_active = record.n_active;
    return STATUS_OK;
}

int64_t generation_active(const generation *g)
{
    return g->n_active;
}
