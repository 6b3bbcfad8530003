#include "watchdog.h"

#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "batch.h"
#include "core/clock.h"
#include "core/log.h"

/* How much longer a rank that waits is patient, and how long printing and aborting may take. */
static const double patience = 5, last_words = 2;

typedef struct peer {
    char host[BATCH_NAME_SIZE];
    int64_t pid;
} peer;

struct watchdog {
    comm *world;
    double seconds;
    peer *peers; /* [ranks] */
    atomic_llong count;
    atomic_bool waiting;
    _Atomic(const char *) stage;
    pthread_t main_thread, thread;
    bool started;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool end;
};

/* Runs in the main thread. */
static void print_stack(int number)
{
    void *frames[48];
    (void)number;
    backtrace_symbols_fd(frames, backtrace(frames, 48), STDERR_FILENO);
}

/* 'T' for a stopped process, 'Z' or 0 for one that is gone, else another letter. */
static int state_of(int64_t pid)
{
    char path[64], line[512] = "";
    snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
    FILE *file = fopen(path, "r");
    if (!file) return 0;
    if (!fgets(line, sizeof line, file)) line[0] = 0;
    fclose(file);
    const char *after_name = strrchr(line, ')');
    return after_name && after_name[1] ? after_name[2] : 0;
}

/* The ranks of this node that cannot speak for themselves. */
static void name_silent(const watchdog *w)
{
    const peer *me = w->peers + comm_rank(w->world);
    for (int i = 0; i < comm_size(w->world); i++) {
        const peer *p = w->peers + i;
        const int state = strcmp(p->host, me->host) == 0 ? state_of(p->pid) : 'R';
        if (state == 'T' || state == 't' || state == 'Z' || state == 0) {
            log_error("rank %d (process %lld on %s) is %s", i, (long long)p->pid, p->host,
                      state == 'T' || state == 't' ? "stopped" : "gone");
            batch_node_fault();
        }
    }
}

static void bark(const watchdog *w)
{
    const char *stage = w->stage;
    log_error(
        "no progress for %.0f s: rank %d on %s is %s, stage %s; its stack follows. If the work "
        "needs longer, raise run.hang_timeout",
        w->seconds, comm_rank(w->world), w->peers[comm_rank(w->world)].host,
        w->waiting ? "waiting for other ranks" : "computing, or waits for a device or a file",
        stage ? stage : "before or after a generation");
    if (!w->waiting) batch_node_fault();
    name_silent(w);
    (void)pthread_kill(w->main_thread, SIGRTMIN);
    sleep((unsigned)last_words);
    comm_abort(w->world, status_exit_code(STATUS_PARALLEL));
    _exit(status_exit_code(STATUS_PARALLEL));
}

static void *keep_watch(void *context)
{
    watchdog *w = context;
    long long seen = -1;
    double since = clock_seconds();
    pthread_mutex_lock(&w->lock);
    while (!w->end) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += 1;
        pthread_cond_timedwait(&w->ended, &w->lock, &until);
        const double now = clock_seconds(), limit = w->seconds + (w->waiting ? patience : 0);
        if (w->count != seen) {
            seen = w->count;
            since = now;
        }
        if (!w->end && now - since > limit) bark(w);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

static status gather_peers(watchdog *w)
{
    const int ranks = comm_size(w->world);
    peer *me = w->peers + comm_rank(w->world);
    int64_t *sizes = malloc((size_t)ranks * sizeof *sizes);
    status result = STATUS_OK;
    TRY_OR(done,
           comm_agree(w->world, sizes ? STATUS_OK : FAILED(STATUS_RESOURCE, "out of host memory")));
    for (int i = 0; i < ranks; i++)
        sizes[i] = (int64_t)sizeof *w->peers;
    batch_node(me->host);
    me->pid = getpid();
    result = comm_share(w->world, w->peers, sizes, COMM_BYTE);
done:
    free(sizes);
    return result;
}

/* Signals go to the main thread, which MPI and the handlers expect. */
static status start_thread(watchdog *w)
{
    void *frames[2];
    struct sigaction action = {.sa_handler = print_stack};
    sigset_t all, before;
    (void)backtrace(frames, 2); /* loads what it needs, which a handler may not */
    sigemptyset(&action.sa_mask);
    (void)sigaction(SIGRTMIN, &action, NULL);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int code = pthread_create(&w->thread, NULL, keep_watch, w);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code != 0) FAIL(STATUS_RESOURCE, "cannot start a thread: %s", strerror(code));
    w->started = true;
    return STATUS_OK;
}

status watchdog_create(comm *world, double seconds, watchdog **created)
{
    status result = STATUS_OK;
    *created = NULL;
    watchdog *w = calloc(1, sizeof *w);
    if (w) w->peers = calloc((size_t)comm_size(world), sizeof *w->peers);
    if (!w || !w->peers) result = FAILED(STATUS_RESOURCE, "out of host memory");
    TRY_OR(fail, comm_agree(world, result));
    w->world = world;
    w->seconds = seconds;
    w->main_thread = pthread_self();
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->ended, NULL);
    TRY_OR(fail, gather_peers(w));
    TRY_OR(fail, comm_agree(world, seconds > 0 ? start_thread(w) : STATUS_OK));
    *created = w;
    return STATUS_OK;
fail:
    watchdog_destroy(w);
    return result;
}

void watchdog_destroy(watchdog *w)
{
    if (!w) return;
    if (w->started) {
        pthread_mutex_lock(&w->lock);
        w->end = true;
        pthread_cond_signal(&w->ended);
        pthread_mutex_unlock(&w->lock);
        pthread_join(w->thread, NULL);
    }
    free(w->peers);
    free(w);
}

void watchdog_wait(watchdog *w, const char *stage)
{
    w->stage = stage;
    w->waiting = true;
    w->count++;
}

void watchdog_go(watchdog *w)
{
    w->waiting = false;
    w->count++;
}
