#include "scaling_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "svg_plot.h"
#include "text_file.h"

enum { TOTAL = N_STAGES + 3, COLUMNS = TOTAL + 5 };

static status take_row(const char *path, int64_t number, char *line, scaling_row *row)
{
    double v[COLUMNS];
    for (char *p = line; *p; p++)
        if (*p == ',') *p = ' ';
    if (text_numbers(line, COLUMNS, v) != COLUMNS || v[0] < 1 || v[0] > 1e9 || !(v[TOTAL] > 0))
        FAIL(STATUS_INPUT, "%s:%lld: not a row of mtip bench mtip --csv", path, (long long)number);
    *row = (scaling_row){.ranks = (int)v[0],
                         .gpus = (int)v[1],
                         .setup = v[2],
                         .total = v[TOTAL],
                         .exchanged = 1e6 * v[TOTAL + 1],
                         .sum_rate = 1e9 * v[TOTAL + 2],
                         .sum_delay = 1e-6 * v[TOTAL + 3]};
    memcpy(row->stages, v + 3, sizeof row->stages);
    return STATUS_OK;
}

static int by_ranks(const void *a, const void *b)
{
    return ((const scaling_row *)a)->ranks - ((const scaling_row *)b)->ranks;
}

static status take_rows(const char *path, text_lines *lines, scaling_row *rows, int *n)
{
    for (char *line = text_next_line(lines, ""); line; line = text_next_line(lines, "")) {
        if (!*line || strncmp(line, "ranks,", 6) == 0) continue;
        if (*n == SCALING_MAX_ROWS)
            FAIL(STATUS_INPUT, "%s: more than %d rows", path, SCALING_MAX_ROWS);
        TRY(take_row(path, lines->number, line, &rows[(*n)++]));
    }
    if (*n == 0) FAIL(STATUS_INPUT, "%s: no rows of mtip bench mtip --csv", path);
    qsort(rows, (size_t)*n, sizeof *rows, by_ranks);
    for (int i = 1; i < *n; i++)
        if (rows[i].ranks == rows[i - 1].ranks)
            FAIL(STATUS_INPUT, "%s: two rows of %d ranks", path, rows[i].ranks);
    return STATUS_OK;
}

status scaling_rows_read(const char *path, scaling_row *rows, int *n)
{
    char *text = NULL;
    size_t size = 0;
    *n = 0;
    TRY(text_load(path, &text, &size));
    const status result = take_rows(path, &(text_lines){.at = text}, rows, n);
    free(text);
    return result;
}

void scaling_rows_compare(int n, scaling_row *rows, bool strong)
{
    for (int i = 0; i < n; i++)
        rows[i].efficiency = rows[0].total * (strong ? rows[0].ranks : rows[i].ranks) /
                             (rows[i].total * rows[i].ranks);
}

void scaling_rows_print(int n, const scaling_row rows[], bool csv, FILE *file)
{
    fprintf(file, csv ? "ranks,gpus,setup_s" : "ranks gpus   setup/s");
    for (int s = 0; s < N_STAGES; s++)
        fprintf(file, csv ? ",%s_s" : " %10s", stage_name((stage)s));
    fprintf(file, csv ? ",total_s,exchanged_mb,sum_gb_s,sum_us,efficiency\n"
                      : "      total   MB  GB/s   us efficiency\n");
    for (int i = 0; i < n; i++) {
        const scaling_row *r = rows + i;
        fprintf(file, csv ? "%d,%d,%.6g" : "%5d %4d %9.4f", r->ranks, r->gpus, r->setup);
        for (int s = 0; s < N_STAGES; s++)
            fprintf(file, csv ? ",%.6g" : " %10.6f", r->stages[s]);
        fprintf(file, csv ? ",%.6g,%.4g,%.4g,%.4g,%.4f\n" : " %10.6f %4.0f %5.1f %4.0f %10.3f\n",
                r->total, 1e-6 * r->exchanged, 1e-9 * r->sum_rate, 1e6 * r->sum_delay,
                r->efficiency);
    }
}

status scaling_rows_plot(int n, const scaling_row rows[], bool strong, const char *path)
{
    enum { LINES = N_STAGES + 2 };
    double x[SCALING_MAX_ROWS], y[LINES][SCALING_MAX_ROWS];
    svg_line lines[LINES];
    for (int i = 0; i < n; i++) {
        x[i] = rows[i].ranks;
        for (int s = 0; s < N_STAGES; s++)
            y[s][i] = rows[i].stages[s];
        y[N_STAGES][i] = rows[i].total;
        y[N_STAGES + 1][i] = rows[i].setup;
    }
    for (int l = 0; l < LINES; l++) {
        const char *name = l < N_STAGES ? stage_name((stage)l) : l == N_STAGES ? "all" : "setup";
        lines[l] = (svg_line){name, n, x, y[l], l, SVG_LINE_AND_DOTS};
    }
    const svg_plot plot = {.title = strong ? "Strong scaling: one generation"
                                           : "Weak scaling: fixed work per rank",
                           .x = {.label = "ranks", .log = true, .each = true},
                           .y = {.label = "seconds", .log = true},
                           .n_lines = LINES,
                           .lines = lines};
    return svg_plot_write(&plot, path);
}
