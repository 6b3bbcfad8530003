/* run.c: a generation and what it says to other ranks.

   run_generation
     first_pass     slices, shared between ranks; scores            (match_add)
     decide         perplexity, fluences                            (match_decide)
     second_pass    tomograms, summed and dealt to ranks; type 1    (merger_add)
     solve          sums over ranks; CG on rank 0                   (merger_solve)
     phase          starts dealt to ranks; average on rank 0        (run_phase.c) */
#include "run.h"

#include "core/median.h"
#include "mtip/random.h"
#include "mtip/rotation.h"
#include "run_check.h"
#include "run_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* References below this fraction of the mean weight are left out of the merge. */
static const double weight_floor = 1e-3;
/* -- a generation -- */

static status reserve_batch(run *r)
{
    const size_t n = (size_t)r->batch;
    void *quaternions = realloc(r->quaternions, 4 * n * sizeof(double));
    if (quaternions) r->quaternions = quaternions;
    void *weights = realloc(r->weights, n * sizeof *r->weights);
    if (weights) r->weights = weights;
    void *columns = realloc(r->columns, n * sizeof *r->columns);
    if (columns) r->columns = columns;
    if (!quaternions || !weights || !columns) FAIL(STATUS_RESOURCE, "out of host memory");
    if (r->cfg->run.deterministic) {
        device_free(r->dev, r->fixed);
        r->fixed = NULL;
        TRY(device_alloc(r->dev, r->batch * r->n_used * (int64_t)sizeof(int64_t), &r->fixed));
    }
    if (r->batch * r->n_used <= r->slices_capacity) return STATUS_OK;
    device_free(r->dev, r->slices);
    r->slices = NULL;
    r->slices_capacity = 0;
    TRY(device_alloc(r->dev, bytes(r, r->batch * r->n_used), &r->slices));
    r->slices_capacity = r->batch * r->n_used;
    return STATUS_OK;
}

/* Pixels, batch and reference set of a generation. */
static status begin(run *r, int number, const run_step *step)
{
    r->n_used = catalogue_pixels_within(r->catalogue, step->resolution);
    r->k_max = step->resolution * (double)r->size / 2;
    r->n_references = step->n_references;
    r->batch = run_batch(r->cfg, device_kind_of(r->dev), r->n_used, r->n_references);
    TRY(reserve_batch(r));
    random_stream stream;
    random_start(&stream, r->seed, RANDOM_TURN, (uint64_t)number, 0);
    double u[3];
    for (int i = 0; i < 3; i++)
        u[i] = random_uniform(&stream);
    rotation_uniform(u, r->turn);
    TRY(match_begin(r->match, r->n_references, r->batch, r->n_used));
    TRY(run_check_begin(r, number));
    r->n_waiting = 0;
    return merger_begin(r->merger);
}

/* References first .. first+count-1 of the generation. */
static void reference_rotations(const run *r, int64_t first, int64_t count, double *quaternions)
{
    if (r->given)
        memcpy(quaternions, r->given + 4 * first, 4 * (size_t)count * sizeof *quaternions);
    else
        rotation_cover(r->n_references, first, count, r->turn, quaternions);
}

int64_t run_deal(run *r, int64_t n)
{
    const int ranks = comm_size(r->comm);
    int64_t mine = 0;
    for (int i = 0; i < ranks; i++) {
        r->share[i] = n * (i + 1) / ranks - n * i / ranks;
        if (i < comm_rank(r->comm)) mine += r->share[i];
    }
    return mine;
}

static status make_slices(run *r, int64_t count, const double *quaternions, void *slices)
{
    TRY(slicer_run(r->slicer, count, quaternions, r->n_used, r->pixels, slices));
    return run_check_slices(r, count, quaternions, slices);
}

/* Slices of a batch on every rank: each computes its part, unless the bits must not depend on the
   number of ranks. Collective. */
static status batch_slices(run *r, int64_t first, int64_t count)
{
    stage_enter(&r->timer, STAGE_SLICE);
    reference_rotations(r, first, count, r->quaternions);
    if (r->cfg->run.deterministic || comm_size(r->comm) == 1)
        return comm_agree(r->comm, make_slices(r, count, r->quaternions, r->slices));
    const int64_t mine = run_deal(r, count);
    status result = make_slices(r, r->share[comm_rank(r->comm)], r->quaternions + 4 * mine,
                                (char *)r->slices + bytes(r, mine * r->n_used));
    TRY(comm_agree(r->comm, result));
    for (int i = 0; i < comm_size(r->comm); i++)
        r->share[i] *= r->n_used;
    stage_enter(&r->timer, STAGE_EXCHANGE);
    return comm_device_share(r->devices, r->slices, r->share, real_type(r));
}

