#include "keeper.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "checkpoint.h"
#include "core/clock.h"
#include "core/log.h"
#include "history.h"
#include "interrupt.h"
#include "io_atomic.h"
#include "watchdog.h"

/* Checkpoints that fail one after the other before the run gives up. */
enum { PATIENCE = 3 };
/* Seconds between looks at the directory, and between lines of status.json. */
static const double look_every = 1, report_every = 5;

struct keeper {
    const config *cfg;
    comm *world;
    uint64_t data;
    run_directory *directory; /* rank 0 */
    watchdog *dog;
    comm_watch watch;
    bool may_stop;                            /* between keeper_enter and a meeting */
    double entered, deadline, longest;        /* of the work between two meetings */
    double saved_at, save_seconds;            /* rank 0 */
    double looked_at, reported_at;            /* rank 0 */
    int generations_unsaved, failed_saves;    /* meetings since; saves in a row */
    char checkpoint_time[32];                 /* of the newest, "" if none */
    int64_t attempts, final, generations, of; /* as last reported, on rank 0 */
    double seconds_left;
};

typedef enum wish { WISH_NOTHING, WISH_SAVE, WISH_STOP } wish;

/* -- asking for an end -- */

/* Time to write the checkpoint and leave. */
static double needed_to_leave(const keeper *k)
{
    return 2 * k->save_seconds + 2;
}

static status look_around(keeper *k)
{
    const double now = clock_seconds();
    if (!k->directory || now - k->looked_at < look_every) return STATUS_OK;
    k->looked_at = now;
    run_directory_touch(k->directory);
    if (run_directory_asked(k->directory, "STOP")) FAIL(STATUS_STOPPED, "the file STOP was found");
    if (now + needed_to_leave(k) > k->deadline) FAIL(STATUS_STOPPED, "the time limit is near");
    return STATUS_OK;
}

static status look_for_end(keeper *k)
{
    const char *signal = interrupt_noted();
    if (signal) FAIL(STATUS_STOPPED, "%s was received", signal);
    return look_around(k);
}

static status begin_wait(void *context, const char *at)
{
    keeper *k = context;
    watchdog_wait(k->dog, at);
    return k->may_stop ? look_for_end(k) : STATUS_OK;
}

static void end_wait(void *context)
{
    keeper *k = context;
    watchdog_go(k->dog);
}

void keeper_enter(keeper *k)
{
    k->may_stop = true;
    k->entered = clock_seconds();
}

/* -- status.json -- */

static void time_text(char text[32])
{
    const time_t now = time(NULL);
    struct tm parts;
    (void)strftime(text, 32, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &parts));
}

static status write_status(const keeper *k, const char *state)
{
    char path[CONFIG_TEXT_SIZE + 64], now[32], host[64] = "?";
    atomic_file *file = NULL;
    time_text(now);
    (void)gethostname(host, sizeof host - 1);
    snprintf(path, sizeof path, "%s/status.json", k->cfg->run.directory);
    TRY(atomic_begin_stream(path, &file));
    fprintf(atomic_stream(file),
            "{\"state\": \"%s\", \"updated\": \"%s\", \"host\": \"%s\", \"process\": %ld, "
            "\"attempts_compared\": %lld, \"final\": %s, \"generations\": %lld, \"of\": %lld, "
            "\"seconds_left\": %.0f, \"checkpoint\": \"%s\"}\n",
            state, now, host, (long)getpid(), (long long)k->attempts, k->final ? "true" : "false",
            (long long)k->generations, (long long)k->of, k->seconds_left, k->checkpoint_time);
    return atomic_commit(file);
}

/* That they cannot be written is no reason to end. */
static void report_history(const keeper *k, const reconstruction *made)
{
    char path[CONFIG_TEXT_SIZE + 64];
    if (!k->directory) return;
    snprintf(path, sizeof path, "%s/history.txt", k->cfg->run.directory);
    if (history_write(path, made->n_records, made->records) != STATUS_OK)
        log_warning("%s", status_message());
}

