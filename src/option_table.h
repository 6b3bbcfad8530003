/* option_table.h: the options of a benchmark as a table that is read into a struct. */
#ifndef MTIP_OPTION_TABLE_H
#define MTIP_OPTION_TABLE_H

#include <stddef.h>
#include <stdio.h>

#include "core/status.h"
#include "core/types.h"

/* What an option writes: bool, int, int64_t, double, an enum, int64_t[3], const char *. */
typedef enum option_kind {
    OPTION_FLAG,
    OPTION_INTEGER,
    OPTION_COUNT,
    OPTION_REAL,
    OPTION_CHOICE,
    OPTION_SIZES,
    OPTION_TEXT
} option_kind;

typedef struct option {
    const char *name, *value, *meaning; /* "--dim", "1|2|3" (NULL: a flag), for --help */
    option_kind kind;
    int group;                    /* of options that go together, from 0; the caller's */
    size_t at;                    /* where it is written, in bytes from the start of the struct */
    double min, max;              /* of numbers */
    const char *(*choice)(int i); /* the name of value i of an enum, NULL beyond the last */
} option;

typedef struct option_table {
    const char *command;   /* "mtip bench nufft" */
    const char *meaning;   /* for --help: lines, each with its end */
    const char *example;   /* for --help: a whole command line */
    const option *options; /* ended by a NULL name */
} option_table;

#define OPTION_MANY 9007199254740992. /* 2^53: every count is a double */

/* Reads arguments[1..n-1] into the struct at target, which holds the defaults; texts stay the
   arguments'.  last_of (or NULL): [group] becomes the name of the last option of that group that is
   given, else stays.  STATUS_USAGE says what is wrong and what would be right. */
status option_table_read(const option_table *t, int n, char *const arguments[], void *target,
                         const char *last_of[]);
void option_table_help(const option_table *t, FILE *out);

/* A choice: "single", "double". */
const char *option_precision_name(int i);

#endif
