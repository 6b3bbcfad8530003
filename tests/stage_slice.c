/* stage_slice.c: slices are the direct cosine sum at rotated pixels. */
#include "mtip/slice.h"
#include "stage_case.h"
#include "stage_suite.h"

enum { N_ROTATIONS = 7, N_PIXELS = 30, N_POINTS = N_ROTATIONS * N_PIXELS };

static slicer *new_slicer(int64_t n)
{
    const slice_options options = {stage.precision, n, stage_either(1e-6, 1e-12), 0};
    slicer *s;
    assert_ok(slicer_create(stage.dev, &options, &s));
    return s;
}

static void check_size(int64_t n)
{
    double *volume = uniform(n * n * n, 1, -1, 1);
    double *quaternions = stage_rotations(2, N_ROTATIONS);
    double *pixels = stage_pixels(3, N_PIXELS, M_PI);
    double *q = stage_rotate(N_ROTATIONS, quaternions, N_PIXELS, pixels);
    double expected[N_POINTS], found[N_POINTS];
    for (int i = 0; i < N_POINTS; i++)
        expected[i] = stage_intensity(n, volume, q + 3 * i);
    slicer *s = new_slicer(n);
    void *model = stage_upload(volume, n * n * n), *points = stage_upload(pixels, 3 * N_PIXELS);
    void *slices = stage_new(N_POINTS);
    assert_ok(slicer_set_model(s, model));
    assert_ok(slicer_run(s, N_ROTATIONS, quaternions, N_PIXELS, points, slices));
    stage_download(slices, N_POINTS, found);
    assert_near(found, expected, N_POINTS, stage_either(1e-5, 1e-10));
    stage_free(slices), stage_free(points), stage_free(model);
    slicer_destroy(s);
    free(q), free(pixels), free(quaternions), free(volume);
}

static void are_the_direct_cosine_sum(void **state)
{
    (void)state;
    static const int64_t sizes[] = {8, 9, 13, 16};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        check_size(sizes[i]);
}

/* A batch's slices are those of its rotations alone, to the NUFFT's accuracy, in any order of calls
   and after another model. */
static void do_not_depend_on_the_batch(void **state)
{
    (void)state;
    const int64_t n = 9;
    double *volume = uniform(n * n * n, 4, -1, 1), *other = uniform(n * n * n, 5, 0, 9);
    double *quaternions = stage_rotations(6, N_ROTATIONS);
    double *pixels = stage_pixels(7, N_PIXELS, M_PI);
    double together[N_POINTS], alone[N_POINTS];
    slicer *s = new_slicer(n);
    void *model = stage_upload(volume, n * n * n), *before = stage_upload(other, n * n * n);
    void *points = stage_upload(pixels, 3 * N_PIXELS), *slices = stage_new(N_POINTS);
    assert_ok(slicer_set_model(s, before));
    assert_ok(slicer_run(s, 2, quaternions, N_PIXELS, points, slices));
    assert_ok(slicer_set_model(s, model));
    for (int r = N_ROTATIONS - 1; r >= 0; r--) {
        assert_ok(slicer_run(s, 1, quaternions + 4 * r, N_PIXELS, points, slices));
        stage_download(slices, N_PIXELS, alone + r * N_PIXELS);
    }
    assert_ok(slicer_run(s, N_ROTATIONS, quaternions, N_PIXELS, points, slices));
    stage_download(slices, N_POINTS, together);
    assert_near(alone, together, N_POINTS, stage_either(1e-6, 1e-12));
    stage_free(slices), stage_free(points), stage_free(before), stage_free(model);
    slicer_destroy(s);
    free(pixels), free(quaternions), free(other), free(volume);
}

/* The intensity of a centrosymmetric map is the same at q and -q: a turn by pi about the beam of
   pixels in the plane. */
static void obey_friedels_law(void **state)
{
    (void)state;
    const int64_t n = 9;
    double *volume = uniform(n * n * n, 8, -1, 1);
    double *pixels = stage_pixels(9, N_PIXELS, M_PI);
    for (int p = 0; p < N_PIXELS; p++)
        pixels[3 * p + 2] = 0;
    const double turns[8] = {1, 0, 0, 0, 0, 0, 0, 1};
    double found[2 * N_PIXELS];
    slicer *s = new_slicer(n);
    void *model = stage_upload(volume, n * n * n), *points = stage_upload(pixels, 3 * N_PIXELS);
    void *slices = stage_new(2 * N_PIXELS);
    assert_ok(slicer_set_model(s, model));
    assert_ok(slicer_run(s, 2, turns, N_PIXELS, points, slices));
    stage_download(slices, 2 * N_PIXELS, found);
    assert_near(found + N_PIXELS, found, N_PIXELS, stage_either(1e-5, 1e-11));
    stage_free(slices), stage_free(points), stage_free(model);
    slicer_destroy(s);
    free(pixels), free(volume);
}

static int group(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(are_the_direct_cosine_sum),
        cmocka_unit_test(do_not_depend_on_the_batch),
        cmocka_unit_test(obey_friedels_law),
    };
    return cmocka_run_group_tests_name("slices", tests, NULL, NULL);
}

int slice_suite(const device *dev, precision p)
{
    return stage_run(dev, p, group);
}