static void report(keeper *k, const char *state)
{
    if (!k->directory) return;
    k->reported_at = clock_seconds();
    if (write_status(k, state) != STATUS_OK) log_warning("%s", status_message());
}

static void report_progress(keeper *k, const reconstruction *made)
{
    const progress *p = &made->progress;
    k->attempts = p->attempts;
    k->final = p->searched;
    k->generations = p->runs[p->searched ? RUN_ALL : RUN_HALF_1].generation;
    k->of = p->searched ? k->cfg->run.final_generations : k->cfg->run.generations;
    k->seconds_left = made->seconds_left;
    if (clock_seconds() - k->reported_at < report_every) return;
    report_history(k, made);
    report(k, "running");
}

/* -- meetings -- */

/* Rank 0's: by the clock, the count, and what the user has put into the directory. */
static wish decide(keeper *k)
{
    const double now = clock_seconds(), minutes = k->cfg->run.checkpoint_minutes;
    const int64_t generations = k->cfg->run.checkpoint_generations;
    if (now + 1.3 * k->longest + needed_to_leave(k) > k->deadline) return WISH_STOP;
    if (run_directory_asked(k->directory, "CHECKPOINT")) return WISH_SAVE;
    if (generations > 0 && k->generations_unsaved >= generations) return WISH_SAVE;
    return minutes > 0 && now - k->saved_at >= 60 * minutes ? WISH_SAVE : WISH_NOTHING;
}

/* Rank 0 has all values meanwhile. Collective. */
static status save(keeper *k, reconstruction *made)
{
    const double start = clock_seconds();
    progress *p = &made->progress;
    status result = STATUS_OK;
    for (int i = 0; i < N_RUNS && result == STATUS_OK; i++)
        result = run_state_send(k->world, &p->runs[i], p->owners[i], 0);
    TRY(result);
    if (k->directory) result = checkpoint_write(k->cfg, k->data, made);
    for (int i = 0; i < N_RUNS && k->directory; i++)
        if (p->owners[i] != 0) run_state_clear(&p->runs[i]);
    result = comm_agree(k->world, result);
    k->saved_at = clock_seconds(); /* also if it failed: not at once again */
    k->generations_unsaved = 0;
    k->failed_saves = result == STATUS_OK ? 0 : k->failed_saves + 1;
    if (result != STATUS_OK) return result;
    k->save_seconds = fmax(k->save_seconds, k->saved_at - start);
    time_text(k->checkpoint_time);
    log_info("checkpoint: %s/checkpoint.h5 written in %.2f s", k->cfg->run.directory,
             k->saved_at - start);
    return STATUS_OK;
}

static status stop(keeper *k, const char *why, reconstruction *made)
{
    report_history(k, made);
    const status saved = save(k, made);
    TRY(status_prefix(saved, "%s, and no checkpoint could be written (older ones are as they were)",
                      why));
    FAIL(STATUS_STOPPED, "%s; %s/checkpoint.h5 is good: the same command goes on from there", why,
         k->cfg->run.directory);
}

static status save_if_possible(keeper *k, reconstruction *made)
{
    const status saved = save(k, made);
    if (saved == STATUS_OK || saved == STATUS_PARALLEL) return saved;
    if (k->failed_saves >= PATIENCE)
        return status_prefix(saved,
                             "%d checkpoints in a row could not be written (the one before is "
                             "as it was)",
                             PATIENCE);
    if (k->directory)
        log_warning("no checkpoint (the one before is as it was): %s", status_message());
    return STATUS_OK;
}

/* The second half's record to rank 0, which has its own. */
static status share_record(const keeper *k, run_record *record, reconstruction *made)
{
    const int from = made->progress.owners[RUN_HALF_2];
    status result = STATUS_OK;
    if (from == 0) return STATUS_OK;
    TRY(comm_send(k->world, record, sizeof *record, COMM_BYTE, from, 0));
    if (comm_rank(k->world) == 0 && record->generation > 0 && record->run == RUN_HALF_2)
        result = history_add(record, &made->n_records, &made->records);
    return comm_agree(k->world, result);
}