static status set_model(run *r)
{
    TRY(slicer_set_model(r->slicer, r->model));
    return run_check_model(r);
}

static status score_batch(run *r, int64_t first, int64_t count)
{
    TRY(run_check_keep_slice(r, count, r->slices));
    TRY(match_add(r->match, first, count, r->slices));
    return run_check_scores(r, first);
}

static status first_pass(run *r)
{
    stage_enter(&r->timer, STAGE_SLICE);
    TRY(comm_agree(r->comm, set_model(r)));
    for (int64_t first = 0; first < r->n_references; first += r->batch) {
        const int64_t count = smaller(r->batch, r->n_references - first);
        TRY(batch_slices(r, first, count));
        stage_enter(&r->timer, STAGE_MATCH);
        TRY(comm_agree(r->comm, score_batch(r, first, count)));
    }
    return STATUS_OK;
}

/* Everybody's orientations and scores on every rank, and the summary of them. Collective. */
static status share_choice(run *r, run_record *record)
{
    const images *set = r->set;
    match_images chosen;
    match_get_images(r->match, &chosen);
    double *entropy = r->entropy + set->first, *moved = r->moved + set->first;
    for (int64_t k = 0; k < set->n_local; k++) {
        double *now = r->orientations + 4 * (set->first + k), before[4];
        memcpy(before, now, sizeof before);
        reference_rotations(r, chosen.best[k], 1, now);
        moved[k] = rotation_angle(before, now) * 180 / M_PI;
        r->scores[set->first + k] = chosen.score[k];
        entropy[k] = chosen.entropy[k];
    }
    for (int i = 0; i < comm_size(r->comm); i++)
        r->share[i] = 4 * set->per_rank[i];
    TRY(comm_share(r->comm, r->orientations, r->share, COMM_DOUBLE));
    TRY(comm_share(r->comm, r->scores, set->per_rank, COMM_DOUBLE));
    TRY(comm_share(r->comm, r->entropy, set->per_rank, COMM_DOUBLE));
    TRY(comm_share(r->comm, r->moved, set->per_rank, COMM_DOUBLE));
    double mean_entropy = 0, mean_score = 0;
    for (int64_t k = 0; k < set->n; k++) {
        mean_entropy += r->entropy[k] / (double)set->n;
        mean_score += r->scores[k] / (double)set->n;
    }
    record->perplexity = exp(mean_entropy);
    record->score = mean_score;
    record->moved = median_upper(set->n, r->moved);
    return STATUS_OK;
}

static status decide(run *r, const run_step *step, run_record *record)
{
    match_images chosen;
    TRY(comm_agree(r->comm, match_decide(r->match, step->perplexity)));
    TRY(share_choice(r, record));
    if (!r->cfg->match.fluence_update) return STATUS_OK;
    match_get_images(r->match, &chosen);
    return run_update_fluence(r, chosen.expected);
}

/* Without scores: every image at its own given orientation, or at a random reference. */
static status assign_mine(run *r)
{
    const images *set = r->set;
    int64_t *best = malloc((size_t)(set->n_local + 1) * sizeof *best);
    if (!best) FAIL(STATUS_RESOURCE, "out of host memory");
    for (int64_t k = 0; k < set->n_local; k++) {
        best[k] = set->first + k;
        if (r->given) continue;
        random_stream stream;
        random_start(&stream, r->seed, RANDOM_ASSIGN, (uint64_t)set->source[set->first + k], 0);
        best[k] = (int64_t)(random_uniform(&stream) * (double)r->n_references);
    }
    status result = match_assign(r->match, best);
    free(best);
    return result;
}

static status assign(run *r, run_record *record)
{
    TRY(comm_agree(r->comm, assign_mine(r)));
    return share_choice(r, record);
}

static status flush_waiting(run *r)
{
    const int64_t n = r->n_waiting;
    const stage before = r->timer.now;
    r->n_waiting = 0;
    stage_enter(&r->timer, STAGE_MERGE);
    status result = merger_add(r->merger, n, r->waiting_quaternions, r->waiting_weights, r->n_used,
                               r->pixels, r->waiting_data);
    if (result == STATUS_OK) stage_enter(&r->timer, before);
    return result;
}

static status reserve_waiting(run *r)
{
    const int64_t capacity = run_waiting_rows(r->batch, r->n_used);
    if (capacity * r->n_used > r->waiting_capacity) {
        device_free(r->dev, r->waiting_data);
        r->waiting_data = NULL;
        r->waiting_capacity = 0;
        TRY(device_alloc(r->dev, bytes(r, capacity * r->n_used), &r->waiting_data));
        r->waiting_capacity = capacity * r->n_used;
    }
    free(r->waiting_quaternions);
    free(r->waiting_weights);
    r->waiting_rows = capacity;
    r->waiting_quaternions = malloc((size_t)(4 * capacity) * sizeof(double));
    r->waiting_weights = malloc((size_t)capacity * sizeof(double));
    if (!r->waiting_quaternions || !r->waiting_weights) FAIL(STATUS_RESOURCE, "out of host memory");
    return STATUS_OK;
}

