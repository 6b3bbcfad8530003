/* bench_nufft_data.h: points and exact values for bench_nufft. */
#ifndef BENCH_NUFFT_DATA_H
#define BENCH_NUFFT_DATA_H

#include "nufft/nufft.h"

typedef enum bench_points { BENCH_RANDOM, BENCH_CLUSTER, BENCH_EWALD } bench_points;

/* One transform in host memory, doubles that the plan's precision can hold. */
typedef struct bench_problem {
    int dim;
    int64_t modes[3], n_modes; /* 1 beyond dim */
    int64_t n_points;
    bool real;
    int sign;
    double *x[3]; /* [n_points] */
    double *f;    /* [n_modes] complex */
    double *c;    /* [n_points] complex; imaginary part 0 on the real path */
} bench_problem;

/* The problem with its data; seeded, so that runs can be compared. */
status bench_problem_make(bench_points kind, precision p, bench_problem *b);
void bench_problem_free(bench_problem *b);

/* sqrt(sum |err|^2 / sum |exact|^2) of type 1 or 2's result (complex doubles, n_modes or n_points)
   over n outputs: random ones, and for type 1 the 2^dim corner modes and the centre. */
double bench_error(const bench_problem *b, int type, const double *result, int n);

/* Sustained rates of this machine with n_threads: GB/s of a triad, GFLOP/s of multiply-adds. */
double bench_bandwidth(int n_threads);
double bench_multiply_adds(int n_threads);

#endif
