/* test_align.c: maps that were moved apart, brought back together. */
#include "map_case.h"
#include "mtip/align_shift.h"
#include "mtip/rotation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void assert_same_motion(const alignment *found, const alignment *expected)
{
    assert_int_equal(found->hand, expected->hand);
    assert_close(rotation_angle(found->q, expected->q) * DEGREES, 0, 0.1);
    for (int d = 0; d < 3; d++)
        assert_close(found->shift[d], expected->shift[d], 0.05);
}

static double relative_difference(int64_t n, const double *a, const double *b)
{
    double difference = 0, norm = 0;
    for (int64_t i = 0; i < n * n * n; i++) {
        difference += (a[i] - b[i]) * (a[i] - b[i]);
        norm += b[i] * b[i];
    }
    return sqrt(difference / norm);
}

static void align_finds_a_known_motion_and_hand(void **state)
{
    (void)state;
    static const int64_t sizes[] = {31, 41, 36};
    uint64_t seed = 11;
    for (int trial = 0; trial < 4; trial++) {
        int64_t n = sizes[trial % 3];
        alignment expected = random_motion(&seed, trial % 2 ? -1 : 1), found;
        double *moving = blobs(n, (uint64_t)trial, &still), *aligned = new_map(n);
        double *fixed = blobs(n, (uint64_t)trial, &expected);
        assert_done(align(cpu, n, (double)(n / 2), fixed, moving, aligned, &found));
        assert_same_motion(&found, &expected);
        assert_close(found.correlation, 1, 1e-3);
        assert_true(relative_difference(n, aligned, fixed) < 0.01);
        free(fixed);
        free(moving);
        free(aligned);
    }
}

static void align_apply_moves_as_the_header_says(void **state)
{
    (void)state;
    uint64_t seed = 12;
    for (int hand = -1; hand <= 1; hand += 2) {
        int64_t n = hand > 0 ? 32 : 37;
        alignment motion = random_motion(&seed, hand);
        double *moving = blobs(n, 5, &still), *moved = blobs(n, 5, &motion), *aligned = new_map(n);
        assert_done(align_apply(cpu, n, (double)(n / 2), moving, &motion, aligned));
        assert_true(relative_difference(n, aligned, moved) < 2e-3);
        free(moving);
        free(moved);
        free(aligned);
    }
}

static void add_noise(int64_t n, double level, uint64_t *seed, double *map)
{
    double square = 0, volume = (double)n * (double)n * (double)n;
    for (int64_t i = 0; i < n * n * n; i++)
        square += map[i] * map[i] / volume;
    for (int64_t i = 0; i < n * n * n; i++)
        map[i] += level * sqrt(square) * normal(seed);
}

static void align_withstands_noise(void **state)
{
    (void)state;
    uint64_t seed = 13;
    int64_t n = 41;
    alignment expected = random_motion(&seed, -1), found;
    double *moving = blobs(n, 3, &still), *fixed = blobs(n, 3, &expected);
    add_noise(n, 0.5, &seed, moving);
    add_noise(n, 0.5, &seed, fixed);
    assert_done(align(cpu, n, 20, fixed, moving, NULL, &found));
    assert_int_equal(found.hand, -1);
    assert_close(rotation_angle(found.q, expected.q) * DEGREES, 0, 0.5);
    free(moving);
    free(fixed);
}

/* On the CPU device memory is host memory. */
static status shift_onto(int64_t n, const double *fixed, double *moving, alignment *found)
{
    shift_aligner *a;
    TRY(shift_aligner_create(cpu, n, 3, &a));
    status result = shift_aligner_run(a, fixed, 1, moving, found);
    shift_aligner_destroy(a);
    return result;
}

static void align_refuses_empty_and_broken_maps(void **state)
{
    (void)state;
    int64_t n = 20;
    alignment found;
    double *good = blobs(n, 1, &still), *bad = new_map(n);
    assert_int_equal(align(cpu, n, 9, good, bad, NULL, &found), STATUS_NUMERIC);
    assert_int_equal(shift_onto(n, good, bad, &found), STATUS_NUMERIC);
    bad[1234] = NAN;
    assert_int_equal(align(cpu, n, 9, good, bad, NULL, &found), STATUS_NUMERIC);
    assert_int_equal(align(cpu, n, 9, bad, good, NULL, &found), STATUS_NUMERIC);
    assert_int_equal(shift_onto(n, bad, good, &found), STATUS_NUMERIC);
    free(good);
    free(bad);
}

static void shift_and_hand_alone_are_found(void **state)
{
    (void)state;
    static const int64_t sizes[] = {31, 40, 41, 36};
    uint64_t seed = 14;
    for (int trial = 0; trial < 8; trial++) {
        int64_t n = sizes[trial % 4];
        alignment expected = random_motion(&seed, trial % 2 ? -1 : 1), found;
        memcpy(expected.q, still.q, sizeof expected.q);
        double *moving = blobs(n, (uint64_t)trial, &still);
        double *fixed = blobs(n, (uint64_t)trial, &expected);
        assert_done(shift_onto(n, fixed, moving, &found));
        assert_same_motion(&found, &expected);
        assert_close(found.correlation, 1, 1e-5);
        assert_true(relative_difference(n, moving, fixed) < 3e-3);
        free(moving);
        free(fixed);
    }
}

/* Images of the moving particle, at orientations q, see the fixed frame's particle at the moved
   ones: the points R^T s of both are the same ones of the particle. */
static void moved_orientations_look_at_the_same_points(void **state)
{
    (void)state;
    uint64_t seed = 15;
    alignment motion = random_motion(&seed, 1);
    double q[4], moved[4], r[9], rm[9], ra[9];
    random_rotation(&seed, q);
    align_orientations(&motion, 1, q, moved);
    rotation_matrix(q, r);
    rotation_matrix(moved, rm);
    rotation_matrix(motion.q, ra);
    const double s[3] = {0.3, -0.2, 0.5};
    for (int i = 0; i < 3; i++) {
        double in_fixed = 0, through_moving = 0;
        for (int j = 0; j < 3; j++) {
            double in_moving = 0;
            for (int k = 0; k < 3; k++)
                in_moving += r[3 * k + j] * s[k];
            in_fixed += rm[3 * j + i] * s[j];
            through_moving += ra[3 * i + j] * in_moving;
        }
        assert_close(in_fixed, through_moving, 1e-14);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(align_finds_a_known_motion_and_hand),
        cmocka_unit_test(align_apply_moves_as_the_header_says),
        cmocka_unit_test(align_withstands_noise),
        cmocka_unit_test(align_refuses_empty_and_broken_maps),
        cmocka_unit_test(shift_and_hand_alone_are_found),
        cmocka_unit_test(moved_orientations_look_at_the_same_points),
    };
    return cmocka_run_group_tests(tests, map_start, map_stop);
}
