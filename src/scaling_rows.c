#include "scaling_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "text_file.h"

enum { COLUMNS = N_STAGES + 5 };

static status take_row(const char *path, int64_t number, char *line, scaling_row *row)
{
    double v[COLUMNS];
    for (char *p = line; *p; p++)
        if (*p == ',') *p = ' ';
    if (text_numbers(line, COLUMNS, v) != COLUMNS || v[0] < 1 || v[0] > 1e9 ||
        !(v[COLUMNS - 2] > 0))
        FAIL(STATUS_INPUT, "%s:%lld: not a row of mtip bench mtip --csv", path, (long long)number);
    *row = (scaling_row){
        .ranks = (int)v[0], .gpus = (int)v[1], .setup = v[2], .total = v[COLUMNS - 2]};
    memcpy(row->stages, v + 3, sizeof row->stages);
    return STATUS_OK;
}

static int by_ranks(const void *a, const void *b)
{
    return ((const scaling_row *)a)->ranks - ((const scaling_row *)b)->ranks;
}

static status take_rows(const char *path, char *text, int max, scaling_row *rows, int *n)
{
    text_lines lines = {.at = text, .number = 0};
    for (char *line = text_next_line(&lines, ""); line; line = text_next_line(&lines, "")) {
        if (!*line || strncmp(line, "ranks,", 6) == 0) continue;
        if (*n == max) FAIL(STATUS_INPUT, "%s: more than %d rows", path, max);
        TRY(take_row(path, lines.number, line, &rows[(*n)++]));
    }
    if (*n == 0) FAIL(STATUS_INPUT, "%s: no rows of mtip bench mtip --csv", path);
    qsort(rows, (size_t)*n, sizeof *rows, by_ranks);
    for (int i = 1; i < *n; i++)
        if (rows[i].ranks == rows[i - 1].ranks)
            FAIL(STATUS_INPUT, "%s: two rows of %d ranks", path, rows[i].ranks);
    return STATUS_OK;
}

status scaling_rows_read(const char *path, int max, scaling_row *rows, int *n)
{
    char *text = NULL;
    size_t size = 0;
    *n = 0;
    TRY(text_load(path, &text, &size));
    const status result = take_rows(path, text, max, rows, n);
    free(text);
    return result;
}

void scaling_rows_compare(int n, scaling_row *rows, int strong)
{
    for (int i = 0; i < n; i++)
        rows[i].efficiency = rows[0].total * (strong ? rows[0].ranks : rows[i].ranks) /
                             (rows[i].total * rows[i].ranks);
}
