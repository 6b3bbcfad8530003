/* stage_average.c: phasings that differ by hand and shift become one density. */
#include "mtip/average.h"
#include "mtip/pointwise.h"
#include "mtip/prtf.h"
#include "stage_case.h"
#include "stage_suite.h"

enum { MANY = 12, BLOBS = 6, STARTS = 5, LARGEST = 18, MOST = LARGEST * LARGEST * LARGEST };

/* Blobs at random places, all of them moved by hand and shift (z, y, x). */
static void blobs(int64_t n, uint64_t seed, double hand, const double shift[3], double *density)
{
    double *u = uniform(4 * BLOBS, seed, -3.5, 3.5);
    for (int64_t i = 0; i < n * n * n; i++) {
        const double x[3] = {(double)centred(i / n / n, n), (double)centred(i / n % n, n),
                             (double)centred(i % n, n)};
        density[i] = 0;
        for (int b = 0; b < BLOBS; b++) {
            double square = 0;
            for (int d = 0; d < 3; d++)
                square += pow(x[d] - shift[d] - hand * u[4 * b + d], 2);
            density[i] += (4 + u[4 * b + 3]) * exp(-square / (2 * 1.2 * 1.2));
        }
    }
    free(u);
}

/* averager_run on host arrays. */
static status average(int64_t n, int64_t n_starts, const double *r_factors, double *densities,
                      double *mean, average_report *report)
{
    const int64_t bytes = cube(n) * (int64_t)sizeof(double), all = n_starts * bytes;
    void *there, *mean_there;
    averager *a;
    assert_ok(averager_create(stage.dev, n, n_starts, &a));
    assert_ok(device_alloc(stage.dev, all, &there));
    assert_ok(device_alloc(stage.dev, bytes, &mean_there));
    assert_ok(device_from_host(stage.dev, there, densities, all));
    status result = averager_run(a, 0.9, r_factors, there, mean_there, report);
    assert_ok(device_to_host(stage.dev, densities, there, all));
    assert_ok(device_to_host(stage.dev, mean, mean_there, bytes));
    stage_free(there), stage_free(mean_there);
    averager_destroy(a);
    return result;
}

static void check_size(int64_t n)
{
    static const double shifts[STARTS][3] = {
        {0, 0, 0}, {1, -1, 2}, {0.4, 1.3, -0.7}, {-0.5, 0.25, 0}, {0, 0, 0}};
    static const double hands[STARTS] = {1, -1, 1, -1, 1};
    /* the first start is the best, the last one another particle */
    static const double r_factors[STARTS] = {0.1, 0.2, 0.15, 0.3, 0.12};
    const int64_t cube = n * n * n;
    double *densities = malloc((size_t)(STARTS * cube) * sizeof *densities);
    double truth[MOST], mean[MOST];
    for (int s = 0; s < STARTS; s++)
        blobs(n, s == STARTS - 1 ? 72 : 71, hands[s], shifts[s], densities + s * cube);
    memcpy(truth, densities, (size_t)cube * sizeof *truth);
    average_report report;
    assert_ok(average(n, STARTS, r_factors, densities, mean, &report));
    assert_int_equal(report.n_used, STARTS - 1);
    assert_within(0.999, report.agreement, 1 + 1e-9);
    assert_near(mean, truth, cube, 0.01);
    for (int s = 0; s < STARTS - 1; s++)
        assert_near(densities + s * cube, truth, cube, 0.02);
    assert_true(stage_distance(densities + (STARTS - 1) * cube, truth, cube) > 0.2);
    free(densities);
}

static void brings_hands_and_shifts_together_and_leaves_an_outlier_out(void **state)
{
    (void)state;
    check_size(16);
    check_size(17);
    check_size(18);
}

static void one_start_is_its_own_average(void **state)
{
    (void)state;
    static const double nowhere[3] = {0, 0, 0}, r_factor = 0.5;
    double density[MOST], before[MOST], mean[MOST];
    blobs(13, 73, 1, nowhere, density);
    memcpy(before, density, sizeof before);
    average_report report;
    assert_ok(average(13, 1, &r_factor, density, mean, &report));
    assert_int_equal(report.n_used, 1);
    assert_true(report.agreement == 1);
    assert_memory_equal(mean, before, sizeof(double[13 * 13 * 13]));
}

