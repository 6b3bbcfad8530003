#include "mtip/phase_sum.h"

#include "core/types.h"

/* Adding and subtracting it rounds a double to an integer (ties to even). */
#define ROUND_TO_INTEGER 6755399441055744.0 /* 1.5 * 2^52 */

/* sin(pi t) / t and cos(pi t) for |t| <= 1/2 as polynomials in t^2, from interpolation at Chebyshev
   nodes: errors of 5e-9 and 3e-10 before rounding. */
static inline float half_sine(float t)
{
    float t2 = t * t;
    float p = 0.07765591228f;
    p = p * t2 - 0.5982904113f;
    p = p * t2 + 2.550077387f;
    p = p * t2 - 5.167710077f;
    p = p * t2 + 3.141592640f;
    return p * t;
}

static inline float half_cosine(float t)
{
    float t2 = t * t;
    float p = -0.02439593207f;
    p = p * t2 + 0.2349370686f;
    p = p * t2 - 1.335211949f;
    p = p * t2 + 4.058709155f;
    p = p * t2 - 4.934802137f;
    p = p * t2 + 0.9999999998f;
    return p;
}

/* The full angle from its half: no branches, no quadrants.  The sums of two instruction sets differ
   in rounding, about 1e-7 of the intensity. */
WIDEST_VECTORS
void phase_sum_block(const double *x, const double *y, const double *z, const float *w,
                     const double u[3], double sum[2])
{
    float turns[PHASE_SUM_BLOCK], cosines = 0, sines = 0;
    double ux = u[0], uy = u[1], uz = u[2];
#pragma omp simd
    for (int j = 0; j < PHASE_SUM_BLOCK; j++) {
        double phase = ux * x[j] + uy * y[j] + uz * z[j];
        double whole = (phase + ROUND_TO_INTEGER) - ROUND_TO_INTEGER;
        turns[j] = (float)(phase - whole);
    }
#pragma omp simd reduction(+ : cosines, sines)
    for (int j = 0; j < PHASE_SUM_BLOCK; j++) {
        float s = half_sine(turns[j]), c = half_cosine(turns[j]);
        float ws = 2 * w[j] * s;
        cosines += w[j] - ws * s;
        sines += ws * c;
    }
    sum[0] += (double)cosines;
    sum[1] += (double)sines;
}

void phase_sum_sincos(double turns, float *sine, float *cosine)
{
    double whole = (turns + ROUND_TO_INTEGER) - ROUND_TO_INTEGER;
    float t = (float)(turns - whole), s = half_sine(t);
    *sine = 2 * s * half_cosine(t);
    *cosine = 1 - 2 * s * s;
}
