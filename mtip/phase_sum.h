/* phase_sum.h: the inner loop of the direct sum, w_j exp(2 pi i u.r_j) over a block of atoms. */
#ifndef MTIP_PHASE_SUM_H
#define MTIP_PHASE_SUM_H

enum { PHASE_SUM_BLOCK = 128 };

/* Adds sum_j w_j (cos, sin)(2 pi u.r_j) over PHASE_SUM_BLOCK atoms to sum[0], sum[1].  Phases are
   taken modulo one turn in double precision; sine and cosine in single, with an error below 1e-6. */
void phase_sum_block(const double *x, const double *y, const double *z, const float *w,
                     const double u[3], double sum[2]);

/* The same sine and cosine of one phase in turns, for the test of their accuracy. */
void phase_sum_sincos(double turns, float *sine, float *cosine);

#endif
