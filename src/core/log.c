#include "core/log.h"
#include "core/terminal.h"

#include <stdarg.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

static struct {
    log_level level;
    int rank;
    int n_ranks;
    FILE *copy;
    bool bar; /* on the terminal */
} sink = {LOG_INFO, 0, 1, NULL, false};

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

static void erase_bar(void)
{
    if (sink.bar) fputs("\r\033[K", stderr);
    sink.bar = false;
}

void log_progress(double part, const char *words)
{
    enum { WIDTH = 30 };
    char bar[WIDTH + 1], line[128];
    int columns, rows;
    if (sink.rank != 0 || sink.level < LOG_INFO || !isatty(STDERR_FILENO)) return;
    erase_bar();
    if (part < 0) return;
    for (int i = 0; i < WIDTH; i++)
        bar[i] = i < (int)(part * WIDTH) ? '#' : '.';
    bar[WIDTH] = 0;
    terminal_size(STDERR_FILENO, &columns, &rows);
    snprintf(line, sizeof line, "[%s] %3.0f %% %.40s", bar, 100 * part, words);
    fprintf(stderr, "%.*s", columns - 1, line); /* what has wrapped cannot be erased */
    (void)fflush(stderr);
    sink.bar = true;
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
    if (shown) erase_bar();
    if (shown) fprintf(stderr, "mtip: %s%s%s\n", who, names[level], line);
    if (!kept) return;
    char when[32];
    time_t now = time(NULL);
    struct tm parts;
    (void)strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &parts));
    fprintf(sink.copy, "%s %s%s%s\n", when, who, names[level], line);
    (void)fflush(sink.copy);
}
