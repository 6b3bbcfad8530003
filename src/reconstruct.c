#include "reconstruct.h"

#include "core/clock.h"
#include "core/log.h"
#include "mtip/align.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The halves agree where their shells correlate by this much .. */
static const double agreement_level = 0.5;
/* .. and the verdict is "converged" if they do so up to this fraction of the largest |s|. Solved runs
   were seen to reach 0.66 and more, runs trapped by raw L2 matching 0.50 at most
   (tests/convergence.sh). */
static const double agreement_reach = 0.58;

static double clamp(double x, double low, double high)
{
    return fmin(fmax(x, low), high);
}

/* Generation g of the search: resolution, references and perplexity march together. */
static run_step search_step(const config *cfg, int g)
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

static status keep_record(reconstruction *made, const run_record *record)
{
    run_record *more = realloc(made->records, (size_t)(made->n_records + 1) * sizeof *more);
    if (!more) FAIL(STATUS_RESOURCE, "out of host memory");
    made->records = more;
    more[made->n_records++] = *record;
    return STATUS_OK;
}

/* What a generation costs, in slices of all pixels; phasing costs about as much as 2,000 of them. */
static double work_of(const run_step *step)
{
    return (double)step->n_references * step->resolution * step->resolution + 2000;
}

static run_step final_step(const config *cfg, int g)
{
    return (run_step){.resolution = 1,
                      .n_references = cfg->slice.final_references,
                      .perplexity = cfg->match.perplexity_end,
                      .feedback = g < cfg->run.final_generations - 1};
}

/* First generation of the search: the last one when the orientations are given. */
static int first_generation(const config *cfg)
{
    return cfg->run.true_orientations ? (int)cfg->run.generations - 1 : 0;
}

/* All the work ahead if the first attempt succeeds; side by side, two halves take the time of one. */
static void plan_work(const config *cfg, int ranks, reconstruction *made)
{
    for (int g = first_generation(cfg); g < cfg->run.generations; g++) {
        const run_step step = search_step(cfg, g);
        made->work_left += work_of(&step) * (ranks == 1 ? 2 : 1);
    }
    for (int g = 0; g < cfg->run.final_generations; g++) {
        const run_step step = final_step(cfg, g);
        made->work_left += work_of(&step);
    }
}

/* Collective over the run's comm. */
static status one_generation(run *r, comm *c, const char *who, int number, int last,
                             const run_step *step, reconstruction *made)
{
    run_record record;
    TRY(run_generation(r, number, step, &record));
    made->work_done += work_of(step);
    made->work_left = fmax(0, made->work_left - work_of(step));
    const stage_cost *t = record.costs;
    const double eta = (clock_seconds() - made->start) * made->work_left / made->work_done;
    log_info("%s generation=%d/%d resolution=%.1fA references=%lld active=%lld perplexity=%.1f "
             "moved=%.1fdeg cg=%d R=%.3f slice=%.2fs match=%.2fs merge=%.2fs phase=%.2fs "
             "exchange=%.2fs eta=%.0fs",
             who, number + 1, last, 1 / (step->resolution * run_s_max(r)),
             (long long)step->n_references, (long long)record.n_active, record.perplexity,
             record.moved, record.cg_iterations, record.r_factor, t[STAGE_SLICE].seconds,
             t[STAGE_MATCH].seconds, t[STAGE_MERGE].seconds + t[STAGE_SOLVE].seconds,
             t[STAGE_PHASE].seconds, t[STAGE_EXCHANGE].seconds, eta);
    return comm_agree(c, keep_record(made, &record));
}

static status true_orientations(const catalogue *k, const images *set, double *quaternions)
{
    for (int64_t i = 0; i < set->n; i++)
        TRY(dataset_read_truth(k->file, set->source[i], 1, quaternions + 4 * i, NULL));
    return STATUS_OK;
}

/* A first model from the orientations stored with the data. */
static status start_from_truth(run *r, comm *c, const catalogue *k, const images *set)
{
    double *quaternions = malloc((size_t)(4 * set->n) * sizeof *quaternions);
    status result = STATUS_OK;
    if (!quaternions)
        result = FAILED(STATUS_RESOURCE, "out of host memory");
    else
        result = true_orientations(k, set, quaternions);
    result = comm_agree(c, result);
    if (result == STATUS_OK) result = run_merge_at(r, quaternions);
    free(quaternions);
    return result;
}

