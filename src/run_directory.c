#include "run_directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "checkpoint.h"
#include "config_same.h"
#include "core/clock.h"
#include "core/log.h"
#include "io_atomic.h"

enum { PATH_SIZE = CONFIG_TEXT_SIZE + 64, OWNER_SIZE = 256 };

static const int forgotten_after = 300; /* seconds */

struct run_directory {
    const config *cfg;
    int lock; /* descriptor */
    FILE *log;
    double touched; /* clock_seconds() */
    bool fresh;     /* an older run is still to be moved away; the log is a temporary file */
};

static void path_of(const config *cfg, const char *name, char path[PATH_SIZE])
{
    snprintf(path, PATH_SIZE, "%s/%s", cfg->run.directory, name);
}

static bool exists(const config *cfg, const char *name)
{
    char path[PATH_SIZE];
    path_of(cfg, name, path);
    return access(path, F_OK) == 0;
}

static status make_directory(const char *path)
{
    char part[CONFIG_TEXT_SIZE];
    const size_t length = strlen(path);
    for (size_t i = 1; i <= length; i++) {
        if (path[i] != '/' && path[i] != 0) continue;
        memcpy(part, path, i);
        part[i] = 0;
        if (mkdir(part, 0777) != 0 && errno != EEXIST)
            FAIL(STATUS_OUTPUT,
                 "cannot make the run directory %s: %s; choose another run.directory", part,
                 strerror(errno));
    }
    struct stat about;
    if (stat(path, &about) != 0 || !S_ISDIR(about.st_mode))
        FAIL(STATUS_OUTPUT,
             "the run directory %s is a file, or a link to nothing; choose another run.directory",
             path);
    if (access(path, W_OK | X_OK) != 0)
        FAIL(STATUS_OUTPUT, "cannot write in the run directory %s: %s", path, strerror(errno));
    return STATUS_OK;
}

/* -- the lock -- */

typedef struct owner {
    char host[64], job[64], start[32];
    long pid;
} owner;

static owner myself(void)
{
    owner me = {.host = "?", .pid = (long)getpid()};
    const char *job = getenv("SLURM_JOB_ID") ? getenv("SLURM_JOB_ID") : getenv("LSB_JOBID");
    const time_t now = time(NULL);
    struct tm parts;
    (void)gethostname(me.host, sizeof me.host - 1);
    snprintf(me.job, sizeof me.job, "%s", job && *job ? job : "none");
    (void)strftime(me.start, sizeof me.start, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &parts));
    return me;
}

/* What the lock's file says; false if it is empty. */
static bool read_owner(int fd, owner *found)
{
    char text[OWNER_SIZE + 1] = "", process[32] = "";
    *found = (owner){.host = ""};
    if (pread(fd, text, OWNER_SIZE, 0) <= 0 ||
        sscanf(text, "host %63s\nprocess %31s\njob %63s\nstart %31s", found->host, process,
               found->job, found->start) != 4)
        return false;
    found->pid = strtol(process, NULL, 10);
    return true;
}

static bool is_forgotten(int fd, const owner *found, const owner *me)
{
    struct stat about;
    if (strcmp(found->host, me->host) == 0) /* flock would have told of a process that lives */
        return found->pid == me->pid || (kill((pid_t)found->pid, 0) != 0 && errno == ESRCH) ||
               flock(fd, LOCK_EX | LOCK_NB) == 0;
    if (strcmp(found->job, "none") != 0 && strcmp(found->job, me->job) == 0) return true;
    return fstat(fd, &about) == 0 && time(NULL) - about.st_mtime > forgotten_after;
}

bool run_directory_busy(const char *directory)
{
    char path[PATH_SIZE];
    owner found = {.pid = 0};
    const owner me = myself();
    struct stat about;
    snprintf(path, sizeof path, "%s/lock", directory);
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) return false;
    bool busy = read_owner(fd, &found) && fstat(fd, &about) == 0;
    if (busy && strcmp(found.host, me.host) == 0)
        busy = kill((pid_t)found.pid, 0) == 0 || errno == EPERM;
    else if (busy)
        busy = time(NULL) - about.st_mtime <= forgotten_after;
    close(fd);
    return busy;
}

static status refuse(const config *cfg, const owner *found)
{
    FAIL(STATUS_OUTPUT,
         "another run works in %s (host %s, process %ld, job %s, since %s); wait for its end or "
         "choose another run.directory. If it is no more, remove %s/lock",
         cfg->run.directory, found->host, found->pid, found->job, found->start, cfg->run.directory);
}

