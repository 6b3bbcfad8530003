#include "scaling_forecast.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "svg_plot.h"
#include "text_file.h"

static int place_of(const scaling_forecast *f, int ranks)
{
    int i = 0;
    while (i < f->n_lines && f->lines[i].model.ranks < ranks)
        i++;
    return i;
}

/* In its place, unless there is one of as many ranks. */
static status insert(scaling_forecast *f, int ranks, int gpus, const scaling_row *measured)
{
    const int i = place_of(f, ranks);
    scaling_line *const at = f->lines + i;
    if (i < f->n_lines && at->model.ranks == ranks) return STATUS_OK;
    if (f->n_lines == SCALING_MAX_ROWS)
        FAIL(STATUS_USAGE, "a forecast of more than %d rows", SCALING_MAX_ROWS);
    memmove(at + 1, at, (size_t)(f->n_lines - i) * sizeof *at);
    *at = (scaling_line){scaling_model_row(&f->model, ranks, gpus), measured};
    f->n_lines++;
    return STATUS_OK;
}

/* A number of ranks at the start of a list, and what is behind it. */
static status take_ranks(const char **list, int *ranks)
{
    char *end;
    const long asked = strtol(*list, &end, 10);
    if (end == *list || (*end && (*end != ',' || !end[1])) || asked < 1 || asked > 1000000000)
        FAIL(STATUS_USAGE,
             "--forecast: numbers of ranks such as 8,64,1000 are expected, not \"%s\"", *list);
    *ranks = (int)asked;
    *list = *end ? end + 1 : end;
    return STATUS_OK;
}

status scaling_forecast_make(int n, const scaling_row rows[], const char *ranks,
                             scaling_forecast *f)
{
    for (int i = 0; i < n; i++)
        TRY(insert(f, rows[i].ranks, rows[i].gpus, rows + i));
    do {
        int asked;
        TRY(take_ranks(&ranks, &asked));
        TRY(insert(f, asked, rows[0].gpus > 0 ? asked : 0, NULL));
    } while (*ranks);
    return STATUS_OK;
}

static void print_constants(const scaling_forecast *f, FILE *file)
{
    fprintf(file, "\nfitted to the rows of up to %d ranks, seconds\n", SCALING_FITTED);
    for (int s = 0; s < N_STAGES; s++) {
        const stage_line line = f->model.stages[s];
        fprintf(file,
                s == STAGE_EXCHANGE ? "%-10s latency  %10.6f volume %10.6f\n"
                                    : "%-10s repeated %10.6f dealt  %10.6f\n",
                stage_name((stage)s), line.fixed, line.growing);
    }
    fputc('\n', file);
}

static void print_line(const scaling_line *line, bool csv, FILE *file)
{
    const scaling_row *r = &line->model, *m = line->measured;
    fprintf(file, csv ? "%d,%d,%s" : "%5d %4d %6s", r->ranks, r->gpus,
            m && r->ranks <= SCALING_FITTED ? "yes" : "no");
    for (int s = 0; s < N_STAGES; s++)
        fprintf(file, csv ? ",%.6g" : " %10.6f", r->stages[s]);
    fprintf(file, csv ? ",%.6g,%.4f" : " %10.6f %10.3f", r->total, r->efficiency);
    if (m)
        fprintf(file, csv ? ",%.6g,%.4f" : " %10.6f %+6.3f", m->total, r->total / m->total - 1);
    else if (csv)
        fputs(",,", file);
    fputc('\n', file);
}

void scaling_forecast_print(const scaling_forecast *f, bool csv, FILE *file)
{
    if (!csv) print_constants(f, file);
    fprintf(file, csv ? "ranks,gpus,fitted" : "ranks gpus fitted");
    for (int s = 0; s < N_STAGES; s++)
        fprintf(file, csv ? ",%s_s" : " %10s", stage_name((stage)s));
    fputs(csv ? ",total_s,efficiency,measured_s,off\n"
              : "      total efficiency   measured    off\n",
          file);
    for (int i = 0; i < f->n_lines; i++)
        print_line(f->lines + i, csv, file);
}

status scaling_forecast_plot(const scaling_forecast *f, const char *path)
{
    enum { LINES = N_STAGES + 2, ALL = N_STAGES, MEASURED };
    double x[SCALING_MAX_ROWS], y[LINES][SCALING_MAX_ROWS];
    svg_line lines[LINES];
    for (int i = 0; i < f->n_lines; i++) {
        const scaling_row *r = &f->lines[i].model, *m = f->lines[i].measured;
        x[i] = r->ranks;
        for (int s = 0; s < N_STAGES; s++)
            y[s][i] = r->stages[s];
        y[ALL][i] = r->total;
        y[MEASURED][i] = m ? m->total : NAN;
    }
    for (int l = 0; l < LINES; l++) {
        const char *name = l < ALL ? stage_name((stage)l) : l == ALL ? "all" : "measured";
        lines[l] =
            (svg_line){name, f->n_lines, x, y[l], l, l == MEASURED ? SVG_LINE_AND_DOTS : SVG_LINE};
    }
    const svg_plot plot = {.title = f->model.strong ? "Strong scaling: forecast"
                                                    : "Weak scaling: forecast",
                           .x = {.label = "ranks", .log = true, .each = true},
                           .y = {.label = "seconds", .log = true},
                           .n_lines = LINES,
                           .lines = lines};
    return svg_plot_write(&plot, path);
}
