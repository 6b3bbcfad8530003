/* scaling_rows.h: the rows of a scaling table, and tables that were written before. */
#ifndef MTIP_SCALING_ROWS_H
#define MTIP_SCALING_ROWS_H

#include "core/status.h"
#include "stage_timer.h"

/* What a number of ranks took: the slowest rank's seconds, median of the repeats. */
typedef struct scaling_row {
    int ranks, gpus;
    double setup, total, efficiency;
    double stages[N_STAGES];
} scaling_row;

/* Rows of a file of CSV tables as mtip bench mtip writes them, one after another, by their ranks.  At most
   max of them.  STATUS_INPUT with file and line. */
status scaling_rows_read(const char *path, int max, scaling_row *rows, int *n);

/* The efficiency of each row: that of the first is 1; `strong`: all rows share the same work. */
void scaling_rows_compare(int n, scaling_row *rows, int strong);

#endif
