/* bench_nufft_exact.c: direct sums of some outputs.

   Points go through in groups of LANES, one to a lane of a vector.  exp(i k x) is one of the first
   powers of exp(i x) times one of the powers of exp(i step x): step is a power of 2, so step x is
   exact and few products of rounded numbers make up any power.

   status bench_error(...)
       static status make_exact(...)
           static void choose(...)          which outputs
           static status sum_points(...)    type 1: chosen modes, sums over all points
           static status sum_modes(...)     type 2: chosen points, sums over all modes */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <omp.h>

#include "bench_nufft_data.h"

enum { LANES = 8, CHUNK = 4096 * LANES, CHUNK_ROWS = 64 };

#define INLINE static inline __attribute__((always_inline))

typedef double reals __attribute__((vector_size(8 * LANES)));

/* Complex numbers, one of each point of a group. */
typedef struct lanes {
    reals re, im;
} lanes;

/* Powers of exp(i x) of LANES points in one dimension. */
typedef struct powers {
    int64_t n, step;   /* modes */
    lanes *low, *high; /* exponents 0 .. step - 1; 0, step, .. up to n / 2 */
} powers;

/* Where exp(i sign k x) is found. */
typedef struct place {
    int64_t low, high;
    double sign;
} place;

static int64_t step_of(int64_t n)
{
    int64_t step = 1;
    while (step * step < n / 2 + 1)
        step *= 2;
    return step;
}

/* Puts the powers of the three dimensions in memory (NULL: only asks) and returns its size. */
static int64_t place_powers(const bench_problem *p, lanes *memory, powers e[3])
{
    int64_t used = 0;
    for (int d = 0; d < 3; d++) {
        e[d] = (powers){.n = p->modes[d], .step = step_of(p->modes[d])};
        if (memory) e[d].low = memory + used;
        used += e[d].step;
        if (memory) e[d].high = memory + used;
        used += e[d].n / 2 / e[d].step + 1;
    }
    return used;
}

/* of index i of the modes */
static place place_of(const powers *e, int64_t i, int sign)
{
    int64_t k = i - e->n / 2, size = k < 0 ? -k : k;
    return (place){size % e->step, size / e->step, k < 0 ? -sign : sign};
}

INLINE void multiply(lanes *a, const lanes *b)
{
    reals re = a->re * b->re - a->im * b->im;
    a->im = a->re * b->im + a->im * b->re;
    a->re = re;
}

INLINE void multiply_power(lanes *a, const powers *e, const place *at)
{
    lanes b = e->low[at->low];
    multiply(&b, &e->high[at->high]);
    b.im *= at->sign;
    multiply(a, &b);
}

/* to[0 .. n - 1] = powers of exp(i x). */
INLINE void fill_powers(lanes *to, int64_t n, const double x[LANES])
{
    double re[LANES], im[LANES];
    lanes base;
    for (int l = 0; l < LANES; l++) {
        re[l] = cos(x[l]);
        im[l] = sin(x[l]);
    }
    memcpy(&base.re, re, sizeof re);
    memcpy(&base.im, im, sizeof im);
    to[0] = (lanes){(reals){0} + 1, (reals){0}};
    for (int64_t i = 1; i < n; i++) {
        to[i] = to[i - 1];
        multiply(&to[i], &base);
    }
}

INLINE void make_powers(powers *e, const double x[LANES])
{
    double far[LANES];
    for (int l = 0; l < LANES; l++)
        far[l] = (double)e->step * x[l];
    fill_powers(e->low, e->step, x);
    fill_powers(e->high, e->n / 2 / e->step + 1, far);
}

/* The strengths of n points from j on in one vector, 0 in the lanes beyond. */
INLINE void load_values(const bench_data *data, int64_t vector, int64_t j, int n, lanes *values)
{
    const bench_problem *p = &data->problem;
    int64_t at = vector * p->n_points + j;
    memset(values, 0, sizeof *values);
    for (int l = 0; l < n; l++)
        values->re[l] = bench_number(data->values, p->precision, p->real ? at + l : 2 * (at + l));
    for (int l = 0; l < n && !p->real; l++)
        values->im[l] = bench_number(data->values, p->precision, 2 * (at + l) + 1);
}

