#include "bench_nufft_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static status add_case(bench_list *list, const bench_case *c)
{
    if (list->n == list->room) {
        int room = 2 * list->room + 16;
        bench_case *cases = realloc(list->cases, sizeof *cases * (size_t)room);
        if (!cases) FAIL(STATUS_RESOURCE, "out of host memory");
        list->cases = cases;
        list->room = room;
    }
    list->cases[list->n++] = *c;
    return STATUS_OK;
}

void bench_list_free(bench_list *list)
{
    free(list->cases);
    *list = (bench_list){.n = 0};
}

void bench_case_name(bench_case *c)
{
    const bench_problem *p = &c->problem;
    char batch[16] = "";
    if (p->batch > 1) snprintf(batch, sizeof batch, " x%d", p->batch);
    snprintf(c->name, sizeof c->name, "%st%d %s %g %dD N=%lld M=%.4g %s%s%s%s%s",
             c->prefix ? c->prefix : "", c->type,
             p->precision == PRECISION_SINGLE ? "single" : "double", c->tolerance, p->dim,
             (long long)p->modes[0], (double)p->n_points, bench_points_name(p->points),
             p->real ? " real" : "", batch, c->method ? " " : "",
             c->method ? nufft_method_name(c->method) : "");
}

void bench_case_scale(bench_case *c, double factor)
{
    bench_problem *p = &c->problem;
    double edge = pow(factor, 1.0 / p->dim);
    p->n_points = (int64_t)ceil(factor * (double)p->n_points);
    for (int d = 0; d < p->dim; d++)
        p->modes[d] = (int64_t)ceil(edge * (double)p->modes[d]);
    bench_case_name(c);
}

static bench_problem cube(int dim, int64_t n, int64_t n_points, bench_points points, precision p)
{
    return (bench_problem){.dim = dim,
                           .modes = {n, dim > 1 ? n : 1, dim > 2 ? n : 1},
                           .n_points = n_points,
                           .points = points,
                           .precision = p,
                           .batch = 1,
                           .sign = 1};
}

/* One or two cases of a list, of types 1 and 2. */
typedef struct row {
    const char *prefix;
    int dim, n;
    int64_t n_points;
    int precision;
    double tolerance;
    int points;
    int batch; /* negative: so many real vectors */
    int types; /* T1, T2 or both */
    int judged;
    double goal[2][4]; /* of either type: peer, must, aim, paper */
} row;

enum {
    SINGLE = PRECISION_SINGLE,
    DOUBLE = PRECISION_DOUBLE,
    RAND = BENCH_RANDOM,
    CLUSTER = BENCH_CLUSTER,
    EWALD = BENCH_EWALD,
    CELL = BENCH_ONE_CELL,
    EXEC = BENCH_EXEC,
    SET = BENCH_SET,
    COPIES = BENCH_COPIES,
    T1 = 1,
    T2 = 2
};

