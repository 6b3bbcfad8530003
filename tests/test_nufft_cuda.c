/* test_nufft_cuda.c: the suite of the NUFFT on a GPU, with every method, and what only a GPU can
   get wrong.  Usage: test_nufft_cuda [METHOD|gpu]..., all of them without arguments.  Without a GPU it
   is skipped visibly (77), which MTIP_REQUIRE_GPU=1 forbids. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nufft_case.h"
#include "nufft_suite.h"

enum { SKIPPED = 77 };

static const device *device_of(void **state)
{
    return *(const device *const *)*state;
}

/* What nufft.h says of the methods, and the widths there are kernels of. */
static bool fits(nufft_method method, const nufft_case *c, int width)
{
    bool is_double = c->options.precision == PRECISION_DOUBLE;
    if (method == NUFFT_TENSOR) return c->dim == 3 && is_double && width >= 4;
    if (method == NUFFT_TILE)
        return c->dim == 3 ? width <= 8 : c->dim == 2 && (is_double || width <= 8);
    return method != NUFFT_SM || c->dim > 1;
}

static void every_method_reaches_the_tolerance(void **state)
{
    for (int method = NUFFT_GM; method < NUFFT_METHODS; method++)
        for (int k = 0; k < 48; k++) {
            precision p = k % 2 ? PRECISION_DOUBLE : PRECISION_SINGLE;
            const double tolerances[2][4] = {{1e-2, 1e-4, 1e-5, 1e-6}, {1e-5, 1e-8, 1e-10, 1e-12}};
            double tolerance = tolerances[k % 2][k / 4 % 4];
            nufft_case c = {
                k / 16 + 1,
                {40, 33, 26},
                3000,
                k % 3 ? POINTS_RANDOM : POINTS_EWALD,
                {.precision = p, .tolerance = tolerance, .real = k / 2 % 2, .batch = 1 + k % 3}};
            if (c.dim == 3) c.n_points = 1500, c.modes[0] = 20;
            nufft *plan = case_plan(device_of(state), &c);
            nufft_info info;
            nufft_get_info(plan, &info);
            nufft_destroy(plan);
            c.options.method = (nufft_method)method;
            if (fits(c.options.method, &c, info.width)) {
                case_check(device_of(state), &c, tolerance);
            } else {
                status refused = nufft_create(device_of(state), c.dim, c.modes, &c.options, &plan);
                assert_int_equal(refused, STATUS_UNSUPPORTED);
                assert_null(plan);
            }
        }
}

/* Widths 2 to 16 of the wide kernels, on few and on many slots. */
static void every_width_of_the_3d_kernels_is_right(void **state)
{
    for (int digits = 1; digits <= 14; digits++)
        for (int k = 0; k < 4; k++) {
            double tolerance = pow(10, -digits);
            nufft_case c = {3,
                            {18, 15, 22},
                            k / 2 ? 9000 : 5,
                            POINTS_RANDOM,
                            {.precision = PRECISION_DOUBLE, .tolerance = tolerance, .real = k % 2}};
            double bound = tolerance < 1e-13 ? 5e-14 : tolerance;
            case_check(device_of(state), &c, k / 2 ? bound : 3 * bound);
        }
}

/* Real vectors that travel in pairs: all come out right, and a bad one does not harm the other. */
static void pairs_of_real_vectors_stay_apart(void **state)
{
    const device *dev = device_of(state);
    for (int batch = 1; batch <= 5; batch++) {
        nufft_case c = {3,
                        {18, 21, 20},
                        2000,
                        POINTS_EWALD,
                        {.precision = PRECISION_DOUBLE,
                         .tolerance = 1e-11,
                         .sign = batch % 2 ? 1 : -1,
                         .real = true,
                         .batch = batch}};
        case_check(dev, &c, 1e-11);
        case_data d;
        case_data_make(&c, 5, &d);
        int bad = batch / 2;
        d.values[2 * (bad * d.n_points + 23)] = NAN;
        nufft *plan = case_plan(dev, &c);
        case_set_points(dev, &c, &d, plan);
        double *adjoint = case_adjoint(dev, &c, &d, plan);
        for (int64_t i = 0; i < 2 * d.n_modes * batch; i++)
            assert_true(isnan(adjoint[i]) == (i / (2 * d.n_modes) == bad));
        free(adjoint);
        nufft_destroy(plan);
        case_data_free(&d);
    }
    nufft_case large = {
        3, /* transforms of the planes that matter only, +-N/2 among them */
        {80, 64, 80},
        30,
        POINTS_RANDOM,
        {.precision = PRECISION_DOUBLE, .tolerance = 1e-11, .real = true, .batch = 2}};
    case_check(dev, &large, 1e-11);
}

