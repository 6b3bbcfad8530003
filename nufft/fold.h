/* fold.h: coordinates to turns and to cells of a periodic grid, without losing digits. */
#ifndef NUFFT_FOLD_H
#define NUFFT_FOLD_H

#include <math.h>
#include <stdint.h>

#ifdef __CUDACC__
#define FOLD_INLINE static inline __host__ __device__
#else
#define FOLD_INLINE static inline
#endif

/* 1/(2 pi) as the sum of two doubles. */
#define TURNS_HIGH 0.15915494309189535
#define TURNS_LOW  -9.839338337591243e-18

/* x / (2 pi) less its nearest integer, as high + low; |high| <= 1/2. The error is below 1e-20
   turns for |x| <= 1e6 and grows with |x|, like the spacing of doubles times 2^-53. */
FOLD_INLINE void turns_of(double x, double *high, double *low)
{
    double product = x * TURNS_HIGH;
    double rest = fma(x, TURNS_HIGH, -product) + x * TURNS_LOW;
    double whole = product - rint(product);
    double sum = whole + rest;
    *low = rest - (sum - whole);
    *high = sum - rint(sum); /* huge x have a huge rest */
}

#endif
