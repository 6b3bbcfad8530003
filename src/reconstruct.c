#include "reconstruct.h"

#include "core/clock.h"
#include "core/integer.h"
#include "core/log.h"
#include "history.h"
#include "keeper.h"
#include "mtip/align.h"
#include "schedule.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The halves agree where their shells correlate by this much .. */
static const double agreement_level = 0.5;
/* .. and the verdict is "converged" if they do so up to this fraction of the largest |s|. Solved runs
   were seen to reach 0.66 and more, runs trapped by raw L2 matching 0.50 at most
   (tests/convergence.sh). */
static const double agreement_reach = 0.58;

/* What every part of the work needs. */
typedef struct task {
    const config *cfg;
    const device *dev;
    comm *world;
    const catalogue *catalogue;
    keeper *keep;
    reconstruction *made;
} task;

static void work_is_done(reconstruction *made, const run_step *step)
{
    made->work_left = fmax(0, made->work_left - schedule_work(step));
}

/* A run on the ranks of a comm, whose first rank keeps the state. */
typedef struct part {
    run *run;
    comm *comm;
    const char *name; /* for the log */
    run_state *state; /* in the progress */
    int before, last; /* generations before this part, and when it is done */
} part;

static void log_generation(const task *t, const part *p, int g, const run_record *record)
{
    const run_step *step = &record->step;
    const stage_cost *c = record->costs;
    log_info("%s generation=%d/%d resolution=%.1fA references=%lld active=%lld perplexity=%.1f "
             "moved=%.1fdeg cg=%d R=%.3f slice=%.2fs match=%.2fs merge=%.2fs phase=%.2fs "
             "exchange=%.2fs eta=%.0fs",
             p->name, p->before + g + 1, p->last, 1 / (step->resolution * run_s_max(p->run)),
             (long long)step->n_references, (long long)record->n_active, record->perplexity,
             record->moved, record->cg_iterations, record->r_factor, c[STAGE_SLICE].seconds,
             c[STAGE_MATCH].seconds, c[STAGE_MERGE].seconds + c[STAGE_SOLVE].seconds,
             c[STAGE_PHASE].seconds, c[STAGE_EXCHANGE].seconds, t->made->seconds_left);
}

/* On a GPU what a stage takes it keeps, so that a look behind each shows the most; a host's system knows. */
static void look_at_memory(const task *t)
{
    if (device_kind_of(t->dev) == DEVICE_CPU) return;
    const int64_t taken = t->made->device_free - device_free_bytes(t->dev);
    t->made->device_bytes = larger(t->made->device_bytes, taken);
}

/* For who sits at a terminal. */
static void show_progress(const task *t, const part *p, int g)
{
    const reconstruction *made = t->made;
    char words[64];
    snprintf(words, sizeof words, "%s, generation %d of %d, %.0f s left", p->name,
             p->before + g + 1, p->last, made->seconds_left);
    log_progress(made->work_done / (made->work_done + made->work_left), words);
}

/* Generation g of the part. Collective over its comm. */
static status one_generation(const task *t, const part *p, int g, const run_step *step,
                             run_record *record)
{
    reconstruction *made = t->made;
    keeper_enter(t->keep);
    show_progress(t, p, g);
    TRY(run_generation(p->run, p->before + g, step, record));
    look_at_memory(t);
    record->attempt = (int)made->progress.attempts + !made->progress.searched;
    record->run = (int)(p->state - made->progress.runs);
    record->generation = p->before + g + 1;
    record->rank = comm_world_rank(p->comm);
    made->work_done += schedule_work(step);
    work_is_done(made, step);
    made->seconds_left = (clock_seconds() - made->start) * made->work_left / made->work_done;
    log_generation(t, p, g, record);
    status result = history_add(record, &made->n_records, &made->records);
    if (result == STATUS_OK && comm_rank(p->comm) == 0) result = run_save(p->run, g + 1, p->state);
    if (result == STATUS_OK) p->state->generation = g + 1;
    return comm_agree(p->comm, result);
}

