/* bench_mtip_options.h: the command line of the benchmark of all stages. */
#ifndef MTIP_BENCH_MTIP_OPTIONS_H
#define MTIP_BENCH_MTIP_OPTIONS_H

#include <stdio.h>

#include "bench_iteration.h"

enum { BENCH_MTIP_MAX_REPEAT = 100 };

typedef struct bench_mtip_options {
    bool table2, weak, strong; /* one of them */
    iteration_options size;
    int64_t starts;        /* of phasing, and */
    double memory;         /* MB of a rank for kept scores: with strong only */
    int threads;           /* of a rank, 0: as devices_threads says */
    int repeat;            /* iterations timed, at most BENCH_MTIP_MAX_REPEAT */
    int backend;           /* CONFIG_BACKEND_* */
    const char *csv, *svg; /* files for the table, or NULL */
    const char *read;      /* a table that was measured before, or NULL */
    const char *forecast;  /* numbers of ranks to forecast from it, or NULL */
    bool staged, only, help;
} bench_mtip_options;

/* arguments[1..n-1] are options.  STATUS_USAGE says what is wrong with them. */
status bench_mtip_options_parse(int n, char *const arguments[], bench_mtip_options *o);
void bench_mtip_options_help(FILE *out);

#endif
