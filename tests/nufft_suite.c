#include "nufft_suite.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nufft_case.h"

/* cmocka passes each test one pointer that it may write to; the device stands behind it. */
static const device *device_of(void **state)
{
    return *(const device *const *)*state;
}

#define CASE(d, nx, ny, nz, n, kind, ...) \
    (nufft_case)                          \
    {                                     \
        d, {nx, ny, nz}, n, kind,         \
        {                                 \
            __VA_ARGS__                   \
        }                                 \
    }

/* Every tolerance from 0.1 down to lowest, all dimensions, paths and signs in turn. */
static void sweep_tolerances(const device *dev, precision p, double upsampling, double lowest)
{
    const int64_t modes[3][3] = {{1000, 1, 1}, {61, 40, 1}, {16, 17, 21}};
    int round = 0;
    for (int dim = 1; dim <= 3; dim++)
        for (double tolerance = 0.1; tolerance > 0.9 * lowest; tolerance /= 10)
            for (int path = 0; path < 2; path++, round++) {
                nufft_case c = CASE(dim, modes[dim - 1][0], modes[dim - 1][1], modes[dim - 1][2],
                                    400, POINTS_RANDOM, .precision = p, .tolerance = tolerance,
                                    .upsampling = upsampling);
                c.options.real = path;
                c.options.sign = round % 3 == 0 ? -1 : 1;
                case_check(dev, &c, tolerance);
            }
}

static void reaches_every_tolerance_in_double(void **state)
{
    sweep_tolerances(device_of(state), PRECISION_DOUBLE, 2, 1e-13);
}

static void reaches_every_tolerance_in_single(void **state)
{
    sweep_tolerances(device_of(state), PRECISION_SINGLE, 2, 1e-6);
}

static void reaches_1e_8_in_double_on_a_small_grid(void **state)
{
    sweep_tolerances(device_of(state), PRECISION_DOUBLE, 1.25, 1e-8);
}

static void reaches_1e_4_in_single_on_a_small_grid(void **state)
{
    sweep_tolerances(device_of(state), PRECISION_SINGLE, 1.25, 1e-4);
}

static void handles_every_size(void **state)
{
    const int64_t sizes[] = {1, 2, 3, 16, 17, 31, 41, 61, 62, 63, 64, 81, 100};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int k = 0; k < 8; k++) {
            precision p = k % 2 ? PRECISION_DOUBLE : PRECISION_SINGLE;
            int64_t n = sizes[i], other = sizes[(i + 5) % (sizeof sizes / sizeof *sizes)];
            double tolerance = p == PRECISION_DOUBLE ? 1e-10 : 1e-5;
            nufft_case c = CASE(1, n, 1, 1, 100, POINTS_RANDOM, .precision = p,
                                .tolerance = tolerance, .sign = k & 4 ? -1 : 1);
            c.options.real = k / 2 % 2;
            case_check(device_of(state), &c, tolerance);
            c.dim = 2;
            c.modes[1] = other;
            case_check(device_of(state), &c, tolerance);
        }
}

static void handles_every_size_in_3d(void **state)
{
    const int64_t sizes[] = {1, 2, 3, 16, 17, 31, 41, 61, 62, 63, 64};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int64_t n = sizes[i];
        double tolerance = i % 2 ? 1e-4 : 1e-9;
        nufft_case c =
            CASE(3, n, n, n, 50, POINTS_RANDOM,
                 .precision = i % 2 ? PRECISION_SINGLE : PRECISION_DOUBLE, .tolerance = tolerance);
        c.options.real = i % 3 == 0;
        case_check(device_of(state), &c, tolerance);
        nufft_case box = CASE(3, n, 3 + n / 7, 16, 50, POINTS_RANDOM, .precision = PRECISION_DOUBLE,
                              .tolerance = 1e-11);
        box.options.real = i % 2;
        case_check(device_of(state), &box, 1e-11);
        nufft_case plate =
            CASE(3, 17, 2, n, 50, POINTS_RANDOM, .precision = PRECISION_SINGLE, .tolerance = 1e-5);
        plate.options.real = !box.options.real;
        case_check(device_of(state), &plate, 1e-5);
    }
}