/* Adds n points from j on to the sums; at[3 * i + d] belongs to output i. */
INLINE void add_points(const bench_data *data, const bench_exact *exact, const place *at, int64_t j,
                       int n, powers e[3], lanes *sum)
{
    int dim = data->problem.dim;
    lanes values;
    int64_t loaded = -1;
    for (int d = 0; d < dim; d++) {
        double x[LANES] = {0};
        for (int l = 0; l < n; l++)
            x[l] = bench_number(data->x[d], data->problem.precision, j + l);
        make_powers(&e[d], x);
    }
    for (int i = 0; i < exact->n; i++) {
        if (exact->vector[i] != loaded) load_values(data, exact->vector[i], j, n, &values);
        loaded = exact->vector[i];
        lanes term = values;
        for (int d = 0; d < dim; d++)
            multiply_power(&term, &e[d], &at[3 * i + d]);
        sum[i].re += term.re;
        sum[i].im += term.im;
    }
}

/* The sums over points begin .. end - 1, added to sums. */
WIDEST_VECTORS
static void add_chunk(const bench_data *data, const bench_exact *exact, const place *at,
                      int64_t begin, int64_t end, lanes *memory, double *sums)
{
    powers e[3];
    lanes *sum = memory + place_powers(&data->problem, memory, e);
    memset(sum, 0, sizeof *sum * (size_t)exact->n);
    for (int64_t j = begin; j < end; j += LANES)
        add_points(data, exact, at, j, end - j < LANES ? (int)(end - j) : LANES, e, sum);
    for (int i = 0; i < exact->n; i++)
        for (int l = 0; l < LANES; l++) {
            sums[2 * i] += sum[i].re[l];
            sums[2 * i + 1] += sum[i].im[l];
        }
}

/* Chunk by chunk, so that rounding does not grow with the number of points. */
static status sum_points(const bench_data *data, bench_exact *exact)
{
    const bench_problem *p = &data->problem;
    powers e[3];
    int64_t each = place_powers(p, NULL, e) + exact->n, n = p->n_points;
    lanes *memory =
        aligned_alloc(sizeof *memory, sizeof *memory * (size_t)(each * omp_get_max_threads()));
    place *at = malloc(sizeof *at * (size_t)(3 * exact->n));
    if (!memory || !at) {
        free(memory);
        free(at);
        FAIL(STATUS_RESOURCE, "out of host memory");
    }
    for (int i = 0; i < exact->n; i++)
        for (int64_t d = 0, rest = exact->index[i]; d < 3; rest /= p->modes[d++])
            at[3 * i + d] = place_of(&e[d], rest % p->modes[d], -p->sign);
    double *sums = exact->value;
    int n_sums = 2 * exact->n;
#pragma omp parallel for schedule(static) reduction(+ : sums[:n_sums])
    for (int64_t begin = 0; begin < n; begin += CHUNK)
        add_chunk(data, exact, at, begin, n - begin < CHUNK ? n : begin + CHUNK,
                  memory + each * omp_get_thread_num(), sums);
    free(memory);
    free(at);
    return STATUS_OK;
}

/* Type 2 at LANES points: adds rows begin .. end - 1 of one vector's modes to the sums. */
WIDEST_VECTORS
static void add_rows(const bench_data *data, int64_t vector, int64_t begin, int64_t end,
                     const powers e[3], const lanes *row_powers, double *sums)
{
    const bench_problem *p = &data->problem;
    int64_t nx = p->modes[0];
    for (int64_t row = begin; row < end; row++) {
        int64_t first = 2 * (vector * data->n_modes + row * nx);
        place y = place_of(&e[1], row % p->modes[1], p->sign);
        place z = place_of(&e[2], row / p->modes[1], p->sign);
        lanes sum = {{0}, {0}};
        for (int64_t x = 0; x < nx; x++) {
            double re = bench_number(data->modes, p->precision, first + 2 * x);
            double im = bench_number(data->modes, p->precision, first + 2 * x + 1);
            sum.re += re * row_powers[x].re - im * row_powers[x].im;
            sum.im += re * row_powers[x].im + im * row_powers[x].re;
        }
        multiply_power(&sum, &e[1], &y);
        multiply_power(&sum, &e[2], &z);
        for (int l = 0; l < LANES; l++) {
            sums[2 * l] += sum.re[l];
            sums[2 * l + 1] += sum.im[l];
        }
    }
}

