/* Estimates: lines are found again from their points, counts of references stay in bounds, forecasts
   grow with what they are of. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "assert_ok.h"
#include "estimate_time.h"
#include "schedule.h"

static void near(double found, double expected, double part)
{
    if (!(fabs(found - expected) <= part * fabs(expected)))
        fail_msg("%g, expected %g", found, expected);
}

static void lines_are_found_from_their_points(void **state)
{
    (void)state;
    const stage_line truth = {3e-9, 2e-10};
    const stage_line terms[3] = {{1e6, 1e7}, {1e6, 1e9}, {2e6, 3e8}};
    double seconds[3];
    for (int i = 0; i < 3; i++)
        seconds[i] = stage_line_seconds(truth, terms[i]);
    const stage_line found = stage_line_fit(3, terms, seconds);
    near(found.fixed, truth.fixed, 1e-6);
    near(found.growing, truth.growing, 1e-6);
}

static void a_line_never_falls_and_never_starts_below_zero(void **state)
{
    (void)state;
    const stage_line terms[2] = {{1, 1}, {1, 10}};
    const double falling[2] = {2, 1}, below[2] = {1, 100}, nothing[2] = {0, 0};
    stage_line found = stage_line_fit(2, terms, falling);
    assert_true(found.fixed > 0 && found.growing == 0);
    found = stage_line_fit(2, terms, below);
    assert_true(found.fixed == 0 && found.growing > 0);
    found = stage_line_fit(2, terms, nothing);
    assert_true(found.fixed == 0 && found.growing == 0);
}

static void references_that_carry_weight_are_between_none_and_all(void **state)
{
    (void)state;
    const run_step step = {.n_references = 1000, .perplexity = 2};
    int64_t before = 0;
    for (int64_t n = 1; n < 1000000; n *= 10) {
        const int64_t active = schedule_active(&step, n);
        assert_true(active > before || active == 1000);
        assert_true(active <= 1000 && active >= 1);
        before = active;
    }
}

/* Twice the images on twice the ranks are the same images on a rank. */
static void memory_grows_with_images_and_is_shared_by_ranks(void **state)
{
    (void)state;
    static config cfg;
    forecast one, two, shared;
    const forecast_data some = {.n_images = 100000, .n_pixels = 4000},
                        twice = {.n_images = 200000, .n_pixels = 4000};
    config_default(&cfg);
    for (int kind = DEVICE_CPU; kind <= DEVICE_CUDA; kind++) {
        assert_ok(forecast_make(&cfg, kind, 1, &some, 1 << 28, &one));
        assert_ok(forecast_make(&cfg, kind, 1, &twice, 1 << 28, &two));
        assert_ok(forecast_make(&cfg, kind, 2, &twice, 1 << 28, &shared));
        assert_true(two.host > one.host && two.images > one.images);
        assert_true(kind == DEVICE_CPU ? one.device == 0 : two.device > one.device);
        assert_int_equal(shared.images, one.images);
        assert_int_equal(forecast_fits(&one, one.device, one.host), STATUS_OK);
        assert_int_equal(forecast_fits(&one, one.device, one.host - 1), STATUS_RESOURCE);
        assert_int_equal(forecast_fits(&one, -1, -1), STATUS_OK);
    }
    assert_int_equal(forecast_fits(&two, two.device - 1, -1), STATUS_RESOURCE);
}

/* Of few photons: a GPU spreads lists into rows, and so does a CPU where there are many. */
static void lists_take_memory_for_their_photons(void **state)
{
    (void)state;
    static config cfg;
    forecast rows, few, many;
    forecast_data data = {.n_images = 100000, .n_pixels = 4000};
    config_default(&cfg);
    for (int kind = DEVICE_CPU; kind <= DEVICE_CUDA; kind++) {
        data.lists = (photon_means){0, 0};
        assert_ok(forecast_make(&cfg, kind, 1, &data, 1 << 28, &rows));
        data.lists = (photon_means){.pixels = 90, .photons = 100};
        assert_ok(forecast_make(&cfg, kind, 1, &data, 1 << 28, &few));
        data.lists = (photon_means){.pixels = 900, .photons = 1000};
        assert_ok(forecast_make(&cfg, kind, 1, &data, 1 << 28, &many));
        assert_true(few.host < rows.host && many.host < rows.host && few.host < many.host);
        assert_true(kind == DEVICE_CPU ? few.images < rows.images / 2 : few.images == rows.images);
        assert_int_equal(many.images, rows.images);
    }
}

static void time_is_that_of_the_generations_at_given_rates(void **state)
{
    (void)state;
    static config cfg;
    double radius[4] = {0.25, 0.5, 0.75, 1};
    const catalogue k = {.n_pixels = 4, .radius = radius};
    const calibration rates = {.between = 2, .begin = 7, .compare = 11};
    config_default(&cfg);
    estimate e = {.place = {.ranks = 1, .nodes = 1, .gpu_bytes = -1}, .n_images = 1000};
    estimate_time(&cfg, &k, &rates, &e);
    near(e.seconds, 7 + 11 + 2. * (2 * 20 + 4), 1e-12);
    near(e.generation_seconds, 2, 1e-12);
    e.place.ranks = 2; /* the halves side by side; what passes between ranks comes on top */
    estimate_time(&cfg, &k, &rates, &e);
    near(e.seconds, 7 + 11 + 2. * (20 + 4), 0.02);
    assert_true(e.seconds > 7 + 11 + 2. * (20 + 4));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_found_from_their_points),
        cmocka_unit_test(a_line_never_falls_and_never_starts_below_zero),
        cmocka_unit_test(references_that_carry_weight_are_between_none_and_all),
        cmocka_unit_test(memory_grows_with_images_and_is_shared_by_ranks),
        cmocka_unit_test(lists_take_memory_for_their_photons),
        cmocka_unit_test(time_is_that_of_the_generations_at_given_rates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
