/* inject_io.c: a preload library that makes a system call on files fail:

     MTIP_IO_FAULT=write:ENOSPC:7   the 7th call of write and pwrite, and all after it, fail with ENOSPC
     MTIP_IO_FAULT=rename:EIO:2     likewise; the others: fsync, close
     MTIP_IO_PATH=checkpoint        only on files whose name holds this (close and fsync: of any name)

   A call that failed has done nothing. Standard streams are left alone. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static int count;

static int error_of(const char *name)
{
    static const struct {
        const char *name;
        int number;
    } errors[] = {{"ENOSPC", ENOSPC}, {"EIO", EIO}, {"ESTALE", ESTALE}, {"EDQUOT", EDQUOT}};
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (strncmp(errors[i].name, name, strlen(errors[i].name)) == 0) return errors[i].number;
    return EIO;
}

/* Whether the name holds what it should. */
static int concerns(const char *path)
{
    const char *part = getenv("MTIP_IO_PATH");
    return !part || (path && strstr(path, part));
}

static int concerns_descriptor(int fd)
{
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t n = readlink(link, path, sizeof path - 1);
    if (fd <= 2 || n <= 0) return 0;
    path[n] = 0;
    return path[0] == '/' && strncmp(path, "/proc", 5) != 0 && concerns(path);
}

/* The error for this call of `name`, 0 if it may do its work. */
static int fault(const char *name)
{
    const char *plan = getenv("MTIP_IO_FAULT");
    const size_t length = strlen(name);
    if (!plan || strncmp(plan, name, length) != 0 || plan[length] != ':') return 0;
    const char *error = plan + length + 1, *colon = strchr(error, ':');
    const int at = colon ? atoi(colon + 1) : 1;
    return __sync_add_and_fetch(&count, 1) >= at ? error_of(error) : 0;
}

#define NEXT(type, name) ((type)(size_t)dlsym(RTLD_NEXT, name))

#define FAULT_OR(name, concerned, call)                  \
    do {                                                 \
        const int error = (concerned) ? fault(name) : 0; \
        if (!error) return call;                         \
        errno = error;                                   \
        return -1;                                       \
    } while (0)

ssize_t write(int fd, const void *data, size_t n);
ssize_t write(int fd, const void *data, size_t n)
{
    FAULT_OR("write", concerns_descriptor(fd),
             NEXT(ssize_t(*)(int, const void *, size_t), "write")(fd, data, n));
}

ssize_t pwrite(int fd, const void *data, size_t n, off_t at);
ssize_t pwrite(int fd, const void *data, size_t n, off_t at)
{
    FAULT_OR("write", concerns_descriptor(fd),
             NEXT(ssize_t(*)(int, const void *, size_t, off_t), "pwrite")(fd, data, n, at));
}

ssize_t pwrite64(int fd, const void *data, size_t n, off_t at);
ssize_t pwrite64(int fd, const void *data, size_t n, off_t at)
{
    FAULT_OR("write", concerns_descriptor(fd),
             NEXT(ssize_t(*)(int, const void *, size_t, off_t), "pwrite64")(fd, data, n, at));
}

int fsync(int fd)
{
    FAULT_OR("fsync", concerns_descriptor(fd), NEXT(int (*)(int), "fsync")(fd));
}

int rename(const char *from, const char *to)
{
    FAULT_OR("rename", concerns(from) || concerns(to),
             NEXT(int (*)(const char *, const char *), "rename")(from, to));
}

/* What fails to close is closed all the same, as on Linux. */
int close(int fd)
{
    const int error = concerns_descriptor(fd) ? fault("close") : 0;
    const int result = NEXT(int (*)(int), "close")(fd);
    if (!error) return result;
    errno = error;
    return -1;
}