/* The powers of the outputs i .. i + n - 1, n <= LANES, and those of a whole row in x. */
WIDEST_VECTORS
static void prepare_rows(const bench_data *data, const bench_exact *exact, int i, int n,
                         powers e[3], lanes *row_powers)
{
    const bench_problem *p = &data->problem;
    for (int d = 0; d < 3; d++) {
        double x[LANES] = {0};
        for (int l = 0; l < n && d < p->dim; l++)
            x[l] = bench_number(data->x[d], p->precision, exact->index[i + l]);
        make_powers(&e[d], x);
    }
    for (int64_t k = 0; k < p->modes[0]; k++) {
        place at = place_of(&e[0], k, p->sign);
        row_powers[k] = e[0].low[0]; /* 1 */
        multiply_power(&row_powers[k], &e[0], &at);
    }
}

/* How many of the outputs from i on, up to LANES, are of one vector. */
static int same_vector(const bench_exact *exact, int i)
{
    int n = 1;
    while (n < LANES && i + n < exact->n && exact->vector[i + n] == exact->vector[i])
        n++;
    return n;
}

static status sum_modes(const bench_data *data, bench_exact *exact)
{
    const bench_problem *p = &data->problem;
    powers e[3];
    int64_t used = place_powers(p, NULL, e), rows = p->modes[1] * p->modes[2];
    lanes *memory = aligned_alloc(sizeof *memory, sizeof *memory * (size_t)(used + p->modes[0]));
    if (!memory) FAIL(STATUS_RESOURCE, "out of host memory");
    place_powers(p, memory, e);
    for (int i = 0, n; i < exact->n; i += n) {
        n = same_vector(exact, i);
        prepare_rows(data, exact, i, n, e, memory + used);
        double sums[2 * LANES] = {0};
#pragma omp parallel for schedule(static) reduction(+ : sums)
        for (int64_t row = 0; row < rows; row += CHUNK_ROWS)
            add_rows(data, exact->vector[i], row, rows - row < CHUNK_ROWS ? rows : row + CHUNK_ROWS,
                     e, memory + used, sums);
        memcpy(exact->value + 2 * i, sums, sizeof *sums * 2 * (size_t)n);
    }
    free(memory);
    return STATUS_OK;
}

/* Vectors in turn have as many outputs; type 1 begins with the corners and the centre. */
static void choose(const bench_data *data, int type, bench_exact *exact)
{
    const bench_problem *p = &data->problem;
    int corners = 1 << p->dim;
    for (int i = 0; i < exact->n; i++) {
        exact->vector[i] = (int64_t)i * p->batch / exact->n;
        double size = (double)(type == 1 ? data->n_modes : p->n_points);
        exact->index[i] = (int64_t)(size * bench_uniform(30 + (uint64_t)type, i));
        if (type == 2 || i > corners) continue;
        int64_t at[3] = {0, 0, 0};
        for (int d = 0; d < p->dim; d++)
            at[d] = i == corners ? p->modes[d] / 2 : i >> d & 1 ? p->modes[d] - 1 : 0;
        exact->index[i] = (at[2] * p->modes[1] + at[1]) * p->modes[0] + at[0];
    }
}

static status make_exact(const bench_data *data, int type, int n, bench_exact *exact)
{
    bench_exact_free(exact);
    exact->n = n;
    exact->vector = malloc(sizeof *exact->vector * (size_t)n);
    exact->index = malloc(sizeof *exact->index * (size_t)n);
    exact->value = calloc(2 * (size_t)n, sizeof *exact->value);
    if (!exact->vector || !exact->index || !exact->value)
        FAIL(STATUS_RESOURCE, "out of host memory");
    choose(data, type, exact);
    return type == 1 ? sum_points(data, exact) : sum_modes(data, exact);
}

void bench_exact_free(bench_exact *exact)
{
    free(exact->vector);
    free(exact->index);
    free(exact->value);
    *exact = (bench_exact){.n = 0};
}

status bench_error(bench_data *data, int type, int n, const void *result, double *error)
{
    const bench_problem *p = &data->problem;
    bench_exact *exact = &data->exact[type - 1];
    bool real_out = type == 2 && p->real;
    int64_t each = type == 1 ? data->n_modes : p->n_points;
    double off = 0, norm = 0;
    if (exact->n != n && each > 0) TRY(make_exact(data, type, n, exact));
    for (int i = 0; i < exact->n; i++) {
        int64_t at = exact->vector[i] * each + exact->index[i];
        double re = exact->value[2 * i], im = real_out ? 0 : exact->value[2 * i + 1];
        double a = bench_number(result, p->precision, real_out ? at : 2 * at) - re;
        double b = real_out ? 0 : bench_number(result, p->precision, 2 * at + 1) - im;
        off += a * a + b * b;
        norm += re * re + im * im;
    }
    *error = off == 0 ? 0 : sqrt(off / norm);
    return STATUS_OK;
}
