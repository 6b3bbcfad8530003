/* kernels_cuda_fft.h: Fourier transforms of the lines of an array in shared memory, by one block;
   for mtip/kernels_cuda*.cu only.

   Lengths are products of at most LINE_FACTORS numbers from 2 to 9.  Element i of line l lies at
   i * stride + l, so that neighbouring threads, which take neighbouring lines, use neighbouring
   addresses whatever the length.  Each pass reads one array and writes the other (Stockham's
   order: Govindaraju et al., SC 2008). */
#ifndef MTIP_KERNELS_CUDA_FFT_H
#define MTIP_KERNELS_CUDA_FFT_H

#include <limits.h>

#include "mtip/kernels_cuda.h"

enum { LINE_FACTORS = 4, LARGEST_FACTOR = 9 };

typedef struct line_plan {
    int n, stride;
    int n_factors, factor[LINE_FACTORS];
} line_plan;

/* The factors of n, few and large; none if there are no such. */
static __host__ __device__ constexpr line_plan line_plan_make(int n, int stride)
{
    line_plan plan = {n, stride, 0, {0}};
    for (int f = LARGEST_FACTOR; f > 1; f--)
        while (n % f == 0 && plan.n_factors < LINE_FACTORS) {
            plan.factor[plan.n_factors++] = f;
            n /= f;
        }
    if (n > 1) plan.n_factors = 0;
    return plan;
}

/* cos(2 pi a/b) at compile time, exact where it is 0 or 1: the series in the first quadrant. */
static __host__ __device__ constexpr double cosine(int a, int b)
{
    a = (a % b + b) % b;
    a = 2 * a > b ? b - a : a;
    if (4 * a == b) return 0;
    if (4 * a > b) return -cosine(b - 2 * a, 2 * b);
    const double x = 6.283185307179586476925 * a / b;
    double sum = 0, term = 1;
    for (int i = 1; i < 30; i += 2) {
        sum += term;
        term *= -x * x / (i * (i + 1));
    }
    return sum;
}

template <int R> struct circle {
    double re[R], im[R];
    __host__ __device__ constexpr circle() : re(), im()
    {
        for (int i = 0; i < R; i++) {
            re[i] = cosine(i, R);
            im[i] = cosine(4 * i - R, 4 * R);
        }
    }
};

/* sum += c x for a constant c. */
static __device__ inline void add_times(double c, complex_real x, complex_real &sum)
{
    if (c == 0) return;
    sum.x += c == 1 ? x.x : (real)c * x.x;
    sum.y += c == 1 ? x.y : (real)c * x.y;
}

static __device__ inline complex_real add(complex_real a, complex_real b)
{
    return complex_real{a.x + b.x, a.y + b.y};
}

static __device__ inline complex_real subtract(complex_real a, complex_real b)
{
    return complex_real{a.x - b.x, a.y - b.y};
}

/* a times b, or b's conjugate for sign = -1. */
static __device__ inline complex_real multiply(complex_real a, complex_real b, real sign)
{
    return complex_real{a.x * b.x - sign * a.y * b.y, a.y * b.x + sign * a.x * b.y};
}

/* x[k] <- sum_j x[j] exp(sign 2 pi i jk/R), from sums and differences of x[j] and x[R-j]. */
template <int R> static __device__ inline void butterfly(real sign, complex_real x[R])
{
    constexpr circle<R> root;
    constexpr int HALF = (R - 1) / 2;
    complex_real even[HALF + 1], odd[HALF + 1], first = x[0];
    const complex_real centre = x[R / 2], start = x[0];
#pragma unroll
    for (int j = 1; j <= HALF; j++) {
        even[j] = add(x[j], x[R - j]);
        odd[j] = subtract(x[j], x[R - j]);
        first = add(first, even[j]);
    }
    x[0] = R % 2 ? first : add(first, centre);
#pragma unroll
    for (int k = 1; k <= R / 2; k++) {
        complex_real p = start, q = {0, 0};
        if (R % 2 == 0) p = k % 2 ? subtract(p, centre) : add(p, centre);
#pragma unroll
        for (int j = 1; j <= HALF; j++) {
            add_times(root.re[j * k % R], even[j], p);
            add_times(root.im[j * k % R], odd[j], q);
        }
        x[k] = complex_real{p.x - sign * q.y, p.y + sign * q.x};
        x[R - k] = complex_real{p.x + sign * q.y, p.y - sign * q.x};
    }
}

/* The line this thread works on and its first row of `rows` taken at a time, the same in all loops,
   because dividing takes longer than the rest of a pass. Threads left over have no rows. */
typedef struct line_place {
    int line, row, rows;
} line_place;

static __device__ inline line_place line_place_of(int n_lines)
{
    const int row = threadIdx.x / n_lines, rows = blockDim.x / n_lines;
    return line_place{(int)threadIdx.x % n_lines, row < rows ? row : INT_MAX / 2, rows};
}

/* The pass of factor R of all lines, after passes of factors whose product is `length`.
   roots[m] = exp(2 pi i m/n). */
template <int R>
static __device__ inline void line_pass(const line_plan &plan, line_place place, int length,
                                        real sign, const complex_real *roots,
                                        const complex_real *from, complex_real *to)
{
    const int step = plan.n / R, in = step * plan.stride, out = length * plan.stride;
    const bool is_last = length == step;
    for (int j = place.row; j < step; j += place.rows) {
        const int k = is_last ? j : length > 1 ? j % length : 0;
        const complex_real *at = from + j * plan.stride + place.line;
        complex_real x[R];
#pragma unroll
        for (int r = 0; r < R; r++)
            x[r] = at[r * in];
        if (length > 1) {
            const int turn = is_last ? k : k * (step / length);
#pragma unroll
            for (int r = 1; r < R; r++)
                x[r] = multiply(x[r], roots[r * turn], sign);
        }
        butterfly<R>(sign, x);
        complex_real *then = to + ((j - k) * R + k) * plan.stride + place.line;
#pragma unroll
        for (int r = 0; r < R; r++)
            then[r * out] = x[r];
    }
}

static __device__ inline void exchange(complex_real *&a, complex_real *&b)
{
    complex_real *other = a;
    a = b;
    b = other;
}

/* Transforms the lines of a, which must be complete (a barrier), with exp(sign i ..); a and b change
   places if that is where the passes end. All threads call it; ends with a barrier. */
static __device__ inline void transform_lines(const line_plan &plan, line_place place, real sign,
                                              const complex_real *roots, complex_real *&a,
                                              complex_real *&b)
{
    int length = 1;
#pragma unroll
    for (int p = 0; p < LINE_FACTORS; p++) {
        if (p == plan.n_factors) break;
#define PASS(R)                                               \
    case R:                                                   \
        line_pass<R>(plan, place, length, sign, roots, a, b); \
        break;
        switch (plan.factor[p]) {
            PASS(2)
            PASS(3)
            PASS(4)
            PASS(5)
            PASS(6)
            PASS(7)
            PASS(8)
            PASS(9)
        }
#undef PASS
        length *= plan.factor[p];
        exchange(a, b);
        __syncthreads();
    }
}

/* Fills roots[n]. */
static __device__ inline void make_roots(int n, complex_real *roots)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        double re, im;
        sincospi(2.0 * i / n, &im, &re);
        roots[i] = complex_real{(real)re, (real)im};
    }
}

#endif
