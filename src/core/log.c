#include "core/log.h"

#include <stdarg.h>
#include <stdbool.h>
#include <time.h>

static struct {
    log_level level;
    int rank;
    int n_ranks;
    FILE *copy;
} sink = {LOG_INFO, 0, 1, NULL};

void log_setup(log_level level, int rank, int n_ranks)
{
    sink.level = level;
    sink.rank = rank;
    sink.n_ranks = n_ranks;
}

void log_also_to(FILE *file)
{
    sink.copy = file;
}

void log_write(log_level level, const char *format, ...)
{
    static const char *const names[] = {"error: ", "warning: ", "", ""};
    const bool shown = level <= sink.level, kept = sink.copy && (shown || level <= LOG_INFO);
    if (!(shown || kept) || (level >= LOG_INFO && sink.rank != 0)) return;
    char line[4096];
    char who[32] = "";
    if (sink.n_ranks > 1 && level < LOG_INFO) snprintf(who, sizeof who, "[rank %d] ", sink.rank);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (shown) fprintf(stderr, "mtip: %s%s%s\n", who, names[level], line);
    if (!kept) return;
    char when[32];
    time_t now = time(NULL);
    struct tm parts;
    (void)strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &parts));
    fprintf(sink.copy, "%s %s%s%s\n", when, who, names[level], line);
    (void)fflush(sink.copy);
}
