#include "estimate_time.h"

#include "core/integer.h"
#include "devices.h"
#include "run_options.h"
#include "schedule.h"

#include <math.h>
#include <string.h>

/* Bytes a second between ranks. */
static const double through_host = 2e9, through_nccl = 1e11;

static int64_t divide_up(int64_t n, int64_t by)
{
    return (n + by - 1) / by;
}

static device_kind kind_at(const estimate_place *p)
{
    return p->gpus > 0 ? DEVICE_CUDA : DEVICE_CPU;
}

/* Ranks that reconstruct a half. */
static int half_ranks(int ranks)
{
    return ranks > 1 ? ranks / 2 : 1;
}

calibration_plan estimate_plan(const config *cfg, const estimate_place *place, int64_t n_images)
{
    const int together = (int)divide_up(place->ranks, place->nodes),
              half = half_ranks(place->ranks);
    return (calibration_plan){.kind = kind_at(place),
                              .threads = devices_threads(cfg->parallel.threads, together),
                              .images = divide_up(n_images, 2 * half),
                              .generation_starts = divide_up(cfg->phase.generation_starts, half),
                              .starts = divide_up(cfg->phase.starts, place->ranks)};
}

/* A kind of generation of the run. */
typedef struct regime {
    int ranks;
    int64_t n_images;
    int times; /* one after the other */
} regime;

static stage_load load_of(const config *cfg, const catalogue *k, const estimate_place *place,
                          const regime *g, const run_step *step)
{
    const int64_t mine = divide_up(g->n_images, g->ranks);
    const int64_t active = schedule_active(step, g->n_images);
    const int64_t free_bytes = place->gpus > 0 && place->gpu_bytes > 0
                                   ? place->gpu_bytes * place->gpus / place->ranks
                                   : -1;
    return (stage_load){.images = mine,
                        .pixels = catalogue_pixels_within(k, step->resolution),
                        .references = step->n_references,
                        .passes = forecast_passes(cfg, kind_at(place), mine, step->n_references,
                                                  k->n_pixels, free_bytes),
                        .sliced = divide_up(step->n_references, g->ranks),
                        .merged = divide_up(active, g->ranks),
                        .active = active,
                        .iterations = cfg->merge.iterations,
                        .starts = divide_up(cfg->phase.generation_starts, g->ranks),
                        .steps = schedule_phase_steps(cfg, cfg->phase.loops)};
}

/* Slices to all ranks, tomograms to those that merge them, both grids and their solution, densities. */
static double exchange_seconds(const config *cfg, const estimate_place *place, const regime *g,
                               const stage_load *load)
{
    const int64_t n = cfg->grid.size;
    if (g->ranks == 1) return 0;
    const int64_t rows = load->passes * load->references + load->active;
    const int64_t reals = rows * load->pixels + 2 * cube(2 * n - 1) + 4 * cube(n);
    const double bytes = (double)real_bytes(run_precision(cfg), reals);
    const bool nccl = place->gpus == place->ranks;
    return bytes / (nccl ? through_nccl : through_host);
}

/* Seconds of the generations of a step. */
static double generation(const config *cfg, const catalogue *k, const calibration *rates,
                         const regime *g, const run_step *step, estimate *e)
{
    const stage_load load = load_of(cfg, k, &e->place, g, step);
    double seconds = rates->between + exchange_seconds(cfg, &e->place, g, &load);
    stage_line terms[N_STAGES];
    stage_terms(cfg, &load, terms);
    for (int s = 0; s < N_STAGES; s++) {
        const double one = stage_line_seconds(rates->stages[s], terms[s]);
        e->stages[s] += g->times * one;
        seconds += one;
    }
    e->generation_seconds = fmax(e->generation_seconds, seconds);
    return g->times * seconds;
}

static double last_phasing(const config *cfg, const calibration *rates, int ranks)
{
    const stage_load load = {.starts = divide_up(cfg->phase.starts, ranks),
                             .steps = schedule_phase_steps(cfg, cfg->phase.final_loops)};
    stage_line terms[N_STAGES];
    stage_terms(cfg, &load, terms);
    return stage_line_seconds(rates->last_phasing, terms[STAGE_PHASE]);
}

/* A set is read, and what works on it made. */
static double begin_run(const calibration *rates, const regime *g)
{
    const double mine = (double)divide_up(g->n_images, g->ranks);
    return g->times * (rates->setup + (rates->setup_image + rates->load_image) * mine);
}

void estimate_time(const config *cfg, const catalogue *k, const calibration *rates, estimate *e)
{
    const int ranks = e->place.ranks;
    const regime half = {half_ranks(ranks), divide_up(e->n_images, 2), ranks == 1 ? 2 : 1},
                 all = {ranks, e->n_images, 1};
    const double phasing = last_phasing(cfg, rates, ranks);
    memset(e->stages, 0, sizeof e->stages);
    e->generation_seconds = 0;
    e->seconds = rates->begin + rates->look_image * (double)divide_up(e->n_images, ranks) +
                 begin_run(rates, &half) + rates->compare + begin_run(rates, &all) + phasing;
    for (int i = schedule_first(cfg); i < cfg->run.generations; i++) {
        const run_step step = schedule_search(cfg, i);
        e->seconds += generation(cfg, k, rates, &half, &step, e);
    }
    for (int i = 0; i < cfg->run.final_generations; i++) {
        const run_step step = schedule_final(cfg, i);
        e->seconds += generation(cfg, k, rates, &all, &step, e);
    }
    e->stages[STAGE_PHASE] += phasing;
    e->other_seconds = e->seconds;
    for (int s = 0; s < N_STAGES; s++)
        e->other_seconds -= e->stages[s];
}
