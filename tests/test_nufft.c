/* test_nufft.c: the NUFFT on the CPU. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nufft_case.h"
#include "nufft_suite.h"

/* Both results of a case on n_threads threads, one after the other. */
static double *results_on(int n_threads, const nufft_case *c, int64_t *n)
{
    device *dev;
    assert_int_equal(device_create_cpu(n_threads, &dev), STATUS_OK);
    case_data d;
    case_data_make(c, 77, &d);
    nufft *plan = case_plan(dev, c);
    case_set_points(dev, c, &d, plan);
    double *forward = case_forward(dev, c, &d, plan), *adjoint = case_adjoint(dev, c, &d, plan);
    int64_t n_forward = 2 * d.n_points * d.batch, n_adjoint = 2 * d.n_modes * d.batch;
    *n = n_forward + n_adjoint;
    double *both = malloc(sizeof(double) * (size_t)*n);
    assert_non_null(both);
    memcpy(both, forward, sizeof(double) * (size_t)n_forward);
    memcpy(both + n_forward, adjoint, sizeof(double) * (size_t)n_adjoint);
    free(forward), free(adjoint);
    case_data_free(&d);
    nufft_destroy(plan);
    device_destroy(dev);
    return both;
}

static void gives_the_same_bits_on_any_number_of_threads(void **state)
{
    (void)state;
    for (int k = 0; k < 24; k++) {
        nufft_case c = {k / 8 + 1,
                        {k < 8    ? 3000
                         : k < 16 ? 70
                                  : 20,
                         60, 18},
                        20000,
                        k % 8 < 3   ? POINTS_RANDOM
                        : k % 8 < 6 ? POINTS_EWALD
                                    : POINTS_CELL,
                        {.precision = k % 2 ? PRECISION_DOUBLE : PRECISION_SINGLE,
                         .tolerance = k % 2 ? 1e-9 : 1e-4,
                         .real = k / 2 % 2,
                         .batch = 1 + k % 3}};
        int64_t n;
        double *one = results_on(1, &c, &n);
        for (int threads = 2; threads <= 5; threads += 1) {
            double *more = results_on(threads, &c, &n);
            if (memcmp(one, more, sizeof(double) * (size_t)n) != 0)
                fail_msg("case %d differs on %d threads", k, threads);
            free(more);
        }
        free(one);
    }
}

/* Instruction sets that the machine lacks fall back to the portable loops and agree as well. */
static void gives_the_same_numbers_with_any_instructions(void **state)
{
    (void)state;
    const char *const names[] = {"portable", "avx2", "avx512"};
    for (int k = 0; k < 90; k++) {
        int width = 2 + k % 15, dim = 1 + k / 15 % 3;
        bool single = k >= 45;
        if (single && width > 8) continue;
        nufft_case c = {dim,
                        {33, 20, 18},
                        800,
                        k % 2 ? POINTS_EWALD : POINTS_RANDOM,
                        {.precision = single ? PRECISION_SINGLE : PRECISION_DOUBLE,
                         .tolerance = pow(10, 1 - width),
                         .upsampling = 2,
                         .real = k / 3 % 2,
                         .batch = 2}};
        double *results[3];
        int64_t n = 0;
        for (int i = 0; i < 3; i++) {
            assert_int_equal(setenv("MTIP_CPU_KERNELS", names[i], 1), 0);
            results[i] = results_on(1, &c, &n);
        }
        double bound = single ? 2e-6 : 1e-14;
        for (int i = 1; i < 3; i++) {
            double difference = relative_error(results[i], results[0], n / 2, 0);
            if (!(difference <= bound))
                fail_msg("case %d: %s differs by %.3g", k, names[i], difference);
        }
        for (int i = 0; i < 3; i++)
            free(results[i]);
    }
    unsetenv("MTIP_CPU_KERNELS");
}

static void takes_no_method_of_a_gpu(void **state)
{
    (void)state;
    device *dev;
    assert_int_equal(device_create_cpu(1, &dev), STATUS_OK);
    const int64_t modes[1] = {10};
    nufft *plan;
    for (int method = NUFFT_GM; method < NUFFT_METHODS; method++) {
        nufft_options o = {.tolerance = 1e-3, .method = (nufft_method)method};
        assert_int_equal(nufft_create(dev, 1, modes, &o, &plan), STATUS_UNSUPPORTED);
        assert_null(plan);
    }
    device_destroy(dev);
}

int main(int argc, char **argv)
{
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    device *dev;
    if (device_create_cpu(2, &dev) != STATUS_OK) return 1;
    int failed = nufft_suite(dev, "nufft on the CPU");
    device_destroy(dev);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_the_same_bits_on_any_number_of_threads),
        cmocka_unit_test(gives_the_same_numbers_with_any_instructions),
        cmocka_unit_test(takes_no_method_of_a_gpu),
    };
    return cmocka_run_group_tests_name("nufft threads", tests, NULL, NULL) || failed ? 1 : 0;
}
