/* Panels and bins: a flat detector described by its numbers, by panels and by finer pixels. */
#include <math.h>

#include "sim_case.h"

enum { N = 8 };

static detector *flat(int n, double pixel_size)
{
    const detector_settings settings = {n, n, pixel_size, 0.1, 2, POLARIZATION_HORIZONTAL, 0};
    detector *det;
    assert_ok(detector_create(&settings, &det));
    return det;
}

/* The upper and the lower half of flat(N, 1e-3), the lower read against both axes. */
static void two_panels(panel halves[2])
{
    const double p = 1e-3, edge = 0.5 * (N - 1) * p;
    halves[0] = (panel){N, N / 2, {-edge, -edge, 0.1}, {p, 0, 0}, {0, p, 0}, 0, 1, N};
    halves[1] = (panel){N, N / 2, {edge, edge, 0.1}, {-p, 0, 0}, {0, -p, 0}, N * N / 2, 1, N};
}

static void panels_give_the_flat_detector_they_make_up(void **state)
{
    (void)state;
    detector *det = flat(N, 1e-3), *joined;
    panel halves[2];
    const int64_t shape[3] = {1, N, N};
    two_panels(halves);
    assert_ok(detector_from_panels(halves, 2, shape, 2, POLARIZATION_HORIZONTAL, &joined));
    for (int p = 0; p < N * N; p++) {
        int q = p < N * N / 2 ? p : N * N / 2 + (N * N - 1 - p);
        for (int d = 0; d < 3; d++)
            assert_close(joined->s[3 * p + d], det->s[3 * q + d], 1e-15);
        assert_close(joined->solid_angle[p], det->solid_angle[q], 1e-18);
        assert_close(joined->polarization[p], det->polarization[q], 1e-15);
        assert_int_equal(joined->mask[p], 1);
    }
    assert_close(joined->pixel_size, 1e-3, 1e-18);
    detector_destroy(joined);
    detector_destroy(det);
}

static void pixels_without_a_panel_are_masked(void **state)
{
    (void)state;
    detector *det;
    panel halves[2];
    const int64_t shape[3] = {1, N, N};
    two_panels(halves);
    assert_ok(detector_from_panels(halves, 1, shape, 2, POLARIZATION_NONE, &det));
    for (int p = 0; p < N * N; p++)
        assert_true(det->mask[p] == (p < N * N / 2) && det->mask[p] == (det->solid_angle[p] > 0));
    detector_destroy(det);
}

static void panels_that_cannot_be_are_refused(void **state)
{
    (void)state;
    detector *det;
    panel halves[2];
    const int64_t shape[3] = {1, N, N};
    two_panels(halves);
    halves[1].at -= 1;
    assert_fails(detector_from_panels(halves, 2, shape, 2, POLARIZATION_NONE, &det), STATUS_INPUT,
                 "panel 1 has pixel 31 of the image, which another has too");
    halves[1].at += 2;
    assert_fails(detector_from_panels(halves, 2, shape, 2, POLARIZATION_NONE, &det), STATUS_INPUT,
                 "panel 1 of 4 x 8 pixels (slow x fast) reaches out of an image of 64");
    halves[0].ss[0] = halves[0].fs[0];
    halves[0].ss[1] = 0;
    assert_fails(detector_from_panels(halves, 2, shape, 2, POLARIZATION_NONE, &det), STATUS_INPUT,
                 "no plane of pixels");
    assert_null(det);
}

/* Four fine pixels make a coarse one: its solid angle, and its place to the second order in the size
   of a pixel. */
static void bins_are_the_coarser_detector(void **state)
{
    (void)state;
    detector *fine = flat(2 * N, 0.5e-3), *coarse = flat(N, 1e-3), *binned, *clipped;
    fine->mask[2 * N + 3] = 0;
    assert_ok(detector_bin(fine, 0, 2, &binned));
    assert_int_equal(binned->n_pixels, N * N);
    for (int p = 0; p < N * N; p++) {
        for (int d = 0; d < 3; d++)
            assert_close(binned->s[3 * p + d], coarse->s[3 * p + d], 2e-7);
        const double *s = binned->s + 3 * p;
        double along = s[2] + 0.5;
        assert_close(s[0] * s[0] + s[1] * s[1] + along * along, 0.25, 1e-15);
        assert_close(binned->solid_angle[p] / coarse->solid_angle[p], 1, 2e-5);
        assert_close(binned->polarization[p], coarse->polarization[p], 2e-5);
        assert_int_equal(binned->mask[p], p != 1);
    }
    assert_ok(detector_bin(coarse, 1, 1, &clipped));
    assert_int_equal(clipped->n_pixels, (N - 2) * (N - 2));
    assert_memory_equal(clipped->s, coarse->s + 3 * (N + 1), 3 * (N - 2) * sizeof(double));
    detector_destroy(clipped);
    assert_fails(detector_bin(coarse, 4, 1, &clipped), STATUS_INPUT, "give no bin of 1");
    assert_fails(detector_bin(coarse, 1, 7, &clipped), STATUS_INPUT, "give no bin of 7");
    detector_destroy(binned);
    detector_destroy(fine);
    detector_destroy(coarse);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(panels_give_the_flat_detector_they_make_up),
        cmocka_unit_test(pixels_without_a_panel_are_masked),
        cmocka_unit_test(panels_that_cannot_be_are_refused),
        cmocka_unit_test(bins_are_the_coarser_detector),
    };
    return case_run(tests);
}