/* Reconstructs images part, part + parts, .. on the ranks of c; density: host [n]^3 on all of them. */
static status search(const config *cfg, const device *dev, comm *c, const catalogue *k, int parts,
                     int number, uint64_t seed, reconstruction *made, double *density)
{
    status result = STATUS_OK;
    images *set = NULL;
    run *r = NULL;
    char who[32];
    snprintf(who, sizeof who, parts == 1 ? "all" : "half=%d", number + 1);
    TRY_OR(done, images_load(k, c, parts, number, &set));
    TRY_OR(done, run_create(cfg, dev, c, k, set, seed, &r));
    const int last = (int)cfg->run.generations;
    if (cfg->run.true_orientations) TRY_OR(done, start_from_truth(r, c, k, set));
    for (int g = first_generation(cfg); g < last; g++) {
        const run_step step = search_step(cfg, g);
        TRY_OR(done, one_generation(r, c, who, g, last, &step, made));
    }
    memcpy(density, run_density(r),
           (size_t)(made->size * made->size * made->size) * sizeof *density);
done:
    run_destroy(r);
    images_destroy(set);
    return result;
}

/* Both halves, side by side on two groups of ranks, or one after the other on a single one. */
static status search_halves(const config *cfg, const device *dev, comm *world, const catalogue *k,
                            uint64_t seed, reconstruction *made, double *const half[2])
{
    const int ranks = comm_size(world), second = ranks / 2;
    const int64_t n = made->size * made->size * made->size;
    if (ranks == 1) {
        for (int h = 0; h < 2; h++)
            TRY(search(cfg, dev, world, k, 2, h, 2 * seed + (uint64_t)h, made, half[h]));
        return STATUS_OK;
    }
    comm *group = NULL;
    const int h = comm_rank(world) >= second;
    TRY(comm_split(world, h, &group));
    status result = search(cfg, dev, group, k, 2, h, 2 * seed + (uint64_t)h, made, half[h]);
    comm_destroy(group);
    TRY(comm_agree(world, result));
    TRY(comm_broadcast(world, half[0], n, COMM_DOUBLE, 0));
    return comm_broadcast(world, half[1], n, COMM_DOUBLE, second);
}

/* Compares two halves, the second brought into the frame of the first (in place). Rank 0 compares
   and tells all, so that they go on alike whatever processors they have. */
static status compare(const device *dev, comm *world, const reconstruction *made,
                      const double *first, double *second, fsc **agreement, fsc_resolution *reached)
{
    const int64_t n = made->size * made->size * made->size;
    status result = STATUS_OK;
    alignment found;
    double *moved = malloc((size_t)n * sizeof *moved);
    comm_set_stage(world, "compare");
    if (!moved) result = FAILED(STATUS_RESOURCE, "out of host memory");
    if (result == STATUS_OK && comm_rank(world) == 0)
        result = align(dev, made->size, (double)made->size / 2, first, second, moved, &found);
    TRY_OR(done, comm_agree(world, result));
    TRY_OR(done, comm_broadcast(world, moved, n, COMM_DOUBLE, 0));
    if (moved) memcpy(second, moved, (size_t)n * sizeof *second);
    TRY_OR(done, comm_agree(world, fsc_create(dev, made->size, made->voxel, made->s_max, first,
                                              second, agreement)));
    *reached = fsc_resolution_at(*agreement, agreement_level);
    TRY_OR(done, comm_broadcast(world, reached, sizeof *reached, COMM_BYTE, 0));
    comm_set_stage(world, NULL);
done:
    free(moved);
    return result;
}

/* Halves found so far, attempt by attempt: half[h][0..n-1], room for run.attempts. */
typedef struct pool {
    int n;
    double **half[2];
} pool;

static status pool_create(const config *cfg, pool *p)
{
    for (int h = 0; h < 2; h++) {
        p->half[h] = calloc((size_t)cfg->run.attempts, sizeof *p->half[h]);
        if (!p->half[h]) FAIL(STATUS_RESOURCE, "out of host memory");
    }
    return STATUS_OK;
}

