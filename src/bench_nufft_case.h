/* bench_nufft_case.h: what is timed, and the lists of it that have names. */
#ifndef BENCH_NUFFT_CASE_H
#define BENCH_NUFFT_CASE_H

#include "bench_nufft_data.h"

/* Which time a goal is for. */
typedef enum bench_judged { BENCH_EXEC, BENCH_SET, BENCH_COPIES } bench_judged;

/* Milliseconds on one H200, 0: none. */
typedef struct bench_goal {
    double peer;      /* the newest cuFINUFFT, the best of its methods, on an H200 */
    double must, aim; /* at most so long */
    double paper;     /* cuFINUFFT 1.0 on a V100 with copies (Shih et al. 2021, table II) */
} bench_goal;

typedef struct bench_case {
    const char *prefix; /* of the name; NULL: none */
    char name[80];
    bench_problem problem;
    int type;
    double tolerance, upsampling; /* 0: the plan chooses */
    nufft_method method;
    bool brief; /* few runs */
    bench_judged judged;
    bench_goal goal;
    double taken; /* ms, once it has been run; the time that is judged */
    int beside; /* > 0: must take at most 1.5 times as long as the list's case number beside - 1 */
} bench_case;

typedef struct bench_list {
    bench_case *cases;
    int n, room;
} bench_list;

/* Makes the name from the other fields: "merging t1 double 1e-12 3D N=81 M=1.638e+07 ewald". */
void bench_case_name(bench_case *c);

/* Appends to a list, which may be {0}; STATUS_RESOURCE without memory.
   The suite: the cases that the NUFFT is judged by, each type 1 also with clustered points. */
status bench_suite(bench_list *list);
/* Slicing and merging of one rank in the paper's weak scaling study (its table II). */
status bench_table2(bench_list *list);
/* The paper's comparisons of methods and of tolerances: its table I and figures 2 to 7, in sections
   "table1", "size", "density", "tolerance", with every method after the default. */
status bench_study(bench_list *list);

void bench_list_free(bench_list *list);

/* `factor` times the points and the modes: as dense as before, another size. */
void bench_case_scale(bench_case *c, double factor);

#endif
