/* nufft_case.h: one transform pair with seeded data, run on a device and compared with the direct
   sums. Failures of calls are cmocka failures. */
#ifndef NUFFT_CASE_H
#define NUFFT_CASE_H

#include "nufft/nufft.h"

typedef enum case_points {
    POINTS_RANDOM,
    POINTS_CELL,    /* all within one cell of the fine grid */
    POINTS_EWALD,   /* slices through the origin, curved, corners at radius pi */
    POINTS_ON_GRID, /* exactly on cells of a grid of 2 N */
    POINTS_EDGES,   /* +-pi, and a unit in the last place inside and outside */
    POINTS_FAR,     /* up to 1e6 from the origin */
    POINTS_EQUAL,   /* all the same */
    POINTS_KINDS
} case_points;

typedef struct nufft_case {
    int dim;
    int64_t modes[3];
    int64_t n_points;
    case_points points;
    nufft_options options; /* sign 0 means +1, batch 0 means 1 */
} nufft_case;

/* Data of a case in host memory, as doubles that the precision can hold. */
typedef struct case_data {
    int64_t n_modes, n_points, batch;
    double *x[3];   /* [n] */
    double *modes;  /* [batch][n_modes] complex */
    double *values; /* [batch][n] complex, imaginary part 0 on the real path */
} case_data;

void case_data_make(const nufft_case *c, uint64_t seed, case_data *d);
void case_data_free(case_data *d);

/* Cases that name no method get this one; those it does not fit keep the plan's choice. Returns how
   many did since the last call. */
int case_use_method(nufft_method method);

nufft *case_plan(const device *dev, const nufft_case *c);
void case_set_points(const device *dev, const nufft_case *c, const case_data *d, nufft *plan);
/* Runs the plan on the data's modes or values; the result, poisoned with NaN before, is a new
   array of complex doubles (real path forward: imaginary parts 0). */
double *case_forward(const device *dev, const nufft_case *c, const case_data *d, nufft *plan);
double *case_adjoint(const device *dev, const nufft_case *c, const case_data *d, nufft *plan);

/* |a - b| / max(|b|, least) over 2 n numbers; NaN if any number is NaN. */
double relative_error(const double *a, const double *b, int64_t n_complex, double least);

typedef struct case_errors {
    /* Against the direct sums, relative l2 over the batch.  Where there are few outputs, or the
       points stand together, the exact sums may nearly cancel; then relative to what random
       inputs give on average. */
    double forward, adjoint;
    double adjointness; /* |<Ax, y> - <x, A^H y>| / (|Ax| |y|) */
} case_errors;

case_errors case_run(const device *dev, const nufft_case *c);
/* case_run, and fails unless both errors are at most `bound`; names the case. */
void case_check(const device *dev, const nufft_case *c, double bound);

/* Uniform in [-1, 1). */
double random_number(uint64_t *state);

#endif
