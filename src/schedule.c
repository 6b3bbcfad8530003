#include "schedule.h"

#include <math.h>

static double clamp(double x, double low, double high)
{
    return fmin(fmax(x, low), high);
}

run_step schedule_search(const config *cfg, int g)
{
    const double n = (double)cfg->run.generations;
    const double march = clamp(cfg->run.march * n - 1, 1, n),
                 anneal = clamp(cfg->match.anneal * n - 1, 1, n);
    const double f =
        cfg->run.resolution_start + (1 - cfg->run.resolution_start) * clamp(g / march, 0, 1);
    run_step step = {.resolution = f, .feedback = true};
    step.n_references = (int64_t)ceil((double)cfg->slice.references * fmax(0.15, f * f * f));
    const double start = log(
        fmax(cfg->match.perplexity_start * (double)step.n_references, cfg->match.perplexity_end));
    const double end = log(cfg->match.perplexity_end);
    step.perplexity = exp(start + (end - start) * clamp(g / anneal, 0, 1));
    return step;
}

double schedule_work(const run_step *step)
{
    return (double)step->n_references * step->resolution * step->resolution + 2000;
}

run_step schedule_final(const config *cfg, int g)
{
    return (run_step){.resolution = 1,
                      .n_references = cfg->slice.final_references,
                      .perplexity = cfg->match.perplexity_end,
                      .feedback = g < cfg->run.final_generations - 1};
}

int64_t schedule_active(const run_step *step, int64_t n_images)
{
    static const double reach = 5; /* seen: 4 to 6 in solved runs of 500 to 1,000 images */
    const double references = (double)step->n_references;
    return (int64_t)ceil(-references *
                         expm1(-reach * (double)n_images * step->perplexity / references));
}

int64_t schedule_phase_steps(const config *cfg, int64_t loops)
{
    return loops * (2 * cfg->phase.er + cfg->phase.hio) + cfg->phase.er;
}

int schedule_first(const config *cfg)
{
    return cfg->run.true_orientations ? (int)cfg->run.generations - 1 : 0;
}

double schedule_all(const config *cfg, int ranks)
{
    double work = 0;
    for (int g = schedule_first(cfg); g < cfg->run.generations; g++) {
        const run_step step = schedule_search(cfg, g);
        work += schedule_work(&step) * (ranks == 1 ? 2 : 1);
    }
    for (int g = 0; g < cfg->run.final_generations; g++) {
        const run_step step = schedule_final(cfg, g);
        work += schedule_work(&step);
    }
    return work;
}
