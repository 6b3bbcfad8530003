/* `mtip watch`: a run on a terminal until it ends, or once where the output is no terminal. */
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "core/terminal.h"
#include "watch.h"

enum { SECONDS = 1, LEAST_WIDTH = 60, MOST_WIDTH = 120 };

static volatile sig_atomic_t interrupted;

static void note(int number)
{
    (void)number;
    interrupted = 1;
}

static bool shows_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value && *value) return strstr(value, "UTF-8") || strstr(value, "utf8");
    }
    return false;
}

/* The first rows of a text, each cut to so many characters: more would scroll away on a terminal. */
static void print_window(const char *text, int columns, int rows)
{
    int row = 0, column = 0;
    for (const char *c = text; *c && row < rows; c++) {
        const bool ends = *c == '\n',
                   begins = (*c & 0xC0) != 0x80; /* a line; a character of UTF-8 */
        column = ends ? 0 : column + begins;
        row += ends;
        if (column <= columns) fputc(*c, stdout);
    }
}

/* Draws the run; on a terminal over what stood there, and no more than it shows. */
static status draw(const report_data *r, bool live)
{
    int columns, rows;
    char *text = NULL;
    size_t size;
    terminal_size(STDOUT_FILENO, &columns, &rows);
    const int width = columns < LEAST_WIDTH ? LEAST_WIDTH : columns;
    const watch_style style = {width < MOST_WIDTH ? width : MOST_WIDTH, shows_utf8()};
    FILE *memory = open_memstream(&text, &size);
    if (memory) watch_draw(r, watch_silence(r->directory), style, memory);
    if (!memory || fclose(memory) != 0) {
        free(text);
        FAIL(STATUS_RESOURCE, "out of host memory for the page");
    }
    if (live) fputs("\033[H\033[J", stdout);
    print_window(text, live ? columns : INT_MAX, live ? rows - 1 : INT_MAX);
    (void)fflush(stdout);
    free(text);
    return STATUS_OK;
}

/* The run's end as that of this program. */
static status outcome(const report_data *r)
{
    switch (r->state) {
    case REPORT_STOPPED:
        FAIL(STATUS_STOPPED, "%s", r->sentence);
    case REPORT_FAILED:
        FAIL(STATUS_PARALLEL, "the run failed: %s", r->sentence);
    case REPORT_KILLED:
        FAIL(STATUS_PARALLEL, "the run in %s was killed: it ended without a word", r->directory);
    default:
        return STATUS_OK;
    }
}

status command_watch(const cli *c, comm *world)
{
    const bool live = isatty(STDOUT_FILENO);
    const struct sigaction action = {.sa_handler = note};
    status result = STATUS_OK;
    bool works = true;
    (void)world;
    if (live) sigaction(SIGINT, &action, NULL);
    while (result == STATUS_OK && works && !interrupted) {
        report_data *r = NULL;
        result = report_read_progress(c->arguments[0], &r);
        if (result == STATUS_OK) result = draw(r, live);
        works = r && r->state == REPORT_RUNNING;
        if (r && !works) result = outcome(r);
        report_data_destroy(r);
        if (!live) break;
        if (works && !interrupted) sleep(SECONDS);
    }
    return result;
}
