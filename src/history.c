#include "history.h"

#include "io_atomic.h"
#include "text_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SCORE = 8 }; /* the column that may be of any size */

const char *const history_columns[HISTORY_COLUMNS] = {"attempt",
                                                      "run",
                                                      "generation",
                                                      "resolution[of s_max]",
                                                      "references",
                                                      "perplexity asked",
                                                      "feedback",
                                                      "perplexity",
                                                      "score",
                                                      "moved[degrees]",
                                                      "R",
                                                      "active references",
                                                      "CG iterations",
                                                      "slice[s]",
                                                      "match[s]",
                                                      "merge[s]",
                                                      "solve[s]",
                                                      "phase[s]",
                                                      "exchange[s]"};

void history_to_row(const run_record *r, double row[HISTORY_COLUMNS])
{
    const double values[HISTORY_RESULTS] = {r->attempt,
                                            r->run,
                                            r->generation,
                                            r->step.resolution,
                                            (double)r->step.n_references,
                                            r->step.perplexity,
                                            r->step.feedback,
                                            r->perplexity,
                                            r->score,
                                            r->moved,
                                            r->r_factor,
                                            (double)r->n_active,
                                            r->cg_iterations};
    memcpy(row, values, sizeof values);
    for (int s = 0; s < N_STAGES; s++)
        row[HISTORY_RESULTS + s] = r->costs[s].seconds;
}

run_record history_of_row(const double row[HISTORY_COLUMNS])
{
    run_record r = {.attempt = (int)row[0],
                    .run = (int)row[1],
                    .generation = (int)row[2],
                    .rank = -1,
                    .step = {row[3], (int64_t)row[4], row[5], row[6] != 0},
                    .perplexity = row[7],
                    .score = row[8],
                    .moved = row[9],
                    .r_factor = row[10],
                    .n_active = (int64_t)row[11],
                    .cg_iterations = (int)row[12]};
    for (int s = 0; s < N_STAGES; s++)
        r.costs[s].seconds = row[HISTORY_RESULTS + s];
    return r;
}

static bool precedes(const run_record *a, const run_record *b)
{
    if (a->attempt != b->attempt) return a->attempt < b->attempt;
    return a->run != b->run ? a->run < b->run : a->generation < b->generation;
}

status history_add(const run_record *r, int *n, run_record **records)
{
    run_record *more = realloc(*records, (size_t)(*n + 1) * sizeof *more);
    if (!more) FAIL(STATUS_RESOURCE, "out of host memory");
    *records = more;
    int at = *n;
    while (at > 0 && precedes(r, more + at - 1))
        at--;
    memmove(more + at + 1, more + at, (size_t)(*n - at) * sizeof *more);
    more[at] = *r;
    *n += 1;
    return STATUS_OK;
}

status history_write(const char *path, int n, const run_record *records)
{
    atomic_file *file = NULL;
    double row[HISTORY_COLUMNS];
    TRY(atomic_begin_stream(path, &file));
    FILE *out = atomic_stream(file);
    fprintf(out,
            "# a line a generation; runs 0 and 1 are the halves, 2 is all images; seconds of one "
            "rank\n#");
    for (int c = 0; c < HISTORY_COLUMNS; c++)
        fprintf(out, "%s%s", c > 0 ? ", " : " ", history_columns[c]);
    fprintf(out, "\n");
    for (int i = 0; i < n; i++) {
        history_to_row(records + i, row);
        for (int c = 0; c < HISTORY_COLUMNS; c++)
            fprintf(out, c > 0 ? " %.9g" : "%.9g", row[c]);
        fprintf(out, "\n");
    }
    return atomic_commit(file);
}

static status read_lines(const char *path, text_lines *lines, int *n, run_record **records)
{
    double row[HISTORY_COLUMNS];
    for (char *line = text_next_line(lines, "#"); line; line = text_next_line(lines, "#")) {
        if (!*line) continue;
        if (text_numbers(line, HISTORY_COLUMNS, row) != HISTORY_COLUMNS)
            FAIL(STATUS_INPUT, "%s:%lld: expected %d numbers, as the line of names says", path,
                 (long long)lines->number, HISTORY_COLUMNS);
        for (int c = 0; c < HISTORY_COLUMNS; c++)
            if (!(fabs(row[c]) <= 1e9) && c != SCORE)
                FAIL(STATUS_INPUT, "%s:%lld: %s is %g", path, (long long)lines->number,
                     history_columns[c], row[c]);
        const run_record r = history_of_row(row);
        TRY(history_add(&r, n, records));
    }
    return STATUS_OK;
}

status history_read(const char *path, int *n, run_record **records)
{
    char *text = NULL;
    size_t size = 0;
    *n = 0;
    *records = NULL;
    TRY(text_load(path, &text, &size));
    text_lines lines = {.at = text};
    const status result = read_lines(path, &lines, n, records);
    free(text);
    if (result == STATUS_OK) return STATUS_OK;
    free(*records);
    *records = NULL;
    *n = 0;
    return result;
}
