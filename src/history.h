/* history.h: the generations of a reconstruction as rows of numbers, in history.txt, result.h5 and
   checkpoints.

   Rows stand in the order of attempt, run (0 and 1: the halves, 2: all images) and generation. */
#ifndef MTIP_HISTORY_H
#define MTIP_HISTORY_H

#include "run.h"

/* What a generation came to, then the seconds of its stages, which are no result. */
enum { HISTORY_RESULTS = 13, HISTORY_COLUMNS = HISTORY_RESULTS + N_STAGES };

/* Names of the columns, with units. */
extern const char *const history_columns[HISTORY_COLUMNS];

void history_to_row(const run_record *r, double row[HISTORY_COLUMNS]);
/* Costs but for the seconds, and works, are 0; the rank is -1. */
run_record history_of_row(const double row[HISTORY_COLUMNS]);

/* Puts a record in its place among *n in order; the caller frees *records. STATUS_RESOURCE. */
status history_add(const run_record *r, int *n, run_record **records);

/* Writes the records as a table for eyes and programs, a line each. STATUS_OUTPUT. */
status history_write(const char *path, int n, const run_record *records);
/* Reads such a table; the caller frees *records.  STATUS_INPUT and none for anything
   else. */
status history_read(const char *path, int *n, run_record **records);

#endif
