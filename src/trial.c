#include "trial.h"

#include "core/clock.h"

#include <math.h>
#include <stdlib.h>

/* Photons of a pixel, mean. */
static const double mean_count = 0.25;

struct trial {
    images *set;
    run *run;
};

/* Counts of 0 and 1. */
static void draw_counts(images *set)
{
    uint64_t state = 88172645463325252u + (uint64_t)set->first;
    for (int64_t i = 0; i < set->n_local * set->n_pixels; i++) {
        state ^= state << 13; /* Marsaglia's xorshift, J. Stat. Softw. 8, 14 (2003) */
        state ^= state >> 7;
        state ^= state << 17;
        set->counts[i] = (double)(state >> 11) * 0x1p-53 < mean_count ? 1.0F : 0.0F;
    }
}

static status make_images(trial *t, const comm *c, int64_t n_pixels, int64_t n)
{
    images *set = t->set = calloc(1, sizeof *set);
    if (!set) FAIL(STATUS_RESOURCE, "out of host memory");
    set->n = n;
    set->n_pixels = n_pixels;
    TRY(images_divide(set, c));
    const size_t pixels = (size_t)set->n_pixels;
    set->source = malloc((size_t)n * sizeof *set->source);
    set->counts = malloc(((size_t)set->n_local * pixels + 1) * sizeof *set->counts);
    set->mean = malloc(pixels * sizeof *set->mean);
    set->square = malloc(pixels * sizeof *set->square);
    if (!set->source || !set->counts || !set->mean || !set->square)
        FAIL(STATUS_RESOURCE, "out of host memory for %lld images", (long long)set->n_local);
    for (int64_t i = 0; i < n; i++)
        set->source[i] = i;
    for (size_t p = 0; p < pixels; p++)
        set->mean[p] = set->square[p] = mean_count;
    draw_counts(set);
    return STATUS_OK;
}

/* A lopsided particle to start from. Collective. */
static status start(trial *t, comm *c, int64_t n)
{
    const int64_t volume = n * n * n;
    double *density = malloc((size_t)volume * sizeof *density);
    status result =
        comm_agree(c, density ? STATUS_OK : FAILED(STATUS_RESOURCE, "out of host memory"));
    for (int64_t i = 0; i < volume && result == STATUS_OK; i++) {
        const double x = (double)(i % n - n / 2), y = (double)(i / n % n - n / 2),
                     z = (double)(i / n / n - n / 2);
        density[i] = exp(-(x * x + y * y + z * z) / 8) +
                     exp(-((x - 4) * (x - 4) + (y + 2) * (y + 2) + z * z) / 6);
    }
    if (result == STATUS_OK) result = run_set_density(t->run, density);
    free(density);
    return result;
}

status trial_create(const config *cfg, const device *dev, comm *c, const catalogue *pixels,
                    int64_t n_images, double *setup, trial **created)
{
    status result = STATUS_OK;
    *created = NULL;
    trial *t = calloc(1, sizeof *t);
    TRY_OR(fail, comm_agree(c, t ? make_images(t, c, pixels->n_pixels, n_images)
                                 : FAILED(STATUS_RESOURCE, "out of host memory")));
    const double begin = clock_seconds();
    TRY_OR(fail, run_create(cfg, dev, c, pixels, t->set, 1, &t->run));
    *setup = clock_seconds() - begin;
    TRY_OR(fail, start(t, c, cfg->grid.size));
    *created = t;
    return STATUS_OK;
fail:
    trial_destroy(t);
    return result;
}

void trial_destroy(trial *t)
{
    if (!t) return;
    run_destroy(t->run);
    images_destroy(t->set);
    free(t);
}

run *trial_run(trial *t)
{
    return t->run;
}