/* Rows for references columns[first..first+count-1] of the batch join the waiting list, whose data
   have been put at its end. */
static status append_waiting(run *r, int64_t first, int64_t count)
{
    void *rows = (char *)r->waiting_data + bytes(r, r->n_waiting * r->n_used);
    TRY(run_check_photons(r, count, rows));
    TRY(match_kernels_of(r->dev, r->precision)
            ->divide_rows(r->dev, count, r->n_used, r->correction, rows));
    for (int64_t a = 0; a < count; a++) {
        const int64_t column = r->columns[first + a];
        memcpy(r->waiting_quaternions + 4 * (r->n_waiting + a), r->quaternions + 4 * column,
               4 * sizeof(double));
        r->waiting_weights[r->n_waiting + a] = (double)r->weights[column] / WEIGHT_SCALE;
    }
    TRY(run_check_rows(r, count, rows, r->waiting_weights + r->n_waiting));
    r->n_waiting += count;
    return STATUS_OK;
}

/* The waiting list can take `count` more rows. */
static status make_room(run *r, int64_t count)
{
    return r->n_waiting + count <= r->waiting_rows ? STATUS_OK : flush_waiting(r);
}

/* Tomograms of the active references, added over ranks, each rank keeping its share. Collective. */
static status deal_tomograms(run *r, int64_t n_active)
{
    const int64_t mine = run_deal(r, n_active), count = r->share[comm_rank(r->comm)];
    status result = make_room(r, count);
    if (result == STATUS_OK) result = match_tomograms(r->match, n_active, r->columns, r->slices);
    if (result == STATUS_OK) result = run_check_tomograms(r, n_active);
    TRY(comm_agree(r->comm, result));
    for (int i = 0; i < comm_size(r->comm); i++)
        r->share[i] *= r->n_used;
    stage_enter(&r->timer, STAGE_EXCHANGE);
    TRY(comm_device_sum_scatter(r->devices, r->slices,
                                (char *)r->waiting_data + bytes(r, r->n_waiting * r->n_used),
                                r->share, real_type(r)));
    stage_enter(&r->timer, STAGE_MATCH);
    return comm_agree(r->comm, append_waiting(r, mine, count));
}

/* The same in fixed point, all of them on every rank: the same bits for any number of ranks.
   Collective. */
static status repeat_tomograms(run *r, int64_t n_active)
{
    double largest = 1;
    for (int64_t p = 0; p < r->n_used; p++)
        largest = fmax(largest, r->set->mean[p] * (double)r->set->n);
    const double scale = ldexp(1, 61 - (int)ceil(log2(largest)));
    const int64_t n = n_active * r->n_used;
    status result = make_room(r, n_active);
    if (result == STATUS_OK) result = device_zero(r->dev, r->fixed, n * (int64_t)sizeof(int64_t));
    if (result == STATUS_OK)
        result = match_tomograms_fixed(r->match, n_active, r->columns, scale, r->fixed);
    if (result == STATUS_OK) result = run_check_tomograms(r, n_active);
    TRY(comm_agree(r->comm, result));
    stage_enter(&r->timer, STAGE_EXCHANGE);
    TRY(comm_device_sum(r->devices, r->fixed, n, COMM_INT64));
    stage_enter(&r->timer, STAGE_MATCH);
    result = match_kernels_of(r->dev, r->precision)
                 ->from_fixed(r->dev, n, r->fixed, scale,
                              (char *)r->waiting_data + bytes(r, r->n_waiting * r->n_used));
    if (result == STATUS_OK) result = append_waiting(r, 0, n_active);
    return comm_agree(r->comm, result);
}

/* weights[0..count-1] of the references of a batch, of this rank's images. */
static status weigh(run *r, int64_t first, int64_t count, void *slices)
{
    memset(r->weights, 0, (size_t)count * sizeof *r->weights);
    TRY(match_weights(r->match, first, count, slices, r->weights));
    return run_check_posterior(r);
}

