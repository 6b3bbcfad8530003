/* bench_nufft_options.h: the command line of the NUFFT's benchmark. */
#ifndef BENCH_NUFFT_OPTIONS_H
#define BENCH_NUFFT_OPTIONS_H

#include "bench_nufft_row.h"

typedef struct bench_options {
    bench_case one;            /* what is timed, unless a list is */
    bool suite, table2, study; /* lists */
    const char *only;          /* their cases with it in their names; NULL: all */
    double scale;              /* of their sizes */
    int device;                /* device_kind */
    int threads, repeat, outputs;
    bool csv, json, help;
} bench_options;

/* arguments[1..n-1] are options.  STATUS_USAGE says what is wrong with them. */
status bench_options_parse(int n, char **arguments, bench_options *o);
void bench_options_help(FILE *out);

#endif