static status write_owner(int fd, const char *path, const owner *me)
{
    char text[OWNER_SIZE];
    const int n = snprintf(text, sizeof text, "host %s\nprocess %ld\njob %s\nstart %s\n", me->host,
                           me->pid, me->job, me->start);
    if (ftruncate(fd, 0) == 0 && pwrite(fd, text, (size_t)n, 0) == n) return STATUS_OK;
    const int why = errno;
    unlink(path);
    FAIL(STATUS_OUTPUT, "cannot write %s: %s", path, strerror(why));
}

/* The file that was opened still has its name: nobody has removed it in between. */
static bool is_current(int fd, const char *path)
{
    struct stat mine, named;
    return fstat(fd, &mine) == 0 && stat(path, &named) == 0 && mine.st_ino == named.st_ino;
}

static status take_lock(const config *cfg, int fd, const char *path)
{
    const owner me = myself();
    owner found;
    const bool busy = flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    const bool owned = read_owner(fd, &found);
    if (busy || !is_current(fd, path)) return refuse(cfg, &found);
    if (owned && !is_forgotten(fd, &found, &me)) return refuse(cfg, &found);
    TRY(write_owner(fd, path, &me));
    if (owned)
        log_warning("the run before (host %s, process %ld, job %s, since %s) ended without a word: "
                    "it was killed, or its node failed",
                    found.host, found.pid, found.job, found.start);
    return STATUS_OK;
}

static status lock_directory(const config *cfg, int *lock)
{
    char path[PATH_SIZE];
    path_of(cfg, "lock", path);
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0) FAIL(STATUS_OUTPUT, "cannot make %s: %s", path, strerror(errno));
    const status result = take_lock(cfg, fd, path);
    if (result == STATUS_OK)
        *lock = fd;
    else
        close(fd);
    return result;
}

static void unlock_directory(run_directory *d)
{
    char path[PATH_SIZE];
    path_of(d->cfg, "lock", path);
    if (d->lock >= 0) unlink(path);
    if (d->lock >= 0) close(d->lock);
    d->lock = -1;
}

/* -- what older runs left -- */

/* NAME.new and NAME.tmp.PROCESS: of runs that were killed while they wrote. */
static bool is_leftover(const char *name)
{
    const size_t length = strlen(name);
    const char *part = strstr(name, ".tmp.");
    if (part && part[5] && strspn(part + 5, "0123456789") == strlen(part + 5)) return true;
    return length > 4 && strcmp(name + length - 4, ".new") == 0;
}

static void remove_leftovers(const config *cfg)
{
    char path[PATH_SIZE + 256];
    DIR *directory = opendir(cfg->run.directory);
    if (!directory) return;
    for (struct dirent *entry = readdir(directory); entry; entry = readdir(directory)) {
        if (!is_leftover(entry->d_name)) continue;
        snprintf(path, sizeof path, "%s/%s", cfg->run.directory, entry->d_name);
        unlink(path);
    }
    closedir(directory);
}

static status move_away(run_directory *d)
{
    char from[CONFIG_TEXT_SIZE], to[PATH_SIZE];
    const config *cfg = d->cfg;
    const bool used = exists(cfg, "config.resolved.yaml") || exists(cfg, "DONE") ||
                      checkpoint_exists(cfg->run.directory);
    if (!used) return STATUS_OK;
    snprintf(from, sizeof from, "%s", cfg->run.directory);
    for (size_t n = strlen(from); n > 1 && from[n - 1] == '/'; n--)
        from[n - 1] = 0;
    int number = 1;
    do
        snprintf(to, sizeof to, "%s.%d", from, number++);
    while (access(to, F_OK) == 0);
    unlock_directory(d);
    if (rename(from, to) != 0)
        FAIL(STATUS_OUTPUT, "cannot move %s to %s: %s", from, to, strerror(errno));
    log_info("the old run is now in %s", to);
    TRY(make_directory(cfg->run.directory));
    return lock_directory(cfg, &d->lock);
}

static status open_log(run_directory *d)
{
    char path[PATH_SIZE];
    path_of(d->cfg, "log.txt", path);
    d->log = fopen(path, "a");
    if (!d->log) FAIL(STATUS_OUTPUT, "cannot write %s: %s", path, strerror(errno));
    return STATUS_OK;
}