static status second_pass(run *r, run_record *record)
{
    double total_weight = 0;
    const double least = weight_floor * (double)r->set->n / (double)r->n_references * WEIGHT_SCALE;
    int64_t again = !match_keeps_scores(r->match); /* ranks that keep theirs slice for the others */
    TRY(comm_agree(r->comm, reserve_waiting(r)));
    TRY(comm_max(r->comm, &again, 1, COMM_INT64));
    for (int64_t first = 0; first < r->n_references; first += r->batch) {
        const int64_t count = smaller(r->batch, r->n_references - first);
        if (again) TRY(batch_slices(r, first, count));
        stage_enter(&r->timer, STAGE_MATCH);
        reference_rotations(r, first, count, r->quaternions);
        TRY(comm_agree(r->comm, weigh(r, first, count, again ? r->slices : NULL)));
        TRY(comm_sum(r->comm, r->weights, count, COMM_INT64));
        int64_t n_active = 0;
        for (int64_t a = 0; a < count; a++) {
            total_weight += (double)r->weights[a] / WEIGHT_SCALE;
            if ((double)r->weights[a] > least) r->columns[n_active++] = a;
        }
        record->n_active += n_active;
        TRY(r->cfg->run.deterministic ? repeat_tomograms(r, n_active)
                                      : deal_tomograms(r, n_active));
    }
    TRY(comm_agree(r->comm, flush_waiting(r)));
    return run_check_second_pass(r, total_weight);
}

/* On rank 0: from the model, if there is one. */
static status solve_sums(run *r, merge_report *report)
{
    TRY(run_check_sums(r));
    TRY(r->has_model ? device_copy(r->dev, r->merged, r->model, bytes(r, volume(r)))
                     : device_zero(r->dev, r->merged, bytes(r, volume(r))));
    TRY(merger_solve(r->merger, r->merged, report));
    return run_check_solution(r, report);
}

/* Adds the type 1 sums over ranks and solves for the autocorrelation, the same on all ranks. */
static status solve(run *r, run_record *record)
{
    void *kernel, *data;
    int64_t n_kernel, n_data;
    merge_report report = {0};
    merger_sums(r->merger, &kernel, &n_kernel, &data, &n_data);
    stage_enter(&r->timer, STAGE_EXCHANGE);
    if (!r->cfg->run.deterministic) {
        TRY(comm_device_sum(r->devices, kernel, n_kernel, real_type(r)));
        TRY(comm_device_sum(r->devices, data, n_data, real_type(r)));
    }
    stage_enter(&r->timer, STAGE_SOLVE);
    TRY(comm_agree(r->comm, comm_rank(r->comm) == 0 ? solve_sums(r, &report) : STATUS_OK));
    stage_enter(&r->timer, STAGE_EXCHANGE);
    TRY(comm_device_broadcast(r->devices, r->merged, volume(r), real_type(r), 0));
    TRY(comm_broadcast(r->comm, &report, sizeof report, COMM_BYTE, 0));
    record->cg_iterations = report.iterations;
    return STATUS_OK;
}

static status phase(run *r, int number, const run_step *step, run_record *record)
{
    average_report report;
    stage_enter(&r->timer, STAGE_PHASE);
    const bool again = r->has_model;
    TRY(run_phase_starts(r, r->cfg->phase.generation_starts, (int)r->cfg->phase.loops,
                         (uint64_t)number, again, &report, &record->r_factor));
    if (step->feedback)
        TRY(run_set_model(r));
    else
        TRY(comm_agree(r->comm, device_copy(r->dev, r->model, r->merged, bytes(r, volume(r)))));
    stage_enter(&r->timer, STAGE_NONE);
    run_account(r, again, r->cfg->phase.generation_starts, (int)r->cfg->phase.loops, record);
    return STATUS_OK;
}

status run_generation(run *r, int number, const run_step *step, run_record *record)
{
    *record = (run_record){.step = *step};
    stage_timer_reset(&r->timer, r->dev, r->comm, r->devices);
    TRY(comm_agree(r->comm, begin(r, number, step)));
    if (r->has_model) {
        TRY(first_pass(r));
        TRY(decide(r, step, record));
    } else {
        TRY(assign(r, record));
    }
    TRY(second_pass(r, record));
    TRY(solve(r, record));
    return phase(r, number, step, record);
}

status run_merge_at(run *r, const double *orientations)
{
    const run_step step = {.resolution = 1, .n_references = r->set->n, .perplexity = 1};
    run_record record = {.step = step};
    r->given = orientations;
    stage_timer_reset(&r->timer, r->dev, r->comm, r->devices);
    status result = comm_agree(r->comm, begin(r, 0, &step));
    if (result == STATUS_OK) result = assign(r, &record);
    if (result == STATUS_OK) result = second_pass(r, &record);
    if (result == STATUS_OK) result = solve(r, &record);
    if (result == STATUS_OK) stage_enter(&r->timer, STAGE_NONE);
    r->given = NULL;
    TRY(result);
    r->has_model = true;
    return comm_agree(r->comm, device_copy(r->dev, r->model, r->merged, bytes(r, volume(r))));
}
