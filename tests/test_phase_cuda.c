/* test_phase_cuda.c: phasing on a GPU and on the CPU, for every edge of a grid whose kernel the compiler
   knows, for others, and for one that is too large to be done at once.  Without a GPU it is skipped
   visibly (77), which MTIP_REQUIRE_GPU=1 forbids. */
#include "kernel_pairs.h"

#include <stdio.h>

#include "mtip/phase.h"

enum { SKIPPED = 77, STARTS = 2 };

/* `loops` of phasing from random starts towards a random target. */
static void phase_on(const device *dev, int64_t n, int loops, int n_hio, void *density,
                     double r_factors[STARTS])
{
    const phase_options options = {.precision = test.precision,
                                   .size = n,
                                   .starts = STARTS,
                                   .radius = 0.3 * (double)n,
                                   .step = PHASE_HIO,
                                   .n_er = 2,
                                   .n_hio = n_hio,
                                   .beta = 0.9,
                                   .blur = 1,
                                   .threshold = n_hio > 0 ? 0.1 : -1};
    double *values = uniform(n * n * n, 1, 0, 1);
    void *target;
    phaser *p;
    must(device_alloc(dev, real_bytes(test.precision, n * n * n), &target));
    must(device_from_doubles(dev, test.precision, n * n * n, values, target));
    must(volume_kernels_of(dev, test.precision)->symmetrise(dev, n, target));
    must(phaser_create(dev, &options, &p));
    must(phaser_set_target(p, target, 1, 0.45 * (double)n));
    for (int s = 0; s < STARTS; s++)
        must(phaser_start_random(p, s, 1, (uint64_t)s));
    must(phaser_run(p, loops));
    must(phaser_get(p, density, r_factors));
    phaser_destroy(p);
    device_free(dev, target);
    free(values);
}

/* By error reduction, whose steps are continuous. */
static void phases_alike(void **state)
{
    (void)state;
    static const int64_t sizes[] = {9, 41, 54, 64, 81, 84, 96, 105, 125};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int64_t n = sizes[i];
        pair density = zeros(DOUBLES, STARTS * n * n * n);
        double r_factors[2][STARTS];
        for (int d = CPU; d <= GPU; d++)
            phase_on(test.dev[d], n, 1, 0, density.on[d], r_factors[d]);
        SAME(density);
        check_values(STARTS, r_factors[CPU], r_factors[GPU], either(1e-4, 1e-9), __LINE__);
        FREE(density);
    }
}

/* Hundreds of steps with new supports, which would make any difference large. */
static void has_the_same_bits_every_time(void **state)
{
    (void)state;
    static const int64_t sizes[] = {20, 41, 81, 125};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int64_t n = sizes[i], count = STARTS * n * n * n;
        double *first = NULL;
        for (int again = 0; again < (n < 81 ? 50 : 8); again++) {
            pair density = zeros(DOUBLES, count);
            double r_factors[STARTS];
            phase_on(test.dev[GPU], n, 3, 60, density.on[GPU], r_factors);
            double *found = download(&density, GPU);
            if (first) assert_memory_equal(found, first, (size_t)count * sizeof *found);
            if (first) free(found);
            if (!first) first = found;
            FREE(density);
        }
        free(first);
    }
}

static int run_in(precision p)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(phases_alike),
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
