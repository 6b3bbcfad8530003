/* `mtip watch`: a run on a terminal until it ends, or once where the output is no terminal. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "commands.h"
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

static watch_style style_of(int terminal)
{
    struct winsize size = {.ws_col = 0};
    int width = 80;
    if (ioctl(terminal, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) width = size.ws_col;
    if (width < LEAST_WIDTH) width = LEAST_WIDTH;
    return (watch_style){width < MOST_WIDTH ? width : MOST_WIDTH, shows_utf8()};
}

/* Draws the run once; on a terminal over what stood there. */
static status show(const char *directory, bool live, report_data **r)
{
    TRY(report_read_progress(directory, r));
    if (live) fputs("\033[H\033[J", stdout);
    watch_draw(*r, watch_silence(directory), style_of(STDOUT_FILENO), stdout);
    (void)fflush(stdout);
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
        result = show(c->arguments[0], live, &r);
        works = r && r->state == REPORT_RUNNING;
        if (r && !works) result = outcome(r);
        report_data_destroy(r);
        if (!live) break;
        if (works && !interrupted) sleep(SECONDS);
    }
    return result;
}