static void nan_is_an_error(void **state)
{
    (void)state;
    static const double nowhere[3] = {0, 0, 0}, r_factors[2] = {0.5, 0.6};
    double *densities = malloc(sizeof(double[2][MOST])), mean[MOST];
    blobs(13, 73, 1, nowhere, densities);
    blobs(13, 73, 1, nowhere, densities + 13 * 13 * 13);
    densities[13 * 13 * 13 + 500] = NAN;
    average_report report;
    assert_int_equal(average(13, 2, r_factors, densities, mean, &report), STATUS_NUMERIC);
    free(densities);
}

/* prtf_find of n_maps host maps. */
static void prtf_of(int64_t n, int64_t n_maps, const double *maps, double *value)
{
    const int64_t bytes = n_maps * cube(n) * (int64_t)sizeof(double);
    int64_t chosen[MANY];
    void *there;
    for (int64_t m = 0; m < n_maps; m++)
        chosen[m] = n_maps - 1 - m;
    assert_ok(device_alloc(stage.dev, bytes, &there));
    assert_ok(device_from_host(stage.dev, there, maps, bytes));
    assert_ok(prtf_find(stage.dev, n, n_maps, chosen, there, value));
    stage_free(there);
}

static void maps_that_are_the_same_have_a_prtf_of_one(void **state)
{
    (void)state;
    static const double place[3] = {0.4, 1.3, -0.7};
    double *maps = malloc(sizeof(double[3][MOST])), value[LARGEST / 2 + 1];
    for (int64_t n = 16; n <= 17; n++) {
        for (int m = 0; m < 3; m++)
            blobs(n, 71, 1, place, maps + m * cube(n));
        prtf_of(n, 3, maps, value);
        for (int64_t s = 0; s <= n / 2; s++)
            assert_within(1 - 1e-9, value[s], 1 + 1e-9);
    }
    free(maps);
}

/* Each point of a shell adds 1/n with a scatter of the same size; half of the points are free. */
static void maps_of_random_phases_have_a_prtf_of_one_over_the_root_of_their_number(void **state)
{
    (void)state;
    const int64_t n = 17;
    double *maps = uniform(MANY * cube(n), 74, -1, 1), value[9];
    prtf_of(n, MANY, maps, value);
    for (int s = 2; s <= 8; s++) {
        const double free_points = 2 * M_PI * s * s, scatter = 5 / sqrt(free_points) / 2;
        assert_within(1 - scatter, value[s] * sqrt((double)MANY), 1 + scatter);
    }
    free(maps);
}

/* Opposite maps leave nothing, and shifted ones what the sum over the shell's points says. */
static void prtf_of_two_maps_is_what_their_phases_say(void **state)
{
    (void)state;
    const int64_t n = 16, size = cube(n);
    double *maps = calloc((size_t)(2 * size), sizeof *maps), value[9];
    maps[0] = 1;
    maps[size] = -1;
    prtf_of(n, 2, maps, value);
    for (int s = 0; s <= 8; s++)
        assert_within(-1e-9, value[s], 1e-9);
    memset(maps, 0, (size_t)(2 * size) * sizeof *maps);
    /* a shift by one voxel turns the phase at k by 2 pi kx / n: |1 + e^it|^2 / 4 = (1 + cos t) / 2 */
    maps[0] = maps[size + 1] = 1;
    prtf_of(n, 2, maps, value);
    double sum = 0, count = 0;
    for (int x = -7; x <= 7; x++)
        for (int y = -7; y <= 7; y++)
            for (int z = -7; z <= 7; z++) {
                if (lround(sqrt(x * x + y * y + z * z)) != 5) continue;
                sum += (1 + cos(2 * M_PI * x / (double)n)) / 2;
                count++;
            }
    assert_within(-1e-9, value[5] - sqrt(sum / count), 1e-9);
    free(maps);
}

static int group(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(brings_hands_and_shifts_together_and_leaves_an_outlier_out),
        cmocka_unit_test(one_start_is_its_own_average),
        cmocka_unit_test(nan_is_an_error),
        cmocka_unit_test(maps_that_are_the_same_have_a_prtf_of_one),
        cmocka_unit_test(maps_of_random_phases_have_a_prtf_of_one_over_the_root_of_their_number),
        cmocka_unit_test(prtf_of_two_maps_is_what_their_phases_say),
    };
    return cmocka_run_group_tests_name("averaging", tests, NULL, NULL);
}

int average_suite(const device *dev, precision p)
{
    return stage_run(dev, p, group);
}
