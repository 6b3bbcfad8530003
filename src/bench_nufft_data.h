/* bench_nufft_data.h: the numbers of a transform that is timed, and exact values to compare with. */
#ifndef BENCH_NUFFT_DATA_H
#define BENCH_NUFFT_DATA_H

#include "nufft/nufft.h"

typedef enum bench_points {
    BENCH_RANDOM,   /* uniform in the box */
    BENCH_CLUSTER,  /* uniform in a box of 8 cells a side of a fine grid of 2 N */
    BENCH_EWALD,    /* 3D: slices of the Ewald sphere, see bench_data_make */
    BENCH_ONE_CELL, /* within one cell of that grid */
    BENCH_KINDS
} bench_points;

/* "rand", "cluster", "ewald", "one-cell"; NULL for what is none. */
const char *bench_points_name(bench_points kind);

/* What determines the numbers. */
typedef struct bench_problem {
    int dim;
    int64_t modes[3], n_points; /* modes: 1 beyond dim */
    bench_points points;
    precision precision;
    bool real;
    int batch, sign;
} bench_problem;

bool bench_problem_same(const bench_problem *a, const bench_problem *b);

/* Some of the outputs of one type, by vector, and their exact values. */
typedef struct bench_exact {
    int n; /* 0: not made yet */
    int64_t *vector, *index;
    double *value; /* [n] complex */
} bench_exact;

/* Leaves {0}. */
void bench_exact_free(bench_exact *exact);

/* In host memory, in the problem's precision. */
typedef struct bench_data {
    bench_problem problem;
    int64_t n_modes;
    void *x[3];           /* [n_points] */
    void *modes;          /* [batch][n_modes] complex */
    void *values;         /* [batch][n_points] complex, or real on the real path */
    bench_exact exact[2]; /* of types 1 and 2 */
} bench_data;

/* Numbers are uniform in [-1, 1) and depend on their places alone, so that runs can be compared.
   Ewald points: a flat square detector of 32 x 32 pixels (up to 41 modes; else 128 x 128) with the
   centres of the corner pixels at |q| = pi (1 - 1e-6), the wave number 3 times that, and one random
   rotation for the points of each image.  STATUS_RESOURCE without memory. */
status bench_data_make(const bench_problem *problem, bench_data *data);
/* Accepts what bench_data_make left when it failed, and {0}. */
void bench_data_free(bench_data *data);

/* A hash of (seed, i), uniform in [0, 1). */
double bench_uniform(uint64_t seed, int64_t i);

/* The i-th number of an array of precision p. */
static inline double bench_number(const void *array, precision p, int64_t i)
{
    return p == PRECISION_SINGLE ? (double)((const float *)array)[i] : ((const double *)array)[i];
}

/* Numbers of one vector of the values: n_points, or twice that. */
static inline int64_t bench_value_count(const bench_problem *p)
{
    return p->real ? p->n_points : 2 * p->n_points;
}

/* sqrt(sum |err|^2 / sum |exact|^2) over n outputs of a result of the type, in host memory: random
   ones of all vectors, and for type 1 the corner modes and the centre of the first.  The direct
   sums, in double, are made at the first call: they know the outputs to about 1e-15 times the
   square root of the largest size. */
status bench_error(bench_data *data, int type, int n, const void *result, double *error);

#endif
