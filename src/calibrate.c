#include "calibrate.h"

#include "core/clock.h"
#include "core/integer.h"
#include "forecast.h"
#include "mtip/align.h"
#include "mtip/fsc.h"
#include "mtip/pointwise.h"
#include "schedule.h"
#include "trial.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* Seconds of a run that are not tried: its files, which 30 to 42 calls of fsync make safe (0.01 s on one
   disk, 0.14 on another), and what else it does once; a measured run on a GPU less what is tried. */
static const double run_files = 0.15;

enum { SAMPLES = 3, FILE_IMAGES = 4096 };

/* Largest samples: enough for the rates of the largest runs. */
static const int64_t cpu_images = 512, cpu_references = 2048;
static const int64_t gpu_images = 16384, gpu_references = 16384;

typedef struct samples {
    int n;
    stage_line terms[N_STAGES][SAMPLES];
    double seconds[N_STAGES][SAMPLES];
    double between,
        first_time; /* of the last generation; of all for the first time, beyond the second time */
} samples;

typedef struct bench {
    config cfg; /* the run's, changed from sample to sample */
    const catalogue *k;
    const device *dev;
    comm *alone;
    const calibration_plan *plan;
    int64_t images, references;
    int64_t free_bytes; /* of the device, at first */
} bench;

static stage_load load_of(const bench *b, const run_record *record)
{
    const run_step *step = &record->step;
    return (stage_load){.images = b->images,
                        .pixels = catalogue_pixels_within(b->k, step->resolution),
                        .references = step->n_references,
                        .passes =
                            forecast_passes(&b->cfg, b->plan->kind, b->images, step->n_references,
                                            b->k->n_pixels, b->free_bytes),
                        .sliced = step->n_references,
                        .merged = record->n_active,
                        .active = record->n_active,
                        .iterations = record->cg_iterations,
                        .starts = b->plan->generation_starts,
                        .steps = schedule_phase_steps(&b->cfg, b->cfg.phase.loops)};
}

/* A generation twice, the shorter time of each stage: once for the memory and what else is done at
   first. */
static status run_sample(bench *b, run *r, const run_step *step, samples *s)
{
    const int at = s->n++;
    for (int round = 0; round < 2; round++) {
        run_record record;
        stage_line terms[N_STAGES];
        const double start = clock_seconds();
        TRY(run_generation(r, s->n, step, &record));
        const double whole = clock_seconds() - start;
        double rest = whole;
        const stage_load load = load_of(b, &record);
        stage_terms(&b->cfg, &load, terms);
        for (int i = 0; i < N_STAGES; i++) {
            const double seconds = record.costs[i].seconds;
            double *least = &s->seconds[i][at];
            if (round == 0 || seconds < *least) *least = seconds;
            s->terms[i][at] = terms[i];
            rest -= seconds;
        }
        s->between = rest;
        s->first_time += round == 0 ? whole : -whole;
    }
    return STATUS_OK;
}

/* Few and many references, coarse and fine, short and longer phasing. */
static status run_samples(bench *b, run *r, samples *s)
{
    const struct {
        double resolution, share;
        int64_t loops;
    } steps[SAMPLES] = {{0.6, 0.25, 0}, {1, 0.5, 1}, {1, 1, 0}};
    for (int i = 0; i < SAMPLES; i++) {
        const double references = steps[i].share * (double)b->references;
        const run_step step = {.resolution = steps[i].resolution,
                               .n_references = larger(1, (int64_t)references),
                               .perplexity = references / 2, /* all carry weight */
                               .feedback = true};
        b->cfg.phase.loops = steps[i].loops;
        TRY(run_sample(b, r, &step, s));
    }
    return STATUS_OK;
}

/* Phasing of all starts takes another time a start than that of a few where they share a GPU, which
   loads for the first time what makes and averages so many. */
static status time_last_phasing(bench *b, run *r, calibration *made)
{
    stage_line terms[2][N_STAGES];
    stage_line of[2];
    double seconds[2], whole[3];
    made->last_phasing = made->stages[STAGE_PHASE];
    if (b->plan->kind == DEVICE_CPU) return STATUS_OK;
    for (int loops = -1; loops < 2; loops++) { /* once for the memory */
        const int i = loops < 0 ? 0 : loops;
        const double start = clock_seconds();
        average_report report;
        run_record record;
        TRY(run_phase_final(r, b->plan->starts, i, &report, &record));
        whole[loops + 1] = clock_seconds() - start;
        const stage_load load = {.starts = b->plan->starts,
                                 .steps = schedule_phase_steps(&b->cfg, i)};
        stage_terms(&b->cfg, &load, terms[i]);
        of[i] = terms[i][STAGE_PHASE];
        seconds[i] = record.costs[STAGE_PHASE].seconds;
    }
    made->begin += fmax(0, whole[0] - whole[1]);
    made->last_phasing = stage_line_fit(2, of, seconds);
    return STATUS_OK;
}

