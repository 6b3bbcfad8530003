/* bench_nufft_row.h: one case's figures as named fields, and how they are printed. */
#ifndef BENCH_NUFFT_ROW_H
#define BENCH_NUFFT_ROW_H

#include <stdio.h>

#include "bench_nufft_run.h"

typedef enum bench_format {
    BENCH_TEXT, /* one case: a line each field; a list: a table, some of the fields */
    BENCH_CSV,  /* a header, a line each case */
    BENCH_JSON  /* an object each case, in an array if it is a list */
} bench_format;

/* Sustained rates of the CPU (bench_machine.h); 0 on a GPU. */
typedef struct bench_machine {
    double bandwidth, multiply_adds;
} bench_machine;

enum { BENCH_MAX_FIELDS = 64 };

typedef struct bench_row {
    int n;
    struct {
        const char *name;
        char text[80]; /* "": no figure */
        bool is_number;
    } field[BENCH_MAX_FIELDS];
} bench_row;

/* judged: whether to compare with the goals, which are those of a GPU. */
void bench_row_make(const bench_case *c, const bench_result *r, const device *dev,
                    const bench_machine *machine, bool judged, bench_row *row);

/* The time a case's goals are for. */
double bench_judged_time(const bench_case *c, const bench_result *r);

/* Row number `index` of a list, or the only one (index -1). */
void bench_row_print(FILE *out, bench_format format, int index, const bench_row *row);
/* What comes after the last of a list. */
void bench_rows_end(FILE *out, bench_format format);

#endif
