#include "watch.h"

#include "history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { N_BARS = 8, NAME_WIDTH = 14, NUMBER_WIDTH = 9, RUNS = 3 };

static const char *const run_names[RUNS] = {"half 1", "half 2", "all images"};

double watch_silence(const char *directory)
{
    static const char *const signs[] = {"lock", "log.txt", "history.txt", "status.json"};
    char path[CONFIG_TEXT_SIZE + 64];
    struct stat about;
    double newest = NAN;
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        snprintf(path, sizeof path, "%s/%s", directory, signs[i]);
        if (stat(path, &about) == 0) newest = fmax(newest, (double)about.st_mtime);
    }
    return fmax(0, (double)time(NULL) - newest);
}

/* -- curves -- */

void watch_sparkline(int n, const double values[], watch_style style, char *line)
{
    static const char *const blocks[N_BARS] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const plain[N_BARS] = {"_", ".", "-", "~", "=", "+", "*", "#"};
    const int first = n > style.width ? n - style.width : 0;
    double least = INFINITY, most = -INFINITY;
    line[0] = 0;
    for (int i = first; i < n; i++) {
        if (!isfinite(values[i])) continue;
        least = fmin(least, values[i]);
        most = fmax(most, values[i]);
    }
    for (int i = first; i < n; i++) {
        const double height = most > least ? (values[i] - least) / (most - least) : 0;
        const int bar = isfinite(values[i]) ? (int)(height * (N_BARS - 1) + 0.5) : -1;
        strcat(line, bar < 0 ? " " : style.utf8 ? blocks[bar] : plain[bar]);
    }
}

typedef struct curve {
    const char *name;
    double (*of)(const run_record *r);
} curve;

static double score_of(const run_record *r)
{
    return r->generation > 1 ? r->score : NAN; /* the first has random orientations */
}

static double perplexity_of(const run_record *r)
{
    return r->perplexity;
}

static double moved_of(const run_record *r)
{
    return r->generation > 1 ? r->moved : NAN;
}

static double r_of(const run_record *r)
{
    return r->r_factor;
}

static const curve curves[] = {
    {"likelihood", score_of}, {"perplexity", perplexity_of}, {"moved, deg", moved_of}, {"R", r_of}};

static void draw_curves(const report_data *r, int which, int attempt, watch_style style, FILE *out)
{
    const watch_style bars = {style.width - NAME_WIDTH - NUMBER_WIDTH, style.utf8};
    double *values = malloc(((size_t)r->n_records + 1) * sizeof *values);
    char *line = malloc(3 * (size_t)bars.width + 1);
    for (size_t c = 0; values && line && c < sizeof curves / sizeof *curves; c++) {
        int n = 0;
        for (int i = 0; i < r->n_records; i++)
            if (r->records[i].run == which && (which == 2 || r->records[i].attempt == attempt))
                values[n++] = curves[c].of(&r->records[i]);
        watch_sparkline(n, values, bars, line);
        fprintf(out, "  %-*s%-*.4g%s\n", NAME_WIDTH - 2, curves[c].name, NUMBER_WIDTH,
                n > 0 ? values[n - 1] : NAN, line);
    }
    free(values);
    free(line);
}

/* -- the newest numbers -- */

/* What follows the last `key` in the log, up to one of the characters in `end`; "" if there is none. */
static const char *last_in_log(const report_data *r, const char *key, const char *end,
                               char text[128])
{
    const char *found = NULL;
    text[0] = 0;
    for (const char *at = r->log; (at = strstr(at, key)); at++)
        found = at + strlen(key);
    if (found) snprintf(text, 128, "%.*s", (int)strcspn(found, end), found);
    return text;
}

/* The newest generation of a run, NULL if there is none. */
static const run_record *newest(const report_data *r, int which)
{
    const run_record *found = NULL;
    for (int i = 0; i < r->n_records; i++)
        if (r->records[i].run == which) found = &r->records[i];
    return found;
}

static void draw_run(const report_data *r, int which, double edge, watch_style style, FILE *out)
{
    const run_record *g = newest(r, which);
    double seconds = 0;
    if (!g) return;
    for (int s = 0; s < N_STAGES; s++)
        seconds += g->costs[s].seconds;
    char line[256], resolution[64];
    if (isfinite(edge))
        snprintf(resolution, sizeof resolution, "%.1f A", edge / g->step.resolution);
    else
        snprintf(resolution, sizeof resolution, "%.2f of the largest |s|", g->step.resolution);
    snprintf(line, sizeof line,
             "%s, attempt %d, generation %d: %s, %lld references (%lld active), %.2f s",
             run_names[which], g->attempt, g->generation, resolution,
             (long long)g->step.n_references, (long long)g->n_active, seconds);
    fprintf(out, "%.*s\n", style.width, line);
    draw_curves(r, which, g->attempt, style, out);
}

/* -- all -- */

/* Of the generations of the attempt that is on, and the final ones. */
static double part_done(const report_data *r)
{
    const run_record *last = r->n_records > 0 ? &r->records[r->n_records - 1] : NULL;
    int done = 0;
    for (int i = 0; i < r->n_records; i++) {
        const run_record *g = &r->records[i];
        done += g->run == 2 || g->attempt == last->attempt;
    }
    const int64_t all = 2 * r->settings.run.generations + r->settings.run.final_generations;
    return fmin(1, (double)done / (double)all);
}

static void draw_bar(const report_data *r, watch_style style, FILE *out)
{
    char left[128];
    const double part = part_done(r);
    const int width = style.width - 36, filled = (int)(part * width);
    last_in_log(r, " eta=", "s\n ", left);
    fputc('[', out);
    for (int i = 0; i < width; i++)
        fputc(i < filled ? '#' : '.', out);
    fprintf(out, "] %3.0f %%", 100 * part);
    if (*left) fprintf(out, ", about %.10s s left", left);
    fputc('\n', out);
}

static const char *state_name(report_state state)
{
    static const char *const names[] = {[REPORT_DONE] = "done",
                                        [REPORT_RUNNING] = "running",
                                        [REPORT_STOPPED] = "stopped, to go on",
                                        [REPORT_FAILED] = "failed",
                                        [REPORT_KILLED] = "killed: it ended without a word"};
    return names[state];
}

/* Nothing of a run without about.txt. */
static void draw_place(const report_data *r, FILE *out)
{
    char text[128];
    const double ranks = report_about_number(r, "ranks");
    if (!isfinite(ranks)) return;
    fprintf(out, "%.0f ranks on %.40s", ranks, report_about(r, "devices", text, sizeof text));
    if (*last_in_log(r, "memory of a rank, at most: ", "(\n", text))
        fprintf(out, ", each takes at most %.30s", text);
    fputc('\n', out);
}

void watch_draw(const report_data *r, double silence, watch_style style, FILE *out)
{
    char line[CONFIG_TEXT_SIZE + 1200];
    snprintf(line, sizeof line, "%s: %s%s%s", r->directory, state_name(r->state),
             *r->sentence ? "; " : "", r->sentence);
    fprintf(out, "%.*s\n", style.width, line);
    if (r->state == REPORT_RUNNING && silence > WATCH_SILENT)
        fprintf(out, "SILENT for %.0f s: no sign of life since\n", silence);
    if (r->state == REPORT_RUNNING) draw_bar(r, style, out);
    if (*r->notes) fprintf(out, "%s\n", r->notes);
    draw_place(r, out);
    for (int i = 0; i < RUNS; i++)
        draw_run(r, i, 1 / report_about_number(r, "largest s"), style, out);
}