static void handles_81_and_100_cubed(void **state)
{
    nufft_case c =
        CASE(3, 81, 81, 81, 40, POINTS_EWALD, .precision = PRECISION_SINGLE, .tolerance = 1e-4);
    case_check(device_of(state), &c, 1e-4);
    c.modes[0] = c.modes[1] = c.modes[2] = 100;
    c.options.real = true;
    case_check(device_of(state), &c, 1e-4);
}

/* Where all points agree in their position within the cell, the errors of the dimensions add up
   instead of averaging: a factor of sqrt(dim) at most. */
static double coherent(const nufft_case *c)
{
    bool agree = c->points == POINTS_CELL || c->points == POINTS_EQUAL ||
                 c->points == POINTS_ON_GRID || c->points == POINTS_EDGES;
    return agree ? sqrt(c->dim) : 1;
}

static void handles_every_kind_of_points(void **state)
{
    for (int kind = 0; kind < POINTS_KINDS; kind++)
        for (int dim = 1; dim <= 3; dim++)
            for (int k = 0; k < 4; k++) {
                precision p = k % 2 ? PRECISION_DOUBLE : PRECISION_SINGLE;
                double tolerance = p == PRECISION_DOUBLE ? 1e-12 : 1e-5;
                nufft_case c = CASE(dim, 24, 21, 18, 500, (case_points)kind, .precision = p,
                                    .tolerance = tolerance);
                c.options.real = k / 2;
                case_check(device_of(state), &c, coherent(&c) * tolerance);
            }
}

static void handles_more_points_than_a_tile_holds(void **state)
{
    for (int kind = 0; kind < POINTS_KINDS; kind += POINTS_EQUAL) {
        nufft_case line = CASE(1, 3001, 1, 1, 20000, (case_points)kind,
                               .precision = PRECISION_DOUBLE, .tolerance = 1e-9);
        nufft_case area = CASE(2, 150, 131, 1, 9000, (case_points)kind,
                               .precision = PRECISION_DOUBLE, .tolerance = 1e-7);
        nufft_case box = CASE(3, 21, 20, 23, 30000, (case_points)kind,
                              .precision = PRECISION_SINGLE, .tolerance = 1e-4);
        area.options.real = true;
        case_check(device_of(state), &line, coherent(&line) * 1e-9);
        case_check(device_of(state), &area, coherent(&area) * 1e-7);
        if (kind == POINTS_EQUAL) box.n_points = 10000;
        case_check(device_of(state), &box, coherent(&box) * 1e-4);
    }
}

static void single_precision_does_not_lose_digits_with_size(void **state)
{
    const int64_t sizes[] = {64, 256, 1024, 4096};
    for (int i = 0; i < 4; i++) {
        nufft_case c = CASE(1, sizes[i], 1, 1, 500, POINTS_RANDOM, .precision = PRECISION_SINGLE,
                            .tolerance = 1e-6);
        case_check(device_of(state), &c, 1e-6);
    }
    nufft_case plane =
        CASE(2, 256, 256, 1, 300, POINTS_RANDOM, .precision = PRECISION_SINGLE, .tolerance = 1e-6);
    case_check(device_of(state), &plane, 1e-6);
    nufft_case box =
        CASE(3, 256, 16, 16, 300, POINTS_RANDOM, .precision = PRECISION_SINGLE, .tolerance = 1e-6);
    case_check(device_of(state), &box, 1e-6);
}

static void handles_no_point_and_one_point(void **state)
{
    for (int dim = 1; dim <= 3; dim++)
        for (int k = 0; k < 4; k++) {
            precision p = k % 2 ? PRECISION_DOUBLE : PRECISION_SINGLE;
            nufft_case c = CASE(dim, 12, 9, 10, 0, POINTS_RANDOM, .precision = p, .tolerance = 1e-5,
                                .real = k / 2);
            case_check(device_of(state), &c, 0);
            c.n_points = 1;
            case_check(device_of(state), &c, coherent(&c) * 2e-5);
        }
}