/* Rows of the same points follow one another, so that they are made once. */
/* clang-format off */
static const row SUITE[] = {
    {"merging ", 3, 81, 16384000, DOUBLE, 1e-12, EWALD, 1, T1, EXEC, {{114.5, 7, 4.8}}},
    {"set_points ", 3, 81, 16384000, DOUBLE, 1e-12, EWALD, 1, T1, SET, {{1.2, 1.3, 0.7}}},
    {"", 3, 81, 16384000, DOUBLE, 1e-6, EWALD, 1, T1 + T2, EXEC, {{21.8, 3.5, 2}, {8.9, 4, 2}}},
    {"merging ", 3, 81, 16384000, DOUBLE, 1e-12, EWALD, -1, T1, EXEC, {{114.5, 4.2, 2.8}}},
    {"merging ", 3, 81, 16384000, DOUBLE, 1e-12, EWALD, -2, T1, EXEC, {{229, 7.5, 5}}},
    {"merging ", 3, 81, 16384000, DOUBLE, 1e-12, RAND, 1, T1, EXEC, {{117}}},
    {"", 3, 81, 16384000, DOUBLE, 1e-6, RAND, 1, T1, EXEC, {{21.8}}},
    {"merging ", 3, 81, 16384000, DOUBLE, 1e-12, CLUSTER, 1, T1, EXEC, {{114.5}}},
    {"", 3, 81, 16384000, DOUBLE, 1e-6, CLUSTER, 1, T1, EXEC, {{21.8}}},
    {"slicing ", 3, 41, 1024000, DOUBLE, 1e-12, EWALD, 1, T2, EXEC, {{0}, {3.70, 0.7, 0.36}}},
    {"slicing ", 3, 41, 1024000, DOUBLE, 1e-12, EWALD, -1, T2, EXEC, {{0}, {3.70, 0.45, 0.22}}},
    {"", 3, 100, 10000000, DOUBLE, 1e-12, RAND, 1, T1 + T2, EXEC, {{71.8, 7, 4.5}, {34, 7, 4}}},
    {"", 3, 100, 10000000, DOUBLE, 1e-12, CLUSTER, 1, T1, EXEC, {{69.9}}},
    {"", 3, 100, 10000000, SINGLE, 1e-5, RAND, 1, T1 + T2, EXEC, {{5.72, 2, 1}, {2.92, 1.5, 0.8}}},
    {"", 3, 100, 10000000, SINGLE, 1e-5, CLUSTER, 1, T1, EXEC, {{5.62}}},
    {"", 3, 256, 134217728, SINGLE, 1e-5, RAND, 1, T1 + T2, EXEC, {{76.7, 25, 12}, {39.6, 20, 10}}},
    {"set_points ", 3, 256, 134217728, SINGLE, 1e-5, RAND, 1, T1, SET, {{6, 7, 4}}},
    {"", 3, 256, 134217728, SINGLE, 1e-6, RAND, 1, T1 + T2, EXEC, {{0}, {0}}},
    {"", 3, 256, 134217728, SINGLE, 1e-5, CLUSTER, 1, T1, EXEC, {{72.9}}},
    {"", 3, 256, 134217728, SINGLE, 1e-5, CELL, 1, T1, EXEC, {{0}}},
    {"set_points ", 3, 256, 134217728, SINGLE, 1e-5, CELL, 1, T1, SET, {{104, 14, 6}}},
    {"", 3, 128, 40000000, SINGLE, 1e-4, EWALD, 1, T1 + T2, EXEC, {{12.4, 5, 2.5}, {6.8, 4, 2.5}}},
    {"", 3, 128, 40000000, SINGLE, 1e-4, RAND, 1, T1, EXEC, {{13}}},
    {"", 3, 128, 40000000, SINGLE, 1e-4, CLUSTER, 1, T1, EXEC, {{12.2}}},
    {"", 2, 1000, 10000000, SINGLE, 1e-5, RAND, 1, T1 + T2, EXEC, {{1.32, 0.9, 0.6}, {1.09, 0.7, 0.5}}},
    {"", 2, 1000, 10000000, SINGLE, 1e-5, CLUSTER, 1, T1, EXEC, {{1.29}}},
    {"", 3, 64, 1000000, SINGLE, 1e-5, RAND, 10, T1 + T2, EXEC, {{6.84, 2.5, 1.2}, {3.6, 2, 1}}},
    {"", 3, 64, 1000000, SINGLE, 1e-5, CLUSTER, 10, T1, EXEC, {{0}}},
};

static const row TABLE2[] = {
    {"slicing ", 3, 41, 1024000, DOUBLE, 1e-12, EWALD, 1, T2, COPIES, {{0}, {0, 0, 0, 75}}},
    {"slicing ", 3, 41, 1024000, DOUBLE, 1e-12, EWALD, -1, T2, COPIES, {{0}, {0, 0, 0, 75}}},
    {"merging ", 3, 81, 16384000, DOUBLE, 1e-12, EWALD, 1, T1, COPIES, {{0, 0, 0, 1800}}},
    {"merging ", 3, 81, 16384000, DOUBLE, 1e-12, EWALD, -1, T1, COPIES, {{0, 0, 0, 1800}}},
    {"merging ", 3, 81, 16384000, DOUBLE, 1e-12, EWALD, -2, T1, COPIES, {{0, 0, 0, 3600}}},
};
/* clang-format on */

/* The number, from 1, of the case with random points that is like c otherwise; 0: none. */
static int find_random(const bench_list *list, const bench_case *c)
{
    bench_problem p = c->problem;
    p.points = BENCH_RANDOM;
    for (int i = 0; i < list->n; i++) {
        const bench_case *other = &list->cases[i];
        if (bench_problem_same(&other->problem, &p) && other->type == c->type &&
            other->tolerance == c->tolerance && other->judged == c->judged)
            return i + 1;
    }
    return 0;
}