/* Two more halves of `size` voxels. */
static status pool_grow(pool *p, int64_t size)
{
    const int i = p->n++;
    for (int h = 0; h < 2; h++)
        if (!(p->half[h][i] = calloc((size_t)size, sizeof(double))))
            FAIL(STATUS_RESOURCE, "out of host memory for the halves of attempt %d", p->n);
    return STATUS_OK;
}

static void pool_free(pool *p)
{
    for (int h = 0; h < 2; h++) {
        for (int i = 0; i < p->n; i++)
            free(p->half[h][i]);
        free(p->half[h]);
    }
}

/* Compares first half i with second half j; the better pair becomes the result's halves. */
static status judge_pair(const device *dev, comm *world, const pool *p, int i, int j,
                         reconstruction *made)
{
    const size_t n = (size_t)(made->size * made->size * made->size);
    fsc *agreement = NULL;
    fsc_resolution reached;
    TRY(compare(dev, world, made, p->half[0][i], p->half[1][j], &agreement, &reached));
    char text[FSC_TEXT_SIZE];
    log_info("first half %d and second half %d: FSC(0.5) %s, the edge is %.2f A", i + 1, j + 1,
             fsc_resolution_text(&reached, text), 1 / made->s_max);
    if (made->agreement && made->resolution.angstrom <= reached.angstrom) {
        fsc_destroy(agreement);
        return STATUS_OK;
    }
    fsc_destroy(made->agreement);
    made->agreement = agreement;
    made->resolution = reached;
    memcpy(made->half[0], p->half[0][i], n * sizeof(double));
    memcpy(made->half[1], p->half[1][j], n * sizeof(double));
    made->converged = reached.angstrom * made->s_max <= 1 / agreement_reach;
    return STATUS_OK;
}

/* The halves of the newest attempt against each other and against those of the earlier ones: any
   two independent halves that agree will do. */
static status judge(const device *dev, comm *world, const pool *p, reconstruction *made)
{
    const int newest = p->n - 1;
    TRY(judge_pair(dev, world, p, newest, newest, made));
    for (int i = 0; i < newest && !made->converged; i++) {
        TRY(judge_pair(dev, world, p, i, newest, made));
        TRY(judge_pair(dev, world, p, newest, i, made));
    }
    char text[FSC_TEXT_SIZE];
    log_info("the halves: FSC(0.5) %s, %s", fsc_resolution_text(&made->resolution, text),
             made->converged ? "converged" : "not converged");
    return STATUS_OK;
}

static status search_until_agreed(const config *cfg, const device *dev, comm *world,
                                  const catalogue *k, reconstruction *made)
{
    status result = STATUS_OK;
    pool p = {0};
    TRY_OR(done, comm_agree(world, pool_create(cfg, &p)));
    for (int i = 0; i < cfg->run.attempts && !made->converged; i++) {
        const uint64_t seed = (uint64_t)cfg->run.seed + 1000003 * (uint64_t)i;
        TRY_OR(done, comm_agree(world, pool_grow(&p, made->size * made->size * made->size)));
        double *const halves[2] = {p.half[0][i], p.half[1][i]};
        TRY_OR(done, search_halves(cfg, dev, world, k, seed, made, halves));
        TRY_OR(done, judge(dev, world, &p, made));
    }
    made->attempts = p.n;
done:
    pool_free(&p);
    return result;
}

/* The final generations start from the average of halves that agree, else from the first one. */
static status set_start(run *r, comm *c, const reconstruction *made)
{
    status result = STATUS_OK;
    const int64_t n = made->size * made->size * made->size;
    double *start = malloc((size_t)n * sizeof *start);
    TRY_OR(done, comm_agree(c, start ? STATUS_OK : FAILED(STATUS_RESOURCE, "out of host memory")));
    for (int64_t i = 0; i < n; i++)
        start[i] = made->converged ? (made->half[0][i] + made->half[1][i]) / 2 : made->half[0][i];
    result = run_set_density(r, start);
done:
    free(start);
    return result;
}