static void the_adjoint_is_the_adjoint(void **state)
{
    for (int k = 0; k < 48; k++) {
        precision p = k % 2 ? PRECISION_DOUBLE : PRECISION_SINGLE;
        double upsampling = k / 2 % 2 ? 2 : 1.25;
        double tolerance = p == PRECISION_SINGLE ? 1e-4 : upsampling == 2 ? 1e-12 : 1e-8;
        double bound = p == PRECISION_SINGLE ? (upsampling == 2 ? 1e-5 : 1e-4)
                                             : (upsampling == 2 ? 1e-13 : 1e-9);
        nufft_case c = CASE(k / 16 + 1, 30, 21, 16, 700, POINTS_RANDOM, .precision = p,
                            .tolerance = tolerance, .upsampling = upsampling,
                            .sign = k / 4 % 2 ? -1 : 1, .real = k / 8 % 2, .batch = 2);
        case_errors e = case_run(device_of(state), &c);
        if (!(e.adjointness <= bound))
            fail_msg("case %d: <Ax,y> and <x,A^H y> differ by %.3g, bound %.3g", k, e.adjointness,
                     bound);
    }
}

static void transforms_batches(void **state)
{
    for (int k = 0; k < 12; k++) {
        precision p = k % 2 ? PRECISION_DOUBLE : PRECISION_SINGLE;
        double tolerance = p == PRECISION_DOUBLE ? 1e-11 : 1e-4;
        const int batches[] = {2, 3, 7};
        nufft_case c =
            CASE(k % 3 + 1, 15, 20, 9, 300, POINTS_RANDOM, .precision = p, .tolerance = tolerance,
                 .sign = 1, .real = k / 2 % 2, .batch = batches[k / 4]);
        case_check(device_of(state), &c, tolerance);
    }
}

static void takes_points_again(void **state)
{
    const int64_t counts[] = {10, 5000, 0, 1, 300, 20000, 7};
    const device *dev = device_of(state);
    nufft_case c =
        CASE(3, 14, 12, 13, 0, POINTS_RANDOM, .precision = PRECISION_DOUBLE, .tolerance = 1e-9);
    nufft *plan = case_plan(dev, &c);
    for (int i = 0; i < 7; i++) {
        c.n_points = counts[i];
        c.points = i % 2 ? POINTS_EWALD : POINTS_RANDOM;
        case_data d;
        case_data_make(&c, 99 + (uint64_t)i, &d);
        case_set_points(dev, &c, &d, plan);
        double *adjoint = case_adjoint(dev, &c, &d, plan);
        double *forward = case_forward(dev, &c, &d, plan);
        nufft *fresh = case_plan(dev, &c);
        case_set_points(dev, &c, &d, fresh);
        double *other = case_adjoint(dev, &c, &d, fresh);
        double *another = case_forward(dev, &c, &d, fresh);
        assert_true(relative_error(adjoint, other, d.n_modes, 0) <= 1e-14);
        assert_true(relative_error(forward, another, d.n_points, 0) <= 1e-14);
        nufft_destroy(fresh);
        free(adjoint), free(forward), free(other), free(another);
        case_data_free(&d);
    }
    nufft_destroy(plan);
}

static void no_number_in_the_way_reads_out_of_range(void **state)
{
    const device *dev = device_of(state);
    const double bad[] = {NAN, INFINITY, -INFINITY, 1e300, -1e300};
    for (int k = 0; k < 20; k++) {
        nufft_case c = CASE(k % 3 + 1, 9, 10, 11, 40, POINTS_RANDOM, .precision = PRECISION_DOUBLE,
                            .tolerance = 1e-6, .real = k / 10);
        case_data d;
        case_data_make(&c, 5, &d);
        d.x[k % c.dim][17] = bad[k % 5];
        nufft *plan = case_plan(dev, &c);
        case_set_points(dev, &c, &d, plan);
        double *forward = case_forward(dev, &c, &d, plan);
        double *adjoint = case_adjoint(dev, &c, &d, plan);
        bool finite = isfinite(bad[k % 5]);
        for (int64_t j = 0; j < d.n_points; j++)
            assert_true(isnan(forward[2 * j]) == (j == 17 && !finite));
        for (int64_t i = 0; i < 2 * d.n_modes; i++)
            assert_true(isnan(adjoint[i]) == !finite);
        free(forward), free(adjoint);
        nufft_destroy(plan);
        case_data_free(&d);
    }
}

