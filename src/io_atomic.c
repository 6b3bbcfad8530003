#include "io_atomic.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct atomic_file {
    char *path;      /* as given */
    char *target;    /* symbolic links resolved */
    char *temporary; /* beside the target */
    FILE *stream;    /* NULL if the caller writes by other means */
};

/* Names of what is being written, for a signal that ends the process: it has no context to be handed. */
enum { MOST_UNFINISHED = 8 };
static char *volatile unfinished[MOST_UNFINISHED];

static void exchange_unfinished(char *from, char *to)
{
    for (int i = 0; i < MOST_UNFINISHED; i++)
        if (unfinished[i] == from) {
            unfinished[i] = to;
            return;
        }
}

void atomic_remove_unfinished(void)
{
    for (int i = 0; i < MOST_UNFINISHED; i++)
        if (unfinished[i]) (void)unlink(unfinished[i]);
}

static status out_of_memory(const char *path)
{
    FAIL(STATUS_RESOURCE, "%s: no memory for its name", path);
}

static void release(atomic_file *file)
{
    if (file->temporary) exchange_unfinished(file->temporary, NULL);
    free(file->path);
    free(file->target);
    free(file->temporary);
    free(file);
}

static status resolve(const char *path, char **target)
{
    struct stat info;
    *target = NULL;
    if (lstat(path, &info) == 0 && S_ISLNK(info.st_mode)) {
        *target = realpath(path, NULL);
        if (!*target)
            FAIL(STATUS_OUTPUT, "%s: a symbolic link that leads nowhere: %s", path,
                 strerror(errno));
    } else {
        *target = strdup(path);
        if (!*target) return out_of_memory(path);
    }
    if (stat(*target, &info) != 0 || S_ISREG(info.st_mode)) return STATUS_OK;
    FAIL(STATUS_OUTPUT, "%s: is a %s; give the name of a file", path,
         S_ISDIR(info.st_mode) ? "directory" : "device, pipe or socket");
}

/* The directory part, "." if there is none; the caller frees it. */
static char *directory_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash) return strdup(".");
    return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

static status check_directory(const char *path, const char *target)
{
    char *directory = directory_of(target);
    if (!directory) return out_of_memory(path);
    status result = STATUS_OK;
    if (access(directory, W_OK | X_OK) != 0)
        result = FAILED(STATUS_OUTPUT, "%s: cannot write in directory '%s': %s%s", path, directory,
                        strerror(errno), errno == ENOENT ? "; make it first" : "");
    free(directory);
    return result;
}

static status prepare(const char *path, atomic_file *file)
{
    if (!path[0]) FAIL(STATUS_OUTPUT, "an empty file name");
    if (strcmp(path, "-") == 0)
        FAIL(STATUS_OUTPUT, "-: not to standard output; a file of that name is ./-");
    file->path = strdup(path);
    if (!file->path) return out_of_memory(path);
    TRY(resolve(path, &file->target));
    TRY(check_directory(path, file->target));
    if (asprintf(&file->temporary, "%s.tmp.%ld", file->target, (long)getpid()) < 0) {
        file->temporary = NULL;
        return out_of_memory(path);
    }
    if (unlink(file->temporary) != 0 && errno != ENOENT)
        FAIL(STATUS_OUTPUT, "%s: cannot remove the old '%s': %s", path, file->temporary,
             strerror(errno));
    exchange_unfinished(NULL, file->temporary);
    return STATUS_OK;
}

status atomic_begin(const char *path, atomic_file **begun)
{
    *begun = NULL;
    atomic_file *file = calloc(1, sizeof *file);
    if (!file) return out_of_memory(path);
    status result = prepare(path, file);
    if (result == STATUS_OK)
        *begun = file;
    else
        release(file);
    return result;
}

const char *atomic_path(const atomic_file *file)
{
    return file->path;
}

const char *atomic_temporary(const atomic_file *file)
{
    return file->temporary;
}

status atomic_begin_stream(const char *path, atomic_file **begun)
{
    TRY(atomic_begin(path, begun));
    int fd = open((*begun)->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0) (*begun)->stream = fdopen(fd, "w");
    if ((*begun)->stream) return STATUS_OK;
    status result = FAILED(STATUS_OUTPUT, "%s: cannot create '%s': %s", path, (*begun)->temporary,
                           strerror(errno));
    if (fd >= 0) close(fd);
    atomic_abandon(*begun);
    *begun = NULL;
    return result;
}

FILE *atomic_stream(atomic_file *file)
{
    return file->stream;
}

/* A full disk shows in fflush or fsync, not always in fclose: each is looked at.  An earlier failure
   has left a mark but no reason, which one more byte brings out. */
static status finish_stream(atomic_file *file)
{
    if (!file->stream) return STATUS_OK;
    bool failed = ferror(file->stream);
    if (failed) fputc(0, file->stream);
    errno = 0;
    if (fflush(file->stream) != 0) failed = true;
    int why = errno;
    if (fclose(file->stream) != 0) failed = true;
    if (!why) why = errno;
    file->stream = NULL;
    if (failed)
        FAIL(STATUS_OUTPUT, "%s: cannot write: %s", file->path,
             why ? strerror(why) : "an earlier write failed");
    return STATUS_OK;
}

static status sync_path(const char *path, const char *name, int flags)
{
    int fd = open(name, flags | O_CLOEXEC);
    if (fd < 0)
        FAIL(STATUS_OUTPUT, "%s: cannot open '%s' to make it durable: %s", path, name,
             strerror(errno));
    int failed = fsync(fd), why = errno;
    close(fd);
    /* EINVAL: a file system that has no fsync for this kind of object */
    if (failed && why != EINVAL)
        FAIL(STATUS_OUTPUT, "%s: cannot make '%s' durable: %s", path, name, strerror(why));
    return STATUS_OK;
}

/* Renames on behalf of `path`, which messages name. */
static status rename_durably(const char *path, const char *from, const char *to)
{
    if (rename(from, to) != 0)
        FAIL(STATUS_OUTPUT, "%s: cannot rename '%s': %s", path, from, strerror(errno));
    char *directory = directory_of(to);
    if (!directory) return out_of_memory(path);
    status result = sync_path(path, directory, O_RDONLY | O_DIRECTORY);
    free(directory);
    return result;
}

status atomic_rename(const char *from, const char *to)
{
    return rename_durably(to, from, to);
}

static status move_into_place(const atomic_file *file)
{
    TRY(sync_path(file->path, file->temporary, O_RDONLY));
    return rename_durably(file->path, file->temporary, file->target);
}

status atomic_commit(atomic_file *file)
{
    status result = finish_stream(file);
    if (result == STATUS_OK) result = move_into_place(file);
    if (result == STATUS_OK)
        release(file);
    else
        atomic_abandon(file);
    return result;
}

void atomic_abandon(atomic_file *file)
{
    if (!file) return;
    if (file->stream) fclose(file->stream);
    if (file->temporary) unlink(file->temporary);
    release(file);
}
