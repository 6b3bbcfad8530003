#include "core/host_memory.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { PATH_SIZE = 8192 };

/* The first number in a file after a word (NULL: at its beginning), -1 if there is none. */
static int64_t number_in(const char *path, const char *word)
{
    char line[256];
    long long number = -1;
    FILE *file = fopen(path, "r");
    if (!file) return -1;
    while (number < 0 && fgets(line, sizeof line, file)) {
        const char *at = word ? strstr(line, word) : line;
        char *end = NULL;
        if (!at) continue;
        at += word ? strlen(word) : 0;
        const long long found = strtoll(at, &end, 10);
        if (end != at) number = found;
    }
    (void)fclose(file);
    return number;
}

/* What the files of a control group are called in either version. */
typedef struct group_files {
    const char *base, *limit, *used, *cached; /* the last is a line of memory.stat */
} group_files;

static const group_files version_1 = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                                      "memory.usage_in_bytes", "total_inactive_file"};
static const group_files version_2 = {"/sys/fs/cgroup", "memory.max", "memory.current",
                                      "inactive_file"};

static int64_t group_number(const char *directory, const char *name, const char *word)
{
    char path[PATH_SIZE + 64];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return number_in(path, word);
}

/* The smaller one of two counts, either of which may be unknown (-1). */
static int64_t least(int64_t a, int64_t b)
{
    if (a < 0 || b < 0) return a < 0 ? b : a;
    return a < b ? a : b;
}

/* What a group and those above it, up to the root of their tree, leave; -1 without a limit. */
static int64_t groups_leave(const char *root, const group_files *files, const char *group)
{
    char directory[PATH_SIZE];
    int64_t leave = -1;
    snprintf(directory, sizeof directory, "%s%s%s", root, files->base, group);
    const size_t base = strlen(root) + strlen(files->base);
    for (char *end = directory + strlen(directory); end; end = strrchr(directory + base, '/')) {
        *end = 0;
        const int64_t limit = group_number(directory, files->limit, NULL);
        const int64_t used = group_number(directory, files->used, NULL);
        const int64_t cached = group_number(directory, "memory.stat", files->cached);
        if (limit < 0 || used < 0) continue;
        const int64_t taken = used - (cached > 0 ? cached : 0);
        leave = least(leave, limit > taken ? limit - taken : 0);
    }
    return leave;
}

/* Whether a line of /proc/self/cgroup, number:controllers:group, is on memory; its group then. */
static const char *group_of_memory(char *line, const group_files **files)
{
    char *controllers = strchr(line, ':');
    char *group = controllers ? strchr(++controllers, ':') : NULL;
    if (!group) return NULL;
    *group++ = 0;
    group[strcspn(group, "\n")] = 0;
    *files = *controllers ? &version_1 : &version_2;
    for (char *rest = controllers, *name; *controllers && (name = strsep(&rest, ","));)
        if (strcmp(name, "memory") == 0) return group;
    return *controllers ? NULL : group;
}

int64_t host_memory_free(const char *root)
{
    char path[PATH_SIZE], line[PATH_SIZE / 2];
    snprintf(path, sizeof path, "%s/proc/meminfo", root);
    int64_t free_bytes = number_in(path, "MemAvailable:");
    if (free_bytes >= 0) free_bytes *= 1024;
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *groups = fopen(path, "r");
    while (groups && fgets(line, sizeof line, groups)) {
        const group_files *files;
        const char *group = group_of_memory(line, &files);
        if (group) free_bytes = least(free_bytes, groups_leave(root, files, group));
    }
    if (groups) (void)fclose(groups);
    return free_bytes;
}

/* Pages of this process: in its address space, and those of them that it has. */
static bool own_pages(long long *mapped, long long *resident)
{
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file) return false;
    const bool known = fscanf(file, "%lld %lld", mapped, resident) == 2;
    (void)fclose(file);
    return known;
}

int64_t host_memory_addresses(void)
{
    struct rlimit limit;
    long long mapped, resident;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return -1;
    if (!own_pages(&mapped, &resident)) return -1;
    const int64_t left = (int64_t)limit.rlim_cur - mapped * sysconf(_SC_PAGESIZE);
    return left > 0 ? left : 0;
}

int64_t host_memory_resident(void)
{
    long long mapped, resident;
    return own_pages(&mapped, &resident) ? resident * sysconf(_SC_PAGESIZE) : 32 << 20;
}
