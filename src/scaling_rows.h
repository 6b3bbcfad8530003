/* scaling_rows.h: the rows of a scaling table, and tables that were written before. */
#ifndef MTIP_SCALING_ROWS_H
#define MTIP_SCALING_ROWS_H

#include <stdio.h>

#include "core/status.h"
#include "stage_timer.h"

enum { SCALING_MAX_ROWS = 64 };

/* What a number of ranks took: the slowest rank's seconds, median of the repeats. */
typedef struct scaling_row {
    int ranks, gpus; /* gpus 0: on CPUs */
    double setup, total, efficiency;
    double stages[N_STAGES];
    double exchanged; /* bytes of the arrays that a rank exchanged in one of the repeats */
    double sum_rate;  /* bytes of a large array summed over these ranks a second; one rank: 0 */
    double sum_delay; /* seconds of a sum of one number */
} scaling_row;

/* Rows of a file of CSV tables as mtip bench mtip writes them, one after another, by their ranks.  At most
   SCALING_MAX_ROWS of them.  STATUS_INPUT with file and line. */
status scaling_rows_read(const char *path, scaling_row *rows, int *n);

/* The same table, on a terminal or (csv) as scaling_rows_read takes it. */
void scaling_rows_print(int n, const scaling_row rows[], bool csv, FILE *file);

/* Seconds over ranks as a plot. STATUS_OUTPUT with the path. */
status scaling_rows_plot(int n, const scaling_row rows[], bool strong, const char *path);

/* The efficiency of each row: that of the first is 1; `strong`: all rows share the same work. */
void scaling_rows_compare(int n, scaling_row *rows, bool strong);

#endif
