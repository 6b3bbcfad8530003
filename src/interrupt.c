#include "interrupt.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "io_atomic.h"

/* Signals have no context to be handed. */
static volatile sig_atomic_t noted;
static volatile double noted_at;

static const struct {
    int number;
    const char *name;
} signals[] = {{SIGTERM, "SIGTERM"}, {SIGINT, "SIGINT"}, {SIGUSR1, "SIGUSR1"},
               {SIGUSR2, "SIGUSR2"}, {SIGURG, "SIGURG"}, {SIGXCPU, "SIGXCPU"}};
enum { N_SIGNALS = sizeof signals / sizeof *signals };

/* Launchers and batch systems send the same twice within moments: that counts once.  The kernel repeats
   SIGXCPU every second until the hard limit. */
static void note(int number)
{
    if (noted && number != SIGXCPU && clock_seconds() - noted_at >= 1) {
        atomic_remove_unfinished();
        _exit(128 + number);
    }
    if (noted) return;
    noted_at = clock_seconds();
    noted = number;
}

void interrupt_catch(void)
{
    struct sigaction action = {.sa_handler = note, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < N_SIGNALS; i++)
        (void)sigaction(signals[i].number, &action, NULL);
}

static void clean_up(int number)
{
    atomic_remove_unfinished();
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

void interrupt_clean_up(void)
{
    static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++)
        if (signal(ending[i], clean_up) == SIG_IGN) (void)signal(ending[i], SIG_IGN); /* nohup */
}

const char *interrupt_noted(void)
{
    for (int i = 0; i < N_SIGNALS; i++)
        if (signals[i].number == noted) return signals[i].name;
    return NULL;
}

/* [days-]hours:minutes:seconds, from the right; false if it is not that. */
static bool parse_duration(const char *text, double *seconds)
{
    const char *dash = strchr(text, '-');
    char *end = NULL;
    double days = 0, sum = 0;
    if (dash) {
        days = strtod(text, &end);
        if (end != dash || !(days >= 0)) return false;
        text = dash + 1;
    }
    for (int parts = 0; parts < 3; parts++) {
        const double part = strtod(text, &end);
        if (end == text || !(part >= 0) || !isfinite(part)) return false;
        sum = 60 * sum + part;
        text = end + 1;
        if (*end == 0) {
            *seconds = 86400 * days + sum;
            return true;
        }
        if (*end != ':') return false;
    }
    return false;
}

status time_limit_parse(const char *what, const char *text, double *seconds)
{
    if (!parse_duration(text, seconds) || !(*seconds > 0))
        FAIL(STATUS_USAGE, "%s is '%s'; write seconds, or hours:minutes:seconds", what, text);
    return STATUS_OK;
}

/* What Slurm calls this job, "" outside of one; a task of an array has no id that is always its own. */
static void name_job(char name[32])
{
    const char *job = getenv("SLURM_JOB_ID"), *array = getenv("SLURM_ARRAY_JOB_ID");
    const char *task = getenv("SLURM_ARRAY_TASK_ID");
    if (array && task)
        snprintf(name, 32, "%s_%s", array, task);
    else
        snprintf(name, 32, "%s", job ? job : "");
}

double time_limit_of_job(void)
{
    const char *end = getenv("SLURM_JOB_END_TIME");
    char job[32], command[128], line[64] = "";
    double seconds = INFINITY;
    if (end) return strtod(end, NULL) - (double)time(NULL);
    name_job(job);
    if (!*job || strspn(job, "0123456789_") != strlen(job)) return INFINITY;
    snprintf(command, sizeof command, "timeout 10 squeue -h -j %s -o %%L 2>/dev/null", job);
    FILE *answer = popen(command, "r");
    if (!answer) return INFINITY;
    if (!fgets(line, sizeof line, answer)) line[0] = 0;
    (void)pclose(answer);
    line[strcspn(line, "\n")] = 0;
    return parse_duration(line, &seconds) ? seconds : INFINITY;
}
