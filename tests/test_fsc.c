/* test_fsc.c: Fourier shell correlation and the resolution read off it. */
#include "map_case.h"
#include "mtip/fsc.h"

#include <math.h>
#include <stdlib.h>

static void fsc_of_a_map_with_itself_is_one(void **state)
{
    (void)state;
    static const int64_t sizes[] = {16, 21, 23, 30};
    for (int i = 0; i < 4; i++) {
        int64_t n = sizes[i];
        double *map = blobs(n, 2, &still), voxel = 2.5;
        fsc *f = NULL;
        assert_done(fsc_create(cpu, n, voxel, 0.5 / voxel, map, map, &f));
        assert_int_equal(f->n_shells, n / 2 + 1);
        for (int s = 0; s < f->n_shells; s++) {
            assert_close(f->value[s], 1, 1e-12);
            assert_close(f->s[s], s / (voxel * (double)n), 1e-15);
        }
        fsc_resolution best = fsc_resolution_at(f, 0.5);
        assert_int_equal(best.outcome, FSC_BETTER_THAN_EDGE);
        assert_close(best.angstrom, 5, 1e-12);
        fsc_destroy(f);
        free(map);
    }
}

static void fsc_counts_the_voxels_of_a_shell(void **state)
{
    (void)state;
    int64_t n = 17, counts[6] = {0};
    for (int x = -8; x <= 8; x++)
        for (int y = -8; y <= 8; y++)
            for (int z = -8; z <= 8; z++) {
                double k = sqrt(x * x + y * y + z * z);
                if (k <= 5.3) counts[k > 5 ? 5 : (int)(k + 0.5)]++;
            }
    double *map = blobs(n, 2, &still);
    fsc *f = NULL;
    assert_done(fsc_create(cpu, n, 1, 5.3 / (double)n, map, map, &f));
    assert_int_equal(f->n_shells, 6);
    for (int s = 0; s < 6; s++)
        assert_int_equal(f->n_voxels[s], counts[s]);
    fsc_destroy(f);
    free(map);
}

/* White maps a and a + level b correlate as 1/sqrt(1 + level^2), each shell within its scatter. */
static void fsc_with_noise_has_the_expected_value(void **state)
{
    (void)state;
    uint64_t seed = 16;
    int64_t n = 32;
    double *a = new_map(n), *b = new_map(n), level = 0.75, expected = 0.8;
    for (int64_t i = 0; i < n * n * n; i++) {
        a[i] = normal(&seed);
        b[i] = a[i] + level * normal(&seed);
    }
    fsc *f = NULL;
    assert_done(fsc_create(cpu, n, 1, 0.5, a, b, &f));
    for (int s = 1; s < f->n_shells; s++)
        assert_close(f->value[s], expected, 5 * 0.6 / sqrt(0.5 * (double)f->n_voxels[s]));
    fsc_destroy(f);
    free(a);
    free(b);
}

static void fsc_of_broken_maps_fails(void **state)
{
    (void)state;
    int64_t n = 16;
    double *good = blobs(n, 2, &still), *bad = blobs(n, 2, &still);
    bad[77] = NAN;
    fsc *f = NULL;
    assert_int_equal(fsc_create(cpu, n, 1, 0.5, good, bad, &f), STATUS_NUMERIC);
    bad[77] = INFINITY;
    assert_int_equal(fsc_create(cpu, n, 1, 0.5, bad, good, &f), STATUS_NUMERIC);
    assert_null(f);
    assert_int_equal(fsc_create(cpu, n, 1, 0.6, good, good, &f), STATUS_INVALID);
    free(good);
    free(bad);
}

static fsc_resolution resolution_of(const double *values, int n_shells, double threshold)
{
    double s[16], copy[16];
    for (int i = 0; i < n_shells; i++) {
        s[i] = 0.01 * i;
        copy[i] = values[i];
    }
    fsc curve = {.s_max = 0.01 * (n_shells - 1), .n_shells = n_shells, .s = s, .value = copy};
    return fsc_resolution_at(&curve, threshold);
}

static void resolution_is_the_first_down_crossing(void **state)
{
    (void)state;
    double bumpy[] = {1, 0.9, 0.8, 0.4, 0.7, 0.9, 0.2, 0.6};
    fsc_resolution r = resolution_of(bumpy, 8, 0.5);
    assert_int_equal(r.outcome, FSC_CROSSES);
    assert_close(r.angstrom, 1 / 0.0275, 1e-9);
    double touching[] = {1, 0.5, 0.5, 0.5};
    r = resolution_of(touching, 4, 0.5);
    assert_int_equal(r.outcome, FSC_BETTER_THAN_EDGE);
    assert_close(r.angstrom, 1 / 0.03, 1e-9);
    double never[] = {1, 0.4, 0.9, 0.1};
    r = resolution_of(never, 4, 0.5);
    assert_int_equal(r.outcome, FSC_NONE);
    double broken[] = {1, 0.9, NAN, 0.9};
    r = resolution_of(broken, 4, 0.5);
    assert_int_equal(r.outcome, FSC_CROSSES);
    assert_close(r.angstrom, 1 / 0.01, 1e-9);
}

static void resolution_is_said_in_words(void **state)
{
    (void)state;
    char text[FSC_TEXT_SIZE];
    const fsc_resolution none = {FSC_NONE, INFINITY}, some = {FSC_CROSSES, 7.836};
    assert_string_equal(fsc_resolution_text(&none, text), "none");
    assert_string_equal(fsc_resolution_text(&some, text), "7.84 A");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fsc_of_a_map_with_itself_is_one),
        cmocka_unit_test(fsc_counts_the_voxels_of_a_shell),
        cmocka_unit_test(fsc_with_noise_has_the_expected_value),
        cmocka_unit_test(fsc_of_broken_maps_fails),
        cmocka_unit_test(resolution_is_the_first_down_crossing),
        cmocka_unit_test(resolution_is_said_in_words),
    };
    return cmocka_run_group_tests(tests, map_start, map_stop);
}
