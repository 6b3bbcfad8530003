/* test_solve_cuda.c: the normal equations of merging solved on a GPU and on the CPU, for grids whose
   iterations are one kernel, made for them or for any, and for those that are too large.  Without a GPU
   it is skipped visibly (77), which MTIP_REQUIRE_GPU=1 forbids. */
#include "kernel_pairs.h"

#include <stdio.h>

#include "mtip/merge.h"
#include "mtip/pointwise.h"

enum { SKIPPED = 77, ITERATIONS = 7 };

/* A positive definite kernel, and even data. */
static void fill_sums(merger *m, const device *dev, int64_t n)
{
    void *sums[2];
    int64_t count[2];
    merger_sums(m, &sums[0], &count[0], &sums[1], &count[1]);
    const int64_t k = 2 * n - 1;
    double *kernel = malloc((size_t)count[0] * sizeof *kernel), *data = uniform(count[1], 5, -1, 1);
    assert_non_null(kernel);
    for (int64_t i = 0; i < count[0]; i++) {
        const double x = (double)centred(i % k, k), y = (double)centred(i / k % k, k);
        const double z = (double)centred(i / k / k, k);
        kernel[i] = exp(-(x * x + y * y + z * z) / 4);
    }
    must(device_from_doubles(dev, test.precision, count[0], kernel, sums[0]));
    must(device_from_doubles(dev, test.precision, count[1], data, sums[1]));
    must(volume_kernels_of(dev, test.precision)->symmetrise(dev, n, sums[1]));
    free(kernel), free(data);
}

static merge_report solve_on(const device *dev, int64_t n, double residual, void *volume)
{
    const merge_options options = {.precision = test.precision,
                                   .size = n,
                                   .radius = 0.45 * (double)n,
                                   .tolerance = 1e-5,
                                   .lambda = 20,
                                   .iterations = ITERATIONS,
                                   .residual = residual};
    merge_report report;
    merger *m;
    must(merger_create(dev, &options, &m));
    fill_sums(m, dev, n);
    must(merger_solve(m, volume, &report));
    merger_destroy(m);
    return report;
}

static void check_reports(const merge_report r[2])
{
    assert_int_equal(r[CPU].iterations, r[GPU].iterations);
    check_values(1, &r[CPU].residual, &r[GPU].residual, either(1e-2, 1e-9), __LINE__);
}

static void solves_alike(void **state)
{
    (void)state;
    static const int64_t sizes[] = {12, 21, 41, 61, 81, 90};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int64_t n = sizes[i];
        pair volume = reals(cube(n), 6, -1, 1);
        merge_report reports[2];
        BOTH(volume_kernels_of(dev, test.precision)->symmetrise(dev, n, volume.on[d]))
        for (int d = CPU; d <= GPU; d++)
            reports[d] = solve_on(test.dev[d], n, 1e-30, volume.on[d]);
        SAME(volume);
        check_reports(reports);
        FREE(volume);
    }
}

/* Where the residual is small enough, and where the start has it. */
static void ends_alike(void **state)
{
    (void)state;
    for (int64_t n = 12; n <= 41; n += 29) {
        pair volume = zeros(REALS, cube(n));
        for (int again = 0; again < 2; again++) {
            merge_report reports[2];
            for (int d = CPU; d <= GPU; d++)
                reports[d] = solve_on(test.dev[d], n, again ? 0.1 : 0.05, volume.on[d]);
            check_reports(reports);
            assert_true(again
                            ? reports[GPU].iterations == 0
                            : reports[GPU].iterations > 0 && reports[GPU].iterations < ITERATIONS);
        }
        FREE(volume);
    }
}

static void has_the_same_bits_every_time(void **state)
{
    (void)state;
    static const int64_t sizes[] = {21, 41, 81};
    for (int i = 0; i < 3; i++) {
        const int64_t n = sizes[i];
        double *first = NULL;
        for (int again = 0; again < 20; again++) {
            pair volume = zeros(REALS, cube(n));
            (void)solve_on(test.dev[GPU], n, 1e-30, volume.on[GPU]);
            double *found = download(&volume, GPU);
            if (!first)
                first = found;
            else {
                assert_memory_equal(found, first, (size_t)cube(n) * sizeof(double));
                free(found);
            }
            FREE(volume);
        }
        free(first);
    }
}

static int run_in(precision p)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(solves_alike),
        cmocka_unit_test(ends_alike),
        cmocka_unit_test(has_the_same_bits_every_time),
    };
    test.precision = p;
    return cmocka_run_group_tests_name(p == PRECISION_SINGLE ? "single" : "double", tests, NULL,
                                       NULL);
}

int main(void)
{
    const char *require = getenv("MTIP_REQUIRE_GPU");
    if (device_create_cuda(-1, &test.dev[GPU]) != STATUS_OK) {
        printf("no GPU: %s\n", status_message());
        return require && strcmp(require, "1") == 0 ? 1 : SKIPPED;
    }
    if (device_create_cpu(2, &test.dev[CPU]) != STATUS_OK) return 1;
    const int failed = run_in(PRECISION_SINGLE) + run_in(PRECISION_DOUBLE);
    device_destroy(test.dev[CPU]);
    device_destroy(test.dev[GPU]);
    return failed ? 1 : 0;
}