/* A log for as long as nothing here may change. */
static status open_temporary_log(run_directory *d)
{
    d->log = tmpfile();
    if (!d->log) FAIL(STATUS_OUTPUT, "cannot make a temporary file: %s", strerror(errno));
    return STATUS_OK;
}

status run_directory_open(const config *cfg, bool fresh, run_directory **opened)
{
    status result = STATUS_OK;
    *opened = NULL;
    run_directory *d = calloc(1, sizeof *d);
    if (!d) FAIL(STATUS_RESOURCE, "out of host memory");
    d->cfg = cfg;
    d->lock = -1;
    TRY_OR(fail, make_directory(cfg->run.directory));
    TRY_OR(fail, lock_directory(cfg, &d->lock));
    remove_leftovers(cfg);
    d->fresh = fresh;
    TRY_OR(fail, fresh ? open_temporary_log(d) : open_log(d));
    *opened = d;
    return STATUS_OK;
fail:
    unlock_directory(d);
    free(d);
    return result;
}

status run_directory_make_room(run_directory *d)
{
    FILE *before = d->log;
    if (!d->fresh) return STATUS_OK;
    TRY(move_away(d));
    TRY(open_log(d));
    rewind(before);
    for (int c = getc(before); c != EOF; c = getc(before))
        putc(c, d->log);
    fclose(before);
    d->fresh = false;
    return STATUS_OK;
}

FILE *run_directory_log(const run_directory *d)
{
    return d->log;
}

status run_directory_done(const run_directory *d, char *sentence, size_t size)
{
    char path[PATH_SIZE];
    sentence[0] = 0;
    path_of(d->cfg, "config.resolved.yaml", path);
    if (d->fresh || !exists(d->cfg, "DONE") || access(path, F_OK) != 0) return STATUS_OK;
    config *before = malloc(sizeof *before);
    if (!before) FAIL(STATUS_RESOURCE, "out of host memory");
    status result = config_load(path, 0, NULL, before);
    if (result == STATUS_OK) result = config_same(before, d->cfg, false, d->cfg->run.directory);
    free(before);
    TRY(result);
    path_of(d->cfg, "DONE", path);
    FILE *file = fopen(path, "r");
    if (!file || !fgets(sentence, (int)size, file)) sentence[0] = 0;
    if (file) fclose(file);
    sentence[strcspn(sentence, "\n")] = 0;
    return STATUS_OK;
}

void run_directory_touch(run_directory *d)
{
    if (clock_seconds() - d->touched < forgotten_after / 10.) return;
    d->touched = clock_seconds();
    (void)futimens(d->lock, NULL);
}

bool run_directory_asked(const run_directory *d, const char *name)
{
    char path[PATH_SIZE];
    path_of(d->cfg, name, path);
    return access(path, F_OK) == 0 && unlink(path) == 0;
}

status run_directory_finish(const run_directory *d, const char *sentence)
{
    static const char *const others[] = {"STOPPED", "FAILED"};
    char path[PATH_SIZE];
    atomic_file *file = NULL;
    path_of(d->cfg, "DONE", path);
    TRY(atomic_begin_stream(path, &file));
    fprintf(atomic_stream(file), "%s\n", sentence);
    TRY(atomic_commit(file));
    for (int i = 0; i < 2; i++) {
        path_of(d->cfg, others[i], path);
        unlink(path);
    }
    return STATUS_OK;
}

/* For the eye and for scripts: if it cannot be written, the exit code still tells. */
static void write_end(const config *cfg, bool stopped, const char *sentence)
{
    char path[PATH_SIZE];
    path_of(cfg, stopped ? "FAILED" : "STOPPED", path);
    unlink(path);
    path_of(cfg, stopped ? "STOPPED" : "FAILED", path);
    FILE *file = fopen(path, "w");
    if (!file) return;
    fprintf(file, "%s\n", sentence);
    fclose(file);
}

status run_directory_close(run_directory *d, status outcome, const char *sentence)
{
    if (!d) return STATUS_OK;
    const config *cfg = d->cfg;
    if (outcome != STATUS_OK && !d->fresh && !exists(cfg, "DONE"))
        write_end(cfg, outcome == STATUS_STOPPED, sentence);
    const bool lost = ferror(d->log) != 0, unclosed = fclose(d->log) != 0;
    unlock_directory(d);
    free(d);
    if (lost || unclosed)
        FAIL(STATUS_OUTPUT, "lines of %s/log.txt are lost: is the disk full? The results are whole",
             cfg->run.directory);
    return STATUS_OK;
}