/* The run goes on from its state, if there is one, which the comm's first rank keeps. */
static status restore(const part *p)
{
    if (p->state->generation == 0) return STATUS_OK;
    TRY(run_restore(p->run, p->state));
    if (comm_rank(p->comm) == 0) return STATUS_OK;
    free(p->state->values);
    p->state->values = NULL;
    return STATUS_OK;
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

/* All of the search, generation by generation; ranks of other comms do the same.  `result` is how this
   rank comes here. Collective over the world. */
static status generations(const task *t, const part *p, status result)
{
    for (int g = schedule_first(t->cfg); g < t->cfg->run.generations; g++) {
        const run_step step = schedule_search(t->cfg, g);
        run_record record = {.generation = 0};
        if (g < p->state->generation)
            work_is_done(t->made, &step);
        else if (result == STATUS_OK)
            result = one_generation(t, p, g, &step, &record);
        TRY(keeper_meet(t->keep, result, &record, t->made));
    }
    return STATUS_OK;
}

/* Reconstructs every other image, from number `half` on, on the ranks of c; density: host [n]^3 on all
   of them. Collective over the world. */
static status search(const task *t, comm *c, int half, uint64_t seed, double *density)
{
    status result = STATUS_OK;
    images *set = NULL;
    part p = {.comm = c,
              .name = half == 0 ? "half=1" : "half=2",
              .state = &t->made->progress.runs[RUN_HALF_1 + half],
              .last = (int)t->cfg->run.generations};
    result = images_load(t->catalogue, c, 2, half, &set);
    if (result == STATUS_OK)
        result = run_create(t->cfg, t->dev, c, t->catalogue, set, seed, &p.run);
    if (result == STATUS_OK) result = restore(&p);
    if (result == STATUS_OK && t->cfg->run.true_orientations && p.state->generation == 0)
        result = start_from_truth(p.run, c, t->catalogue, set);
    TRY_OR(done, generations(t, &p, result));
    memcpy(density, run_density(p.run), (size_t)cube(t->made->size) * sizeof *density);
done:
    run_destroy(p.run);
    images_destroy(set);
    return result;
}

/* Both halves, side by side on two groups of ranks, or one after the other on a single one. */
static status search_halves(const task *t, uint64_t seed, double *const half[2])
{
    progress *p = &t->made->progress;
    comm *world = t->world, *group = NULL;
    const int ranks = comm_size(world), second = ranks / 2;
    const int64_t n = cube(t->made->size);
    p->owners[RUN_HALF_2] = ranks == 1 ? 0 : second;
    if (ranks == 1) {
        for (int h = 0; h < 2; h++)
            TRY(search(t, world, h, 2 * seed + (uint64_t)h, half[h]));
        return STATUS_OK;
    }
    const int h = comm_rank(world) >= second;
    TRY(comm_split(world, h, &group));
    run_state_clear(&p->runs[h == 0 ? RUN_HALF_2 : RUN_HALF_1]);
    const status result = search(t, group, h, 2 * seed + (uint64_t)h, half[h]);
    comm_destroy(group);
    TRY(result);
    TRY(comm_broadcast(world, half[0], n, COMM_DOUBLE, 0));
    return comm_broadcast(world, half[1], n, COMM_DOUBLE, second);
}

/* The FSC of two halves in one frame. Rank 0's resolution is everybody's, so that they go on alike
   whatever processors they have. */
static status correlate(const task *t, const double *first, const double *second, fsc **agreement,
                        fsc_resolution *reached)
{
    const reconstruction *made = t->made;
    TRY(comm_agree(t->world, fsc_create(t->dev, made->size, made->voxel, made->s_max, first, second,
                                        agreement)));
    *reached = fsc_resolution_at(*agreement, agreement_level);
    return comm_broadcast(t->world, reached, sizeof *reached, COMM_BYTE, 0);
}

/* Compares two halves, the second brought into the frame of the first (in place). Rank 0 aligns
   and tells all. */
static status compare(const task *t, const double *first, double *second, fsc **agreement,
                      fsc_resolution *reached)
{
    const reconstruction *made = t->made;
    comm *world = t->world;
    const int64_t n = cube(made->size);
    status result = STATUS_OK;
    alignment found;
    double *moved = malloc((size_t)n * sizeof *moved);
    comm_set_stage(world, "compare");
    if (!moved) result = FAILED(STATUS_RESOURCE, "out of host memory");
    if (result == STATUS_OK && comm_rank(world) == 0)
        result = align(t->dev, made->size, (double)made->size / 2, first, second, moved, &found);
    TRY_OR(done, comm_agree(world, result));
    TRY_OR(done, comm_broadcast(world, moved, n, COMM_DOUBLE, 0));
    if (moved) memcpy(second, moved, (size_t)n * sizeof *second);
    TRY_OR(done, correlate(t, first, second, agreement, reached));
    comm_set_stage(world, NULL);
done:
    free(moved);
    return result;
}

static bool has_converged(const reconstruction *made)
{
    return made->resolution.angstrom * made->s_max <= 1 / agreement_reach;
}

/* Compares first half i with second half j; the better pair becomes the result's halves. */
static status judge_pair(const task *t, int64_t i, int64_t j)
{
    reconstruction *made = t->made;
    const progress *p = &made->progress;
    const size_t n = (size_t)cube(made->size);
    fsc *agreement = NULL;
    fsc_resolution reached;
    TRY(compare(t, p->half[0][i], p->half[1][j], &agreement, &reached));
    char text[FSC_TEXT_SIZE];
    log_info("first half %lld and second half %lld: FSC(0.5) %s, the edge is %.2f A",
             (long long)i + 1, (long long)j + 1, fsc_resolution_text(&reached, text),
             1 / made->s_max);
    if (made->agreement && made->resolution.angstrom <= reached.angstrom) {
        fsc_destroy(agreement);
        return STATUS_OK;
    }
    fsc_destroy(made->agreement);
    made->agreement = agreement;
    made->resolution = reached;
    memcpy(made->half[0], p->half[0][i], n * sizeof(double));
    memcpy(made->half[1], p->half[1][j], n * sizeof(double));
    made->converged = has_converged(made);
    return STATUS_OK;
}

/* The halves of the newest attempt against each other and against those of the earlier ones: any
   two independent halves that agree will do. */
static status judge(const task *t, int64_t newest)
{
    const reconstruction *made = t->made;
    TRY(judge_pair(t, newest, newest));
    for (int64_t i = 0; i < newest && !made->converged; i++) {
        TRY(judge_pair(t, i, newest));
        TRY(judge_pair(t, newest, i));
    }
    char text[FSC_TEXT_SIZE];
    log_info("the halves: FSC(0.5) %s, %s", fsc_resolution_text(&made->resolution, text),
             made->converged ? "converged" : "not converged");
    return STATUS_OK;
}

static status search_until_agreed(const task *t)
{
    reconstruction *made = t->made;
    progress *p = &made->progress;
    while (p->attempts < t->cfg->run.attempts && !made->converged) {
        const int64_t i = p->attempts;
        TRY(comm_agree(t->world, progress_grow(p)));
        double *const halves[2] = {p->half[0][i], p->half[1][i]};
        TRY(search_halves(t, (uint64_t)t->cfg->run.seed + 1000003 * (uint64_t)i, halves));
        TRY(judge(t, i));
        run_state_clear(&p->runs[RUN_HALF_1]);
        run_state_clear(&p->runs[RUN_HALF_2]);
        p->attempts++;
    }
    p->searched = true;
    progress_forget(p);
    return STATUS_OK;
}

/* The final generations start from the average of halves that agree, else from the first one. */
static status set_start(run *r, comm *c, const reconstruction *made)
{
    status result = STATUS_OK;
    const int64_t n = cube(made->size);
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
static status refine(const task *t, const part *p)
{
    if (p->state->generation == 0) TRY(set_start(p->run, p->comm, t->made));
    for (int g = 0; g < t->cfg->run.final_generations; g++) {
        const run_step step = schedule_final(t->cfg, g);
        if (g < p->state->generation) {
            work_is_done(t->made, &step);
            continue;
        }
        run_record record;
        const status result = one_generation(t, p, g, &step, &record);
        TRY(keeper_meet(t->keep, result, &record, t->made));
    }
    return STATUS_OK;
}

static status phase_final(const task *t, const part *p)
{
    const config *cfg = t->cfg;
    reconstruction *made = t->made;
    keeper_enter(t->keep);
    const status result = run_phase_final(p->run, cfg->phase.starts, (int)cfg->phase.final_loops,
                                          &made->average, &made->final);
    look_at_memory(t);
    TRY(keeper_meet(t->keep, result, &made->final, made));
    log_info("final phasing: %lld of %lld starts averaged, agreement %.3f, R %.3f",
             (long long)made->average.n_used, (long long)cfg->phase.starts, made->average.agreement,
             made->final.r_factor);
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
    const int64_t n = cube(made->size);
    made->n_images = set->n;
    made->density = copy_of(run_density(r), n);
    made->prtf = copy_of(run_prtf(r), made->agreement->n_shells);
    made->autocorrelation = malloc((size_t)n * sizeof *made->autocorrelation);
    made->orientations = copy_of(run_orientations(r), 4 * set->n);
    made->fluence = copy_of(run_fluence(r), set->n);
    made->scores = copy_of(run_scores(r), set->n);
    made->source = malloc((size_t)set->n * sizeof *made->source);
    if (!made->density || !made->prtf || !made->autocorrelation || !made->orientations ||
        !made->fluence || !made->scores || !made->source)
        FAIL(STATUS_RESOURCE, "out of host memory");
    memcpy(made->source, set->source, (size_t)set->n * sizeof *made->source);
    return run_autocorrelation(r, made->autocorrelation);
}

static status finish(const task *t)
{
    const config *cfg = t->cfg;
    status result = STATUS_OK;
    images *set = NULL;
    part p = {.comm = t->world,
              .name = "all",
              .state = &t->made->progress.runs[RUN_ALL],
              .before = (int)cfg->run.generations,
              .last = (int)(cfg->run.generations + cfg->run.final_generations)};
    TRY_OR(done, images_load(t->catalogue, t->world, 1, 0, &set));
    TRY_OR(done,
           run_create(cfg, t->dev, t->world, t->catalogue, set, (uint64_t)cfg->run.seed, &p.run));
    TRY_OR(done, restore(&p));
    TRY_OR(done, refine(t, &p));
    TRY_OR(done, phase_final(t, &p));
    TRY_OR(done, comm_agree(t->world, take_results(p.run, set, t->made)));
done:
    run_destroy(p.run);
    images_destroy(set);
    return result;
}

static status start(const config *cfg, const catalogue *k, reconstruction *made)
{
    made->size = cfg->grid.size;
    made->s_max = k->radius[k->n_pixels - 1];
    made->voxel = 1 / (2 * made->s_max);
    const size_t n = (size_t)cube(made->size);
    for (int h = 0; h < 2; h++)
        made->half[h] = calloc(n, sizeof *made->half[h]);
    if (!made->half[0] || !made->half[1])
        FAIL(
            STATUS_RESOURCE,
            "no memory for maps of grid.size %lld, %.1f GB each; lower it, or use fewer ranks a node",
            (long long)made->size, 8e-9 * (double)n);
    return progress_create(made->size, cfg->run.attempts, &made->progress);
}

/* From the checkpoint, if there is one. */
static status resume(const task *t)
{
    reconstruction *made = t->made;
    TRY(keeper_resume(t->keep, made));
    if (made->progress.attempts == 0) return STATUS_OK;
    TRY(correlate(t, made->half[0], made->half[1], &made->agreement, &made->resolution));
    made->converged = has_converged(made);
    return STATUS_OK;
}

status reconstruction_create(const config *cfg, const device *dev, comm *world, const catalogue *k,
                             keeper *keep, reconstruction **created)
{
    status result = STATUS_OK;
    *created = NULL;
    reconstruction *made = calloc(1, sizeof *made);
    const task t = {cfg, dev, world, k, keep, made};
    TRY_OR(fail, comm_agree(world, made ? start(cfg, k, made)
                                        : FAILED(STATUS_RESOURCE, "out of host memory")));
    TRY_OR(fail, resume(&t));
    *created = made;
    return STATUS_OK;
fail:
    reconstruction_destroy(made);
    return result;
}

static status search_and_finish(const task *t)
{
    TRY(search_until_agreed(t));
    return finish(t);
}

status reconstruct(const config *cfg, const device *dev, comm *world, const catalogue *k,
                   keeper *keep, reconstruction *made)
{
    const task t = {cfg, dev, world, k, keep, made};
    made->start = clock_seconds();
    made->device_free = device_free_bytes(dev);
    made->work_left = schedule_all(cfg, comm_size(world));
    const status result = search_and_finish(&t);
    log_progress(-1, "");
    return result;
}

void reconstruction_destroy(reconstruction *made)
{
    if (!made) return;
    fsc_destroy(made->agreement);
    progress_free(&made->progress);
    void *arrays[] = {made->density, made->half[0],      made->half[1], made->autocorrelation,
                      made->source,  made->orientations, made->fluence, made->scores,
                      made->records, made->prtf};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
    free(made);
}