/* As the halves are compared. */
static status time_comparison(const bench *b, const run *r, calibration *made)
{
    const int64_t n = b->cfg.grid.size;
    double *moved = malloc((size_t)cube(n) * sizeof *moved);
    alignment found;
    fsc *agreement = NULL;
    if (!moved) FAIL(STATUS_RESOURCE, "out of host memory");
    const double start = clock_seconds();
    status result = align(b->dev, n, (double)n / 2, run_density(r), run_density(r), moved, &found);
    if (result == STATUS_OK)
        result =
            fsc_create(b->dev, n, run_voxel(r), run_s_max(r), run_density(r), moved, &agreement);
    made->compare = clock_seconds() - start;
    fsc_destroy(agreement);
    free(moved);
    return result;
}

static status time_stages(bench *b, calibration *made)
{
    trial *t = NULL;
    samples s = {0};
    double small = 0, large = 0;
    const int64_t few = larger(1, b->images / 4), many = b->images;
    TRY(trial_create(&b->cfg, b->dev, b->alone, b->k, TRIAL_NOISE, few, &small,
                     &t)); /* for the first time */
    trial_destroy(t);
    made->begin = small;
    TRY(trial_create(&b->cfg, b->dev, b->alone, b->k, TRIAL_NOISE, few, &small, &t));
    trial_destroy(t);
    made->begin -= small;
    TRY(trial_create(&b->cfg, b->dev, b->alone, b->k, TRIAL_NOISE, many, &large, &t));
    made->setup_image = many > few && large > small ? (large - small) / (double)(many - few) : 0;
    made->setup = large - made->setup_image * (double)many;
    status result = run_samples(b, trial_run(t), &s);
    for (int i = 0; i < N_STAGES && result == STATUS_OK; i++)
        made->stages[i] = stage_line_fit(s.n, s.terms[i], s.seconds[i]);
    made->between = s.between;
    if (b->plan->kind == DEVICE_CUDA) made->begin += fmax(0, s.first_time); /* loads its kernels */
    if (result == STATUS_OK) result = time_last_phasing(b, trial_run(t), made);
    if (result == STATUS_OK) result = time_comparison(b, trial_run(t), made);
    trial_destroy(t);
    return result;
}

/* A look at some of the images, and one of two sets of them. */
static status time_file(const bench *b, calibration *made)
{
    catalogue *k = NULL;
    images *set = NULL;
    config *cfg = malloc(sizeof *cfg);
    if (!cfg) FAIL(STATUS_RESOURCE, "out of host memory");
    *cfg = b->cfg;
    cfg->data.images = smaller(b->k->n_usable, FILE_IMAGES);
    const double start = clock_seconds();
    status result = catalogue_create(cfg, b->alone, &k);
    const double middle = clock_seconds();
    if (result == STATUS_OK) result = images_load(k, b->alone, 2, 0, &set);
    if (result == STATUS_OK) {
        made->look_image = (middle - start) / (double)cfg->data.images;
        made->load_image = (clock_seconds() - middle) / (double)set->n;
    }
    images_destroy(set);
    catalogue_destroy(k);
    free(cfg);
    return result;
}

static void choose_sizes(bench *b)
{
    const bool gpu = b->plan->kind == DEVICE_CUDA;
    b->images = smaller(b->plan->images, gpu ? gpu_images : cpu_images);
    b->references = smaller(b->cfg.slice.final_references, gpu ? gpu_references : cpu_references);
    b->cfg.phase.generation_starts = b->plan->generation_starts;
}

status calibrate(const config *cfg, comm *alone, const catalogue *k, const calibration_plan *plan,
                 calibration *made)
{
    device *dev = NULL;
    bench *b = malloc(sizeof *b);
    if (!b) FAIL(STATUS_RESOURCE, "out of host memory");
    *b = (bench){.cfg = *cfg, .k = k, .alone = alone, .plan = plan};
    *made = (calibration){0};
    choose_sizes(b);
    omp_set_num_threads(plan->threads);
    const double start = clock_seconds();
    status result = plan->kind == DEVICE_CUDA ? device_create_cuda(-1, &dev)
                                              : device_create_cpu(plan->threads, &dev);
    const double device_seconds = clock_seconds() - start;
    b->dev = dev;
    if (result == STATUS_OK) b->free_bytes = device_free_bytes(dev);
    if (result == STATUS_OK && k->file) result = time_file(b, made);
    if (result == STATUS_OK) result = time_stages(b, made);
    made->begin += device_seconds + run_files;
    device_destroy(dev);
    free(b);
    return result;
}