/* The same plan again, its points set again, and another plan: all give the same bits. */
static void check_bits(const device *dev, const nufft_case *c)
{
    case_data d;
    case_data_make(c, 11, &d);
    size_t bytes = sizeof(double) * 2 * (size_t)(d.n_modes * d.batch);
    nufft *plans[2] = {case_plan(dev, c), case_plan(dev, c)};
    double *first = NULL;
    for (int i = 0; i < 6; i++) {
        if (i % 2 == 0) case_set_points(dev, c, &d, plans[i / 3]);
        if (i == 3) case_set_points(dev, c, &d, plans[1]);
        double *again = case_adjoint(dev, c, &d, plans[i / 3]);
        if (first && memcmp(first, again, bytes) != 0)
            fail_msg("%dD, tolerance %g, points of kind %d: other bits in run %d", c->dim,
                     c->options.tolerance, (int)c->points, i);
        if (first) free(again);
        if (!first) first = again;
    }
    free(first);
    nufft_destroy(plans[0]), nufft_destroy(plans[1]);
    case_data_free(&d);
}

static void a_deterministic_plan_gives_the_same_bits(void **state)
{
    const device *dev = device_of(state);
    const case_points kinds[] = {POINTS_RANDOM, POINTS_EWALD, POINTS_CELL};
    for (int k = 0; k < 24; k++) {
        bool is_double = k % 2;
        double tolerance = is_double ? (k % 4 == 1 ? 1e-12 : 1e-6) : (k % 4 ? 1e-4 : 1e-6);
        nufft_case c = {k / 8 + 1,
                        {k < 8 ? 5000 : 60, 50, 40},
                        100000,
                        kinds[k % 3],
                        {.precision = is_double ? PRECISION_DOUBLE : PRECISION_SINGLE,
                         .tolerance = tolerance,
                         .real = k / 2 % 2,
                         .batch = 1 + k / 4 % 2,
                         .deterministic = true}};
        check_bits(dev, &c);
        c.n_points = 400;
        c.modes[0] = c.modes[1] = c.modes[2] = 20;
        case_check(dev, &c, (c.points == POINTS_CELL ? 2 : 1) * tolerance);
        c.options.method = k % 3 ? NUFFT_GM : NUFFT_GM_SORT;
        c.n_points = 20000;
        check_bits(dev, &c);
    }
}

/* So many points are sorted in another way: the result is that of points left as they are. */
static void sorts_many_points_as_well_as_few(void **state)
{
    const device *dev = device_of(state);
    const case_points kinds[] = {POINTS_RANDOM, POINTS_EWALD, POINTS_CELL, POINTS_EQUAL};
    for (int k = 0; k < 12; k++) {
        precision p = k % 3 == 2 ? PRECISION_DOUBLE : PRECISION_SINGLE;
        nufft_case c = {k % 3 == 1 ? 2 : 3,
                        {k % 3 == 1 ? 1500 : 150, k % 3 == 1 ? 1400 : 90, 80},
                        4200000,
                        kinds[k / 3],
                        {.precision = p, .tolerance = 1e-4}};
        case_data d;
        case_data_make(&c, 7, &d);
        if (k == 0) d.x[1][77] = INFINITY;
        nufft *sorted = case_plan(dev, &c);
        case_set_points(dev, &c, &d, sorted);
        double *forward = case_forward(dev, &c, &d, sorted);
        double *adjoint = case_adjoint(dev, &c, &d, sorted);
        c.options.method = NUFFT_GM;
        nufft *plain = case_plan(dev, &c);
        case_set_points(dev, &c, &d, plain);
        double *other = case_forward(dev, &c, &d, plain);
        double *another = case_adjoint(dev, &c, &d, plain);
        if (k == 0) {
            assert_true(isnan(forward[2 * 77]) && isnan(other[2 * 77]) && isnan(adjoint[0]));
            forward[2 * 77] = other[2 * 77] = forward[2 * 77 + 1] = other[2 * 77 + 1] = 0;
        } else {
            /* Millions of strengths on one cell lose digits as they come. */
            double bound = k < 6 ? 2e-5 : 1e-2;
            assert_true(relative_error(adjoint, another, d.n_modes, 0) <= bound);
        }
        assert_true(relative_error(forward, other, d.n_points, 0) <= 2e-6);
        nufft_destroy(sorted), nufft_destroy(plain);
        free(forward), free(adjoint), free(other), free(another);
        case_data_free(&d);
    }
}

