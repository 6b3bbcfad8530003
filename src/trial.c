#include "trial.h"

#include "core/clock.h"
#include "mtip/random.h"
#include "mtip/rotation.h"
#include "trial_particle.h"

#include <stdlib.h>

/* Photons of a pixel, mean. */
static const double mean_count = 0.25;

struct trial {
    comm *comm;
    trial_particle particle;
    int64_t n;      /* edge of the grid */
    double voxel;   /* Angstrom */
    double photons; /* of an intensity of 1 */
    images *set;
    run *run;
};

/* Counts of 0 and 1. */
static void draw_noise(images *set)
{
    uint64_t state = 88172645463325252u + (uint64_t)set->first;
    for (int64_t i = 0; i < set->n_local * set->n_pixels; i++) {
        state ^= state << 13; /* Marsaglia's xorshift, J. Stat. Softw. 8, 14 (2003) */
        state ^= state >> 7;
        state ^= state << 17;
        set->counts[i] = (double)(state >> 11) * 0x1p-53 < mean_count ? 1.0F : 0.0F;
    }
}

/* What intensity 1 is in photons, so that evenly spread orientations have the mean count. */
static double photons_of(const trial_particle *p, const catalogue *k, float *row)
{
    enum { ORIENTATIONS = 64 };
    double sum = 0;
    for (int i = 0; i < ORIENTATIONS; i++) {
        double q[4];
        rotation_cover(ORIENTATIONS, i, 1, NULL, q);
        trial_particle_intensity(p, q, k->n_pixels, k->s, row);
        for (int64_t j = 0; j < k->n_pixels; j++)
            sum += row[j];
    }
    return mean_count * ORIENTATIONS * (double)k->n_pixels / sum;
}

static void draw_image(const trial_particle *p, const catalogue *k, int64_t image, double photons,
                       float *row)
{
    double u[3], q[4];
    random_stream stream;
    random_start(&stream, 1, RANDOM_ORIENTATION, (uint64_t)image, 0);
    for (int d = 0; d < 3; d++)
        u[d] = random_uniform(&stream);
    rotation_uniform(u, q);
    trial_particle_intensity(p, q, k->n_pixels, k->s, row);
    random_start(&stream, 1, RANDOM_PHOTONS, (uint64_t)image, 0);
    for (int64_t j = 0; j < k->n_pixels; j++)
        row[j] = (float)random_poisson(&stream, photons * row[j]);
}

static void draw_photons(const trial *t, const catalogue *k)
{
    const images *set = t->set;
#pragma omp parallel for schedule(dynamic, 16)
    for (int64_t i = 0; i < set->n_local; i++)
        draw_image(&t->particle, k, set->first + i, t->photons, set->counts + i * set->n_pixels);
}

static void add_means(images *set)
{
    const double each = 1 / (double)set->n;
    for (int64_t i = 0; i < set->n_local; i++) {
        const float *row = set->counts + i * set->n_pixels;
        for (int64_t p = 0; p < set->n_pixels; p++) {
            set->mean[p] += each * row[p];
            set->square[p] += each * row[p] * row[p];
        }
    }
}

static status make_images(trial *t, const catalogue *k, trial_content content, int64_t n)
{
    images *set = t->set = calloc(1, sizeof *set);
    if (!set) FAIL(STATUS_RESOURCE, "out of host memory");
    set->n = n;
    set->n_pixels = k->n_pixels;
    TRY(images_divide(set, t->comm));
    const size_t pixels = (size_t)set->n_pixels;
    set->source = malloc((size_t)n * sizeof *set->source);
    set->counts = malloc(((size_t)set->n_local + 1) * pixels * sizeof *set->counts);
    set->mean = calloc(pixels, sizeof *set->mean);
    set->square = calloc(pixels, sizeof *set->square);
    if (!set->source || !set->counts || !set->mean || !set->square)
        FAIL(STATUS_RESOURCE, "out of host memory for %lld images", (long long)set->n_local);
    for (int64_t i = 0; i < n; i++)
        set->source[i] = i;
    t->photons = photons_of(&t->particle, k, set->counts);
    if (content == TRIAL_NOISE)
        draw_noise(set);
    else
        draw_photons(t, k);
    add_means(set);
    return STATUS_OK;
}

/* The particle and images of it. Collective. */
static status fill(trial *t, const config *cfg, const catalogue *k, trial_content content,
                   int64_t n)
{
    t->voxel = 1 / (2 * k->radius[k->n_pixels - 1]);
    t->particle = trial_particle_make(cfg->grid.diameter, t->voxel);
    TRY(comm_agree(t->comm, make_images(t, k, content, n)));
    TRY(comm_sum(t->comm, t->set->mean, k->n_pixels, COMM_DOUBLE));
    return comm_sum(t->comm, t->set->square, k->n_pixels, COMM_DOUBLE);
}

status trial_start(trial *t)
{
    const int64_t n = t->n;
    double *density = malloc((size_t)(n * n * n) * sizeof *density);
    status result =
        comm_agree(t->comm, density ? STATUS_OK : FAILED(STATUS_RESOURCE, "out of host memory"));
    if (result == STATUS_OK) {
        trial_particle_density(&t->particle, t->voxel, t->photons, n, density);
        result = run_set_density(t->run, density);
    }
    free(density);
    return result;
}

status trial_create(const config *cfg, const device *dev, comm *c, const catalogue *pixels,
                    trial_content content, int64_t n_images, double *setup, trial **created)
{
    status result = STATUS_OK;
    *created = NULL;
    trial *t = calloc(1, sizeof *t);
    TRY_OR(fail, comm_agree(c, t ? STATUS_OK : FAILED(STATUS_RESOURCE, "out of host memory")));
    t->comm = c;
    t->n = cfg->grid.size;
    TRY_OR(fail, fill(t, cfg, pixels, content, n_images));
    const double begin = clock_seconds();
    TRY_OR(fail, run_create(cfg, dev, c, pixels, t->set, 1, &t->run));
    *setup = clock_seconds() - begin;
    TRY_OR(fail, trial_start(t));
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