status keeper_meet(keeper *k, status mine, run_record *record, reconstruction *made)
{
    char why[STATUS_MESSAGE_SIZE / 2];
    if (k->may_stop) k->longest = fmax(k->longest, clock_seconds() - k->entered);
    if (mine == STATUS_OK) mine = look_for_end(k);
    k->may_stop = false;
    const status all = comm_agree_all(k->world, mine);
    snprintf(why, sizeof why, "%s",
             all == STATUS_STOPPED ? status_message() : "the time limit is near");
    if (all != STATUS_STOPPED) TRY(all);
    TRY(share_record(k, record, made));
    if (all == STATUS_STOPPED) return stop(k, why, made);
    k->generations_unsaved++;
    int64_t wanted = k->directory ? decide(k) : WISH_NOTHING;
    TRY(comm_broadcast(k->world, &wanted, 1, COMM_INT64, 0));
    if (wanted == WISH_STOP) return stop(k, why, made);
    if (wanted == WISH_SAVE) TRY(save_if_possible(k, made));
    report_progress(k, made);
    return STATUS_OK;
}

/* -- beginning and end -- */

status keeper_create(const config *cfg, comm *world, uint64_t data, run_directory *directory,
                     double seconds, keeper **created)
{
    status result = STATUS_OK;
    *created = NULL;
    keeper *k = calloc(1, sizeof *k);
    TRY_OR(fail, comm_agree(world, k ? STATUS_OK : FAILED(STATUS_RESOURCE, "out of host memory")));
    *k = (keeper){.cfg = cfg, .world = world, .data = data, .directory = directory};
    k->deadline = clock_seconds() + seconds;
    k->saved_at = clock_seconds();
    k->watch = (comm_watch){begin_wait, end_wait, k};
    TRY_OR(fail, watchdog_create(world, cfg->run.hang_timeout, &k->dog));
    comm_set_watch(world, &k->watch);
    *created = k;
    return STATUS_OK;
fail:
    free(k);
    return result;
}

void keeper_destroy(keeper *k, status outcome)
{
    if (!k) return;
    report(k, outcome == STATUS_OK ? "done" : outcome == STATUS_STOPPED ? "stopped" : "failed");
    comm_set_watch(k->world, NULL);
    watchdog_destroy(k->dog);
    free(k);
}

/* -- resuming -- */

static status broadcast_halves(comm *world, reconstruction *made, int64_t attempts)
{
    progress *p = &made->progress;
    const int64_t n = cube(p->size);
    const bool root = comm_rank(world) == 0;
    for (int h = 0; h < 2 && attempts > 0; h++)
        TRY(comm_broadcast(world, made->half[h], n, COMM_DOUBLE, 0));
    for (int64_t i = 0; i < attempts; i++) {
        if (!root) p->attempts = i;
        if (!p->searched) {
            TRY(comm_agree(world, root ? STATUS_OK : progress_grow(p)));
            for (int h = 0; h < 2; h++)
                TRY(comm_broadcast(world, p->half[h][i], n, COMM_DOUBLE, 0));
        }
    }
    p->attempts = attempts;
    return STATUS_OK;
}

status keeper_resume(keeper *k, reconstruction *made)
{
    progress *p = &made->progress;
    bool found = false;
    TRY(comm_agree(k->world,
                   k->directory ? checkpoint_read(k->cfg, k->data, made, &found) : STATUS_OK));
    int64_t header[3] = {found, p->attempts, p->searched};
    TRY(comm_broadcast(k->world, header, 3, COMM_INT64, 0));
    if (!header[0]) return STATUS_OK;
    p->searched = header[2];
    TRY(broadcast_halves(k->world, made, header[1]));
    for (int i = 0; i < N_RUNS; i++)
        TRY(run_state_broadcast(k->world, &p->runs[i], 0));
    log_info(
        "going on from the checkpoint: %lld attempts compared, generations %lld and %lld of the "
        "halves, %lld of all images",
        (long long)p->attempts, (long long)p->runs[RUN_HALF_1].generation,
        (long long)p->runs[RUN_HALF_2].generation, (long long)p->runs[RUN_ALL].generation);
    return STATUS_OK;
}