static void bad_strengths_give_nan(void **state)
{
    const device *dev = device_of(state);
    const double bad[] = {NAN, INFINITY, -INFINITY};
    for (int k = 0; k < 12; k++) {
        precision p = k % 2 ? PRECISION_DOUBLE : PRECISION_SINGLE;
        nufft_case c = CASE(k % 3 + 1, 9, 10, 11, 40, POINTS_RANDOM, .precision = p,
                            .tolerance = 1e-4, .real = k / 6, .batch = 2);
        case_data d;
        case_data_make(&c, 5, &d);
        d.values[2 * 23] = bad[k % 3]; /* of the first vector: the second stays as it is */
        nufft *plan = case_plan(dev, &c);
        case_set_points(dev, &c, &d, plan);
        double *adjoint = case_adjoint(dev, &c, &d, plan);
        for (int64_t i = 0; i < 2 * d.n_modes; i++)
            assert_true(isnan(adjoint[i]) && !isnan(adjoint[2 * d.n_modes + i]));
        free(adjoint);
        nufft_destroy(plan);
        case_data_free(&d);
    }
}

static void takes_strengths_near_the_largest_number(void **state)
{
    const device *dev = device_of(state);
    nufft_case c =
        CASE(2, 12, 13, 1, 50, POINTS_RANDOM, .precision = PRECISION_SINGLE, .tolerance = 1e-5);
    case_data d;
    case_data_make(&c, 6, &d);
    for (int64_t i = 0; i < 2 * d.n_points; i++)
        d.values[i] = (double)(float)(d.values[i] * FLT_MAX / 500);
    nufft *plan = case_plan(dev, &c);
    case_set_points(dev, &c, &d, plan);
    double *adjoint = case_adjoint(dev, &c, &d, plan);
    for (int64_t i = 0; i < 2 * d.n_modes; i++)
        assert_true(isfinite(adjoint[i]));
    free(adjoint);
    nufft_destroy(plan);
    case_data_free(&d);
}

static void two_plans_run_in_two_threads(void **state)
{
    const device *dev = device_of(state);
    case_errors e[4];
#pragma omp parallel for num_threads(2) schedule(static, 1)
    for (int i = 0; i < 4; i++) {
        nufft_case c = CASE(2, 30 + i, 40, 1, 2000, POINTS_RANDOM, .precision = PRECISION_DOUBLE,
                            .tolerance = 1e-9);
        e[i] = case_run(dev, &c);
    }
    for (int i = 0; i < 4; i++)
        assert_true(e[i].forward <= 1e-9 && e[i].adjoint <= 1e-9);
}

static void refuses_bad_arguments(void **state)
{
    const device *dev = device_of(state);
    const int64_t modes[3] = {10, 10, 10}, none[3] = {10, 0, 10};
    const int64_t huge[3] = {INT64_MAX, 4, 4}, large[3] = {200000, 200000, 200000};
    const nufft_options good = {.precision = PRECISION_DOUBLE, .tolerance = 1e-6};
    nufft_options o[] = {good, good, good, good, good, good, good};
    o[0].tolerance = 0;
    o[1].tolerance = NAN;
    o[2].upsampling = 3;
    o[3].sign = 2;
    o[4].batch = -1;
    o[5].upsampling = 1.25, o[5].tolerance = 1e-9;
    o[6].upsampling = 1.25, o[6].tolerance = 1e-5, o[6].precision = PRECISION_SINGLE;
    nufft *plan;
    for (int i = 0; i < 7; i++) {
        assert_int_equal(nufft_create(dev, 3, modes, &o[i], &plan), STATUS_INVALID);
        assert_null(plan);
    }
    assert_int_equal(nufft_create(dev, 0, modes, &good, &plan), STATUS_INVALID);
    assert_int_equal(nufft_create(dev, 4, modes, &good, &plan), STATUS_INVALID);
    assert_int_equal(nufft_create(dev, 3, none, &good, &plan), STATUS_INVALID);
    assert_int_equal(nufft_create(dev, 3, huge, &good, &plan), STATUS_RESOURCE);
    assert_int_equal(nufft_create(dev, 3, large, &good, &plan), STATUS_RESOURCE);
    nufft_destroy(NULL);
    const void *x[3] = {NULL, NULL, NULL};
    assert_int_equal(nufft_create(dev, 3, modes, &good, &plan), STATUS_OK);
    assert_int_equal(nufft_set_points(plan, -1, x), STATUS_INVALID);
    assert_int_equal(nufft_set_points(plan, INT64_MAX, x), STATUS_RESOURCE);
    nufft_destroy(plan);
}

