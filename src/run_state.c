#include "run_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "run_parts.h"

const char *state_name(state_part part)
{
    static const char *const names[] = {
        [STATE_DENSITY] = "density", [STATE_MODEL] = "model",
        [STATE_MERGED] = "merged",   [STATE_FLUENCES] = "fluences",
        [STATE_SCORES] = "scores",   [STATE_ORIENTATIONS] = "orientations"};
    return names[part];
}

/* What computes it: for messages. */
static const char *stage_of(state_part part)
{
    if (part == STATE_MERGED || part == STATE_MODEL) return stage_name(STAGE_MERGE);
    return stage_name(part == STATE_DENSITY ? STAGE_PHASE : STAGE_MATCH);
}

int64_t state_count(const run_state *s, state_part part)
{
    if (part <= STATE_MERGED) return cube(s->size);
    return part == STATE_ORIENTATIONS ? 4 * s->n_images : s->n_images;
}

double *state_part_of(const run_state *s, state_part part)
{
    double *at = s->values;
    for (int p = 0; p < (int)part; p++)
        at += state_count(s, (state_part)p);
    return at;
}

static int64_t count_all(const run_state *s)
{
    int64_t n = 0;
    for (int p = 0; p < N_STATE_PARTS; p++)
        n += state_count(s, (state_part)p);
    return n;
}

status run_state_reserve(run_state *s)
{
    free(s->values);
    s->values = malloc((size_t)count_all(s) * sizeof *s->values);
    if (!s->values) FAIL(STATUS_RESOURCE, "out of host memory for the state of a run");
    return STATUS_OK;
}

void run_state_clear(run_state *s)
{
    free(s->values);
    s->values = NULL;
    s->generation = 0;
}

static status check_part(const run_state *s, state_part part)
{
    const double *values = state_part_of(s, part);
    int64_t n_bad = 0, first = 0;
    for (int64_t i = state_count(s, part) - 1; i >= 0; i--) {
        if (isfinite(values[i])) continue;
        n_bad++;
        first = i;
    }
    if (n_bad > 0)
        FAIL(STATUS_NUMERIC,
             "%lld of %lld values of '%s' are not finite after stage %s, number %lld is the first: "
             "%g; the checkpoint before is kept",
             (long long)n_bad, (long long)state_count(s, part), state_name(part), stage_of(part),
             (long long)first, values[first]);
    return STATUS_OK;
}

/* A generation computes one from another: the first that is bad names the stage to look at. */
static const state_part in_order[N_STATE_PARTS] = {STATE_SCORES, STATE_FLUENCES, STATE_ORIENTATIONS,
                                                   STATE_MERGED, STATE_DENSITY,  STATE_MODEL};

static status copy_run(const run *r, const run_state *s)
{
    const size_t n = (size_t)s->n_images * sizeof(double);
    memcpy(state_part_of(s, STATE_DENSITY), r->density, (size_t)volume(r) * sizeof(double));
    memcpy(state_part_of(s, STATE_FLUENCES), r->fluence, n);
    memcpy(state_part_of(s, STATE_SCORES), r->scores, n);
    memcpy(state_part_of(s, STATE_ORIENTATIONS), r->orientations, 4 * n);
    TRY(device_to_doubles(r->dev, r->precision, volume(r), r->model,
                          state_part_of(s, STATE_MODEL)));
    return device_to_doubles(r->dev, r->precision, volume(r), r->merged,
                             state_part_of(s, STATE_MERGED));
}

status run_save(const run *r, int64_t generation, run_state *s)
{
    run_state now = {generation, r->has_model, r->size, r->set->n, NULL};
    TRY(run_state_reserve(&now));
    status result = copy_run(r, &now);
    for (int i = 0; i < N_STATE_PARTS && result == STATUS_OK; i++)
        result = check_part(&now, in_order[i]);
    if (result == STATUS_OK) {
        run_state_clear(s);
        *s = now;
    } else {
        run_state_clear(&now);
    }
    return result;
}

static status take_state(run *r, const run_state *s)
{
    const size_t n = (size_t)s->n_images * sizeof(double);
    memcpy(r->density, state_part_of(s, STATE_DENSITY), (size_t)volume(r) * sizeof(double));
    memcpy(r->fluence, state_part_of(s, STATE_FLUENCES), n);
    memcpy(r->scores, state_part_of(s, STATE_SCORES), n);
    memcpy(r->orientations, state_part_of(s, STATE_ORIENTATIONS), 4 * n);
    r->has_model = s->has_model != 0;
    TRY(device_from_host(r->dev, r->average, r->density, volume(r) * (int64_t)sizeof *r->density));
    TRY(device_from_doubles(r->dev, r->precision, volume(r), state_part_of(s, STATE_MODEL),
                            r->model));
    TRY(device_from_doubles(r->dev, r->precision, volume(r), state_part_of(s, STATE_MERGED),
                            r->merged));
    return match_set_fluence(r->match, r->fluence + r->set->first);
}

status run_restore(run *r, const run_state *s)
{
    status result = STATUS_OK;
    if (s->size != r->size || s->n_images != r->set->n)
        result = FAILED(STATUS_INTERNAL,
                        "a state of %lld voxels an edge and %lld images for a run of %lld and %lld",
                        (long long)s->size, (long long)s->n_images, (long long)r->size,
                        (long long)r->set->n);
    if (result == STATUS_OK) result = take_state(r, s);
    return comm_agree(r->comm, result);
}

/* The fields before `values`, as one message. */
enum { N_HEADER = 4 };

static void get_header(const run_state *s, int64_t header[N_HEADER])
{
    const int64_t fields[N_HEADER] = {s->generation, s->has_model, s->size, s->n_images};
    memcpy(header, fields, sizeof fields);
}

static void set_header(run_state *s, const int64_t header[N_HEADER])
{
    s->generation = header[0];
    s->has_model = header[1];
    s->size = header[2];
    s->n_images = header[3];
}

status run_state_send(comm *c, run_state *s, int from, int to)
{
    int64_t header[N_HEADER];
    status result = STATUS_OK;
    if (from == to) return STATUS_OK;
    if (comm_rank(c) == from) get_header(s, header);
    TRY(comm_send(c, header, N_HEADER, COMM_INT64, from, to));
    if (comm_rank(c) == to) {
        set_header(s, header);
        if (s->generation > 0) result = run_state_reserve(s);
    }
    TRY(comm_agree(c, result));
    if (comm_rank(c) != from && comm_rank(c) != to) return STATUS_OK;
    return s->generation > 0 ? comm_send(c, s->values, count_all(s), COMM_DOUBLE, from, to)
                             : STATUS_OK;
}

status run_state_broadcast(comm *c, run_state *s, int root)
{
    int64_t header[N_HEADER];
    status result = STATUS_OK;
    if (comm_rank(c) == root) get_header(s, header);
    TRY(comm_broadcast(c, header, N_HEADER, COMM_INT64, root));
    if (comm_rank(c) != root) {
        run_state_clear(s);
        set_header(s, header);
        if (s->generation > 0) result = run_state_reserve(s);
    }
    TRY(comm_agree(c, result));
    return s->generation > 0 ? comm_broadcast(c, s->values, count_all(s), COMM_DOUBLE, root)
                             : STATUS_OK;
}