/* Set, run and destroy many times: the memory must come back. */
static void a_thousand_set_points_and_200_plans_leave_no_memory_behind(void **state)
{
    const device *dev = device_of(state);
    nufft_case c = {2, {20, 24, 1}, 300, POINTS_RANDOM, {.precision = PRECISION_DOUBLE}};
    c.options.tolerance = 1e-6;
    case_data d;
    case_data_make(&c, 3, &d);
    nufft *kept = case_plan(dev, &c);
    nufft_info before, after;
    case_set_points(dev, &c, &d, kept);
    nufft_get_info(kept, &before);
    for (int i = 0; i < 1000; i++) {
        case_set_points(dev, &c, &d, kept);
        if (i % 5) continue;
        nufft *other = case_plan(dev, &c);
        case_set_points(dev, &c, &d, other);
        nufft_destroy(other);
    }
    nufft_get_info(kept, &after);
    assert_int_equal(before.bytes, after.bytes);
    nufft_destroy(kept);
    case_data_free(&d);
}

static void says_what_is_wrong_with_the_device(void **state)
{
    (void)state;
    device *none;
    assert_int_equal(device_create_cuda(device_count_cuda(), &none), STATUS_RESOURCE);
    assert_null(none);
    assert_non_null(strstr(status_message(), "GPU"));
    const int64_t modes[3] = {640, 640, 640};
    nufft_options o = {.precision = PRECISION_DOUBLE, .tolerance = 1e-6, .batch = 20};
    nufft *plan;
    assert_int_equal(nufft_create(device_of(state), 3, modes, &o, &plan), STATUS_RESOURCE);
    assert_null(plan);
}

static void two_devices_run_in_two_threads(void **state)
{
    (void)state;
    case_errors e[2];
    int failed = 0;
#pragma omp parallel for num_threads(2) schedule(static, 1) reduction(+ : failed)
    for (int i = 0; i < 2; i++) {
        device *dev;
        if (device_create_cuda(i % device_count_cuda(), &dev) != STATUS_OK) {
            failed++;
            continue;
        }
        nufft_case c = {3, {20, 21, 22}, 4000, POINTS_EWALD, {.precision = PRECISION_DOUBLE}};
        c.options.tolerance = 1e-12;
        e[i] = case_run(dev, &c);
        device_destroy(dev);
    }
    assert_int_equal(failed, 0);
    for (int i = 0; i < 2; i++)
        assert_true(e[i].forward <= 1e-12 && e[i].adjoint <= 1e-12);
}

static int gpu_only(const device *dev)
{
    const struct CMUnitTest tests[] = {
#define TEST(function) cmocka_unit_test_prestate(function, &dev)
        TEST(every_method_reaches_the_tolerance),
        TEST(every_width_of_the_3d_kernels_is_right),
        TEST(a_deterministic_plan_gives_the_same_bits),
        TEST(pairs_of_real_vectors_stay_apart),
        TEST(sorts_many_points_as_well_as_few),
        TEST(a_thousand_set_points_and_200_plans_leave_no_memory_behind),
        TEST(says_what_is_wrong_with_the_device),
        TEST(two_devices_run_in_two_threads),
#undef TEST
    };
    return cmocka_run_group_tests_name("nufft, GPU only", tests, NULL, NULL) ? 1 : 0;
}

static int with_method(const device *dev, nufft_method method)
{
    char name[80];
    case_use_method(method);
    snprintf(name, sizeof name, "nufft on a GPU, %s where it fits", nufft_method_name(method));
    int failed = nufft_suite(dev, name);
    fprintf(stderr, "%s: %d plans did not\n", name, case_use_method(NUFFT_DEFAULT));
    return failed;
}

static bool wanted(int argc, char **argv, const char *name)
{
    bool found = argc < 2;
    for (int i = 1; i < argc; i++)
        found = found || strcmp(argv[i], name) == 0;
    return found;
}

int main(int argc, char **argv)
{
    device *dev;
    if (device_create_cuda(-1, &dev) != STATUS_OK) {
        const char *required = getenv("MTIP_REQUIRE_GPU");
        bool must = required && strcmp(required, "0") != 0 && *required;
        fprintf(stderr, "%s: %s\n", must ? "FAILED" : "SKIPPED", status_message());
        return must ? 1 : SKIPPED;
    }
    int failed = 0;
    for (int method = NUFFT_DEFAULT; method < NUFFT_METHODS; method++)
        if (wanted(argc, argv, nufft_method_name((nufft_method)method)))
            failed |= with_method(dev, (nufft_method)method);
    if (wanted(argc, argv, "gpu")) failed |= gpu_only(dev);
    device_destroy(dev);
    return failed;
}