/* Generations with all images and more references; the last one is not fed back. */
static status refine(const config *cfg, run *r, comm *c, reconstruction *made)
{
    TRY(set_start(r, c, made));
    const int first = (int)cfg->run.generations, count = (int)cfg->run.final_generations;
    for (int g = 0; g < count; g++) {
        const run_step step = final_step(cfg, g);
        TRY(one_generation(r, c, "all", first + g, first + count, &step, made));
    }
    return STATUS_OK;
}

static double *copy_of(const double *from, int64_t n)
{
    double *to = malloc((size_t)n * sizeof *to);
    if (to) memcpy(to, from, (size_t)n * sizeof *to);
    return to;
}

static status take_results(const run *r, const images *set, reconstruction *made)
{
    const int64_t n = made->size * made->size * made->size;
    made->n_images = set->n;
    made->density = copy_of(run_density(r), n);
    made->autocorrelation = malloc((size_t)n * sizeof *made->autocorrelation);
    made->orientations = copy_of(run_orientations(r), 4 * set->n);
    made->fluence = copy_of(run_fluence(r), set->n);
    made->scores = copy_of(run_scores(r), set->n);
    made->source = malloc((size_t)set->n * sizeof *made->source);
    if (!made->density || !made->autocorrelation || !made->orientations || !made->fluence ||
        !made->scores || !made->source)
        FAIL(STATUS_RESOURCE, "out of host memory");
    memcpy(made->source, set->source, (size_t)set->n * sizeof *made->source);
    return run_autocorrelation(r, made->autocorrelation);
}

static status finish(const config *cfg, const device *dev, comm *world, const catalogue *k,
                     reconstruction *made)
{
    status result = STATUS_OK;
    images *set = NULL;
    run *r = NULL;
    TRY_OR(done, images_load(k, world, 1, 0, &set));
    TRY_OR(done, run_create(cfg, dev, world, k, set, (uint64_t)cfg->run.seed, &r));
    TRY_OR(done, refine(cfg, r, world, made));
    TRY_OR(done, run_phase_final(r, cfg->phase.starts, (int)cfg->phase.final_loops, &made->average,
                                 &made->final));
    log_info("final phasing: %lld of %lld starts averaged, agreement %.3f, R %.3f",
             (long long)made->average.n_used, (long long)cfg->phase.starts, made->average.agreement,
             made->final.r_factor);
    TRY_OR(done, comm_agree(world, take_results(r, set, made)));
done:
    run_destroy(r);
    images_destroy(set);
    return result;
}

static status start(const config *cfg, const catalogue *k, reconstruction *made)
{
    made->size = cfg->grid.size;
    made->s_max = k->radius[k->n_pixels - 1];
    made->voxel = 1 / (2 * made->s_max);
    const size_t n = (size_t)(made->size * made->size * made->size);
    for (int h = 0; h < 2; h++)
        made->half[h] = calloc(n, sizeof *made->half[h]);
    if (!made->half[0] || !made->half[1])
        FAIL(
            STATUS_RESOURCE,
            "no memory for maps of grid.size %lld, %.1f GB each; lower it, or use fewer ranks a node",
            (long long)made->size, 8e-9 * (double)n);
    return STATUS_OK;
}

status reconstruct(const config *cfg, const device *dev, comm *world, const catalogue *k,
                   reconstruction **created)
{
    status result = STATUS_OK;
    *created = NULL;
    reconstruction *made = calloc(1, sizeof *made);
    TRY_OR(fail, comm_agree(world, made ? start(cfg, k, made)
                                        : FAILED(STATUS_RESOURCE, "out of host memory")));
    made->start = clock_seconds();
    plan_work(cfg, comm_size(world), made);
    TRY_OR(fail, search_until_agreed(cfg, dev, world, k, made));
    TRY_OR(fail, finish(cfg, dev, world, k, made));
    *created = made;
    return STATUS_OK;
fail:
    reconstruction_destroy(made);
    return result;
}

void reconstruction_destroy(reconstruction *made)
{
    if (!made) return;
    fsc_destroy(made->agreement);
    void *arrays[] = {made->density,         made->half[0], made->half[1],
                      made->autocorrelation, made->source,  made->orientations,
                      made->fluence,         made->scores,  made->records};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
    free(made);
}