static status add_rows(bench_list *list, int n, const row *rows)
{
    for (int i = 0; i < 2 * n; i++) {
        const row *r = &rows[i / 2];
        int type = i % 2 + 1;
        if (!(r->types & type)) continue;
        const double *goal = r->goal[type - 1];
        bench_case c = {.prefix = r->prefix,
                        .problem = cube(r->dim, r->n, r->n_points, (bench_points)r->points,
                                        (precision)r->precision),
                        .type = type,
                        .tolerance = r->tolerance,
                        .judged = (bench_judged)r->judged,
                        .goal = {goal[0], goal[1], goal[2], goal[3]}};
        c.problem.real = r->batch < 0;
        c.problem.batch = abs(r->batch);
        bench_case_name(&c);
        if (r->points == BENCH_CLUSTER && type == 1) c.beside = find_random(list, &c);
        TRY(add_case(list, &c));
    }
    return STATUS_OK;
}

status bench_suite(bench_list *list)
{
    return add_rows(list, (int)(sizeof SUITE / sizeof SUITE[0]), SUITE);
}

status bench_table2(bench_list *list)
{
    return add_rows(list, (int)(sizeof TABLE2 / sizeof TABLE2[0]), TABLE2);
}

/* Both types of a problem at each of the tolerances, by every method. */
static status add_methods(bench_list *list, const char *section, bench_problem problem, int n,
                          const double *tolerances)
{
    for (int i = 0; i < 2 * n * NUFFT_METHODS; i++) {
        bench_case c = {.prefix = section,
                        .problem = problem,
                        .type = i / (n * NUFFT_METHODS) + 1,
                        .tolerance = tolerances[i / NUFFT_METHODS % n],
                        .method = (nufft_method)(i % NUFFT_METHODS),
                        .brief = true};
        if (c.type == 2 && c.method == NUFFT_SM) continue; /* is GM-sort */
        bench_case_name(&c);
        TRY(add_case(list, &c));
    }
    return STATUS_OK;
}

static const double LOW_AND_HIGH[] = {1e-2, 1e-5};
static const double SINGLES[] = {1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6};
static const double DOUBLES[] = {1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12, 1e-14};

/* rho points per cell of a fine grid of 2 N, random and clustered, in single precision, at 1e-5 or
   (both) at 1e-2 as well. */
static status add_density(bench_list *list, const char *section, int dim, int64_t n, double rho,
                          bool both)
{
    int64_t n_points = (int64_t)(rho * pow(2.0 * (double)n, dim));
    for (int k = 0; k < 2; k++) {
        bench_points points = k ? BENCH_CLUSTER : BENCH_RANDOM;
        TRY(add_methods(list, section, cube(dim, n, n_points, points, PRECISION_SINGLE),
                        both ? 2 : 1, both ? LOW_AND_HIGH : LOW_AND_HIGH + 1));
    }
    return STATUS_OK;
}

static status add_tolerances(bench_list *list, int dim, int64_t n)
{
    bench_problem p = cube(dim, n, 10000000, BENCH_RANDOM, PRECISION_SINGLE);
    TRY(add_methods(list, "tolerance ", p, sizeof SINGLES / sizeof SINGLES[0], SINGLES));
    p.precision = PRECISION_DOUBLE;
    return add_methods(list, "tolerance ", p, sizeof DOUBLES / sizeof DOUBLES[0], DOUBLES);
}

status bench_study(bench_list *list)
{
    TRY(add_density(list, "table1 ", 3, 32, 1, true));
    TRY(add_density(list, "table1 ", 3, 256, 1, true));
    for (int64_t n = 64; n <= 2048; n *= 2)
        TRY(add_density(list, "size ", 2, n, 1, false));
    for (int64_t n = 16; n <= 128; n *= 2)
        TRY(add_density(list, "size ", 3, n, 1, false));
    for (int k = -1; k <= 1; k++) {
        TRY(add_density(list, "density ", 2, 1000, pow(10, k), false));
        TRY(add_density(list, "density ", 3, 64, pow(10, k), false));
    }
    TRY(add_tolerances(list, 2, 1000));
    return add_tolerances(list, 3, 100);
}