static void chooses_the_larger_grid_by_itself(void **state)
{
    const int64_t modes[3] = {20, 20, 20};
    nufft_options o = {.precision = PRECISION_SINGLE, .tolerance = 1e-6};
    nufft *plan;
    nufft_info info;
    assert_int_equal(nufft_create(device_of(state), 3, modes, &o, &plan), STATUS_OK);
    nufft_get_info(plan, &info);
    assert_true(info.upsampling == 2 && info.expected <= 1e-6);
    nufft_destroy(plan);
    o.tolerance = 1e-15; /* served as well as possible */
    assert_int_equal(nufft_create(device_of(state), 3, modes, &o, &plan), STATUS_OK);
    nufft_get_info(plan, &info);
    assert_true(info.expected > 1e-8 && info.expected < 1e-6);
    nufft_destroy(plan);
}

/* Every stage of what was called has taken time, and no other; nothing is taken unasked. */
static void times_the_stages_that_run(void **state)
{
    const device *dev = device_of(state);
    const nufft_case c = {
        3, {12, 10, 8}, 500, POINTS_RANDOM, {.precision = PRECISION_DOUBLE, .tolerance = 1e-6}};
    case_data d;
    nufft_times t;
    case_data_make(&c, 1, &d);
    nufft *plan = case_plan(dev, &c);
    case_set_points(dev, &c, &d, plan);
    free(case_adjoint(dev, &c, &d, plan));
    assert_int_equal(nufft_get_times(plan, &t), STATUS_OK);
    assert_true(t.set_points + t.spread + t.interpolate + t.fft + t.deconvolve == 0);
    nufft_time_stages(plan, true);
    free(case_adjoint(dev, &c, &d, plan));
    assert_int_equal(nufft_get_times(plan, &t), STATUS_OK);
    assert_true(t.spread > 0 && t.fft > 0 && t.deconvolve > 0);
    assert_true(t.set_points == 0 && t.interpolate == 0);
    nufft_time_stages(plan, true);
    case_set_points(dev, &c, &d, plan);
    free(case_forward(dev, &c, &d, plan));
    assert_int_equal(nufft_get_times(plan, &t), STATUS_OK);
    assert_true(t.set_points > 0 && t.interpolate > 0 && t.fft > 0 && t.deconvolve > 0);
    assert_true(t.spread == 0);
    nufft_destroy(plan);
    case_data_free(&d);
}

int nufft_suite(const device *dev, const char *name)
{
    const device *behind = dev;
    const struct CMUnitTest tests[] = {
#define TEST(function) cmocka_unit_test_prestate(function, &behind)
        TEST(refuses_bad_arguments),
        TEST(chooses_the_larger_grid_by_itself),
        TEST(handles_no_point_and_one_point),
        TEST(reaches_every_tolerance_in_double),
        TEST(reaches_every_tolerance_in_single),
        TEST(reaches_1e_8_in_double_on_a_small_grid),
        TEST(reaches_1e_4_in_single_on_a_small_grid),
        TEST(handles_every_size),
        TEST(handles_every_size_in_3d),
        TEST(handles_81_and_100_cubed),
        TEST(handles_every_kind_of_points),
        TEST(handles_more_points_than_a_tile_holds),
        TEST(single_precision_does_not_lose_digits_with_size),
        TEST(the_adjoint_is_the_adjoint),
        TEST(transforms_batches),
        TEST(takes_points_again),
        TEST(no_number_in_the_way_reads_out_of_range),
        TEST(bad_strengths_give_nan),
        TEST(takes_strengths_near_the_largest_number),
        TEST(two_plans_run_in_two_threads),
        TEST(times_the_stages_that_run),
#undef TEST
    };
    return cmocka_run_group_tests_name(name, tests, NULL, NULL) ? 1 : 0;
}
