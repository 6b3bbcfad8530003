#include "bench_nufft_data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double PI = 3.14159265358979323846;

const char *bench_points_name(bench_points kind)
{
    static const char *const names[BENCH_KINDS] = {"rand", "cluster", "ewald", "one-cell"};
    return (int)kind >= 0 && kind < BENCH_KINDS ? names[kind] : NULL;
}

bool bench_problem_same(const bench_problem *a, const bench_problem *b)
{
    for (int d = 0; d < 3; d++)
        if (a->modes[d] != b->modes[d]) return false;
    return a->dim == b->dim && a->n_points == b->n_points && a->points == b->points &&
           a->precision == b->precision && a->real == b->real && a->batch == b->batch &&
           a->sign == b->sign;
}

/* splitmix64, twice */
double bench_uniform(uint64_t seed, int64_t i)
{
    uint64_t z = (seed * 0x9e3779b97f4a7c15u) ^ ((uint64_t)i + 0x632be59bd9b4e019u);
    for (int round = 0; round < 2; round++) {
        z += 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        z ^= z >> 31;
    }
    return (double)(z >> 11) * 0x1p-53;
}

static void store(void *array, precision p, int64_t i, double value)
{
    if (p == PRECISION_SINGLE)
        ((float *)array)[i] = (float)value;
    else
        ((double *)array)[i] = value;
}

/* A uniformly random rotation (Shoemake 1992). */
static void random_rotation(int64_t i, double r[3][3])
{
    double u = bench_uniform(1, i), v = 2 * PI * bench_uniform(2, i),
           t = 2 * PI * bench_uniform(3, i);
    double x = sqrt(1 - u) * sin(v), y = sqrt(1 - u) * cos(v), z = sqrt(u) * sin(t),
           w = sqrt(u) * cos(t);
    const double matrix[3][3] = {
        {1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)},
        {2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)},
        {2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)}};
    memcpy(r, matrix, sizeof matrix);
}

/* The points of image i from point `begin` on; n x n pixels. */
static void make_image(bench_data *data, int64_t i, int64_t begin, int64_t n)
{
    const bench_problem *p = &data->problem;
    double most = PI * (1 - 1e-6), k = 3 * most, r[3][3];
    /* 2 k sin(theta/2) = most at the corner; tan(theta) = its distance from the centre. */
    double half = tan(2 * asin(most / (2 * k))) / sqrt(2.0);
    int64_t pixels = p->n_points - begin < n * n ? p->n_points - begin : n * n;
    random_rotation(i, r);
    for (int64_t j = 0; j < pixels; j++) {
        double u = half * (2.0 * (double)(j % n) / (double)(n - 1) - 1);
        double v = half * (2.0 * (double)(j / n) / (double)(n - 1) - 1);
        double length = sqrt(u * u + v * v + 1);
        double q[3] = {k * u / length, k * v / length, k * (1 / length - 1)};
        for (int d = 0; d < 3; d++)
            store(data->x[d], p->precision, begin + j,
                  r[d][0] * q[0] + r[d][1] * q[1] + r[d][2] * q[2]);
    }
}

static void make_ewald(bench_data *data)
{
    const bench_problem *p = &data->problem;
    int64_t n = p->modes[0] <= 41 ? 32 : 128, images = (p->n_points + n * n - 1) / (n * n);
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < images; i++)
        make_image(data, i, i * n * n, n);
}

static void make_boxed(bench_data *data, int d)
{
    const bench_problem *p = &data->problem;
    double cell = PI / (double)p->modes[d];
    double begin = p->points == BENCH_RANDOM ? -PI : p->points == BENCH_CLUSTER ? 0 : 0.1 * cell;
    double size = p->points == BENCH_RANDOM    ? 2 * PI
                  : p->points == BENCH_CLUSTER ? 8 * cell
                                               : 0.8 * cell;
#pragma omp parallel for schedule(static)
    for (int64_t j = 0; j < p->n_points; j++)
        store(data->x[d], p->precision, j, begin + size * bench_uniform(11 + (uint64_t)d, j));
}

static void fill(void *array, precision p, int64_t n, uint64_t seed)
{
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; i++)
        store(array, p, i, 2 * bench_uniform(seed, i) - 1);
}

status bench_data_make(const bench_problem *problem, bench_data *data)
{
    const bench_problem *p = problem;
    *data = (bench_data){.problem = *p, .n_modes = p->modes[0] * p->modes[1] * p->modes[2]};
    size_t size = real_size(p->precision);
    int64_t n_modes = 2 * data->n_modes * p->batch, n_values = bench_value_count(p) * p->batch;
    data->modes = malloc(size * (size_t)(n_modes + 1));
    data->values = malloc(size * (size_t)(n_values + 1));
    bool fits = data->modes && data->values;
    for (int d = 0; d < p->dim; d++) {
        data->x[d] = malloc(size * (size_t)(p->n_points + 1));
        fits = fits && data->x[d];
    }
    if (!fits) FAIL(STATUS_RESOURCE, "no memory for %lld points", (long long)p->n_points);
    if (p->points == BENCH_EWALD)
        make_ewald(data);
    else
        for (int d = 0; d < p->dim; d++)
            make_boxed(data, d);
    fill(data->modes, p->precision, n_modes, 22);
    fill(data->values, p->precision, n_values, 21);
    return STATUS_OK;
}

void bench_data_free(bench_data *data)
{
    for (int d = 0; d < 3; d++)
        free(data->x[d]);
    free(data->modes);
    free(data->values);
    for (int i = 0; i < 2; i++)
        bench_exact_free(&data->exact[i]);
    *data = (bench_data){.n_modes = 0};
}
