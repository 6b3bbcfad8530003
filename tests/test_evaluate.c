/* test_evaluate.c: maps of Gaussian blobs, which can be moved exactly, brought back together. */
#include "mtip/align.h"
#include "mtip/ball.h"
#include "mtip/evaluate.h"
#include "mtip/fsc.h"
#include "mtip/reference.h"
#include "mtip/rotation.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define DEGREES 57.29577951308232

enum { N_BLOBS = 40 };

static device *cpu;

static double uniform(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(*seed >> 11) / 9007199254740992.0;
}

static double normal(uint64_t *seed)
{
    double u = 1 - uniform(seed), v = uniform(seed);
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

static void random_rotation(uint64_t *seed, double q[4])
{
    const double u[3] = {uniform(seed), uniform(seed), uniform(seed)};
    rotation_uniform(u, q);
}

static void assert_close(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance)) fail_msg("%.17g is not %.17g within %g", a, b, tolerance);
}

static void assert_done(status result)
{
    if (result != STATUS_OK) fail_msg("%s: %s", status_text(result), status_message());
}

static double *new_map(int64_t n)
{
    double *map = calloc((size_t)(n * n * n), sizeof *map);
    assert_non_null(map);
    return map;
}

/* Blobs of width 1.5 voxels in a ball of diameter 0.45 n, moved as align.h says. */
static double *blobs(int64_t n, uint64_t seed, const alignment *motion)
{
    double *map = new_map(n), r[9];
    rotation_matrix(motion->q, r);
    for (int i = 0; i < N_BLOBS; i++) {
        double y[3], x[3], height = 0.5 + uniform(&seed);
        do {
            for (int d = 0; d < 3; d++)
                y[d] = 0.225 * (double)n * (2 * uniform(&seed) - 1);
        } while (y[0] * y[0] + 1.5 * y[1] * y[1] + 2 * y[2] * y[2] > 0.05 * (double)(n * n));
        for (int d = 0; d < 3; d++)
            x[d] = motion->hand * (r[3 * d] * y[0] + r[3 * d + 1] * y[1] + r[3 * d + 2] * y[2]) +
                   motion->shift[d] + (double)(n / 2);
        for (int64_t v = 0; v < n * n * n; v++) {
            double dx = (double)(v % n) - x[0], dy = (double)(v / n % n) - x[1];
            double dz = (double)(v / n / n) - x[2], square = dx * dx + dy * dy + dz * dz;
            if (square < 80) map[v] += height * exp(-square / (2 * 1.5 * 1.5));
        }
    }
    return map;
}

static const alignment still = {{1, 0, 0, 0}, {0, 0, 0}, 1, 0};

static alignment random_motion(uint64_t *seed, int hand)
{
    alignment motion = {.hand = hand};
    random_rotation(seed, motion.q);
    for (int d = 0; d < 3; d++)
        motion.shift[d] = 3 * (2 * uniform(seed) - 1);
    return motion;
}

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

static void align_refuses_empty_and_broken_maps(void **state)
{
    (void)state;
    int64_t n = 20;
    alignment found;
    double *good = blobs(n, 1, &still), *bad = new_map(n);
    assert_int_equal(align(cpu, n, 9, good, bad, NULL, &found), STATUS_NUMERIC);
    assert_int_equal(align_shift_hand(cpu, n, good, bad, &found), STATUS_NUMERIC);
    bad[1234] = NAN;
    assert_int_equal(align(cpu, n, 9, good, bad, NULL, &found), STATUS_NUMERIC);
    assert_int_equal(align(cpu, n, 9, bad, good, NULL, &found), STATUS_NUMERIC);
    assert_int_equal(align_shift_hand(cpu, n, bad, good, &found), STATUS_NUMERIC);
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
        assert_done(align_shift_hand(cpu, n, fixed, moving, &found));
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

static void orientations_in_another_frame_have_no_error(void **state)
{
    (void)state;
    enum { N = 500 };
    static double truth[4 * N], estimated[4 * N];
    uint64_t seed = 17;
    alignment motion = random_motion(&seed, -1);
    orientation_error error;
    for (int i = 0; i < N; i++)
        random_rotation(&seed, truth + 4 * i);
    align_orientations(&motion, N, truth, estimated);
    for (int i = 0; i < N; i += 2)
        for (int d = 0; d < 4; d++)
            estimated[4 * i + d] *= -1;
    assert_done(orientation_error_find(N, estimated, truth, NULL, &error));
    assert_close(error.median_degrees, 0, 1e-6);
    assert_close(error.within_10_degrees, 1, 0);
    align_orientations(
        &(alignment){.q = {error.frame[0], error.frame[1], error.frame[2], error.frame[3]}}, N,
        estimated, estimated);
    for (int i = 0; i < N; i++)
        assert_close(rotation_angle(estimated + 4 * i, truth + 4 * i), 0, 1e-7);
}

/* Turns by a normal vector of 2 degrees a component have a median angle of 2 x 1.538 degrees. */
static void orientation_error_sees_through_outliers(void **state)
{
    (void)state;
    enum { N = 2000 };
    static double truth[4 * N], estimated[4 * N], errors[N];
    uint64_t seed = 18;
    double frame[4];
    orientation_error error;
    random_rotation(&seed, frame);
    for (int i = 0; i < N; i++) {
        double *q = estimated + 4 * i, turn[3], angle, spread[4];
        random_rotation(&seed, truth + 4 * i);
        for (int d = 0; d < 3; d++)
            turn[d] = 2 / DEGREES * normal(&seed);
        angle = sqrt(turn[0] * turn[0] + turn[1] * turn[1] + turn[2] * turn[2]);
        for (int d = 0; d < 3; d++)
            turn[d] /= angle;
        rotation_about(turn, angle, spread);
        rotation_multiply(truth + 4 * i, frame, q);
        rotation_multiply(spread, q, q);
        if (i % 5 < 2) random_rotation(&seed, q);
    }
    assert_done(orientation_error_find(N, estimated, truth, errors, &error));
    assert_close(error.within_10_degrees, 0.6, 0.005);
    assert_close(rotation_angle(error.frame, frame) * DEGREES, 0, 0.25);
    double near = 0, count = 0;
    for (int i = 0; i < N; i++)
        if (i % 5 >= 2) {
            near += errors[i] < 2 * 1.538;
            count++;
        }
    assert_close(near / count, 0.5, 0.05);
}

static void orientations_that_are_not_unit_quaternions_are_refused(void **state)
{
    (void)state;
    const double good[4] = {1, 0, 0, 0}, bad[4] = {0, 0, 0, 0}, broken[4] = {NAN, 0, 0, 1};
    orientation_error error;
    assert_int_equal(orientation_error_find(1, good, bad, NULL, &error), STATUS_NUMERIC);
    assert_int_equal(orientation_error_find(1, broken, good, NULL, &error), STATUS_NUMERIC);
    assert_int_equal(orientation_error_find(0, good, good, NULL, &error), STATUS_INVALID);
}

static const scatter_settings plain = {.photon_energy = 4600};

static void assert_map_fails(const atom *atoms, int64_t n_atoms, const reference_grid *grid,
                             status expected)
{
    double *map = new_map(grid->n);
    assert_int_equal(reference_density(cpu, atoms, n_atoms, &plain, grid, map), expected);
    free(map);
}

/* All electrons are there, and the heavy atom is where it was put, with respect to their centre. */
static void reference_has_the_electrons_in_their_places(void **state)
{
    (void)state;
    const atom atoms[] = {{{10, 5, 3}, 1, 30, 16}, {{10, -15, 3}, 0.5, 30, 6}};
    for (int64_t n = 30; n <= 31; n++) {
        const reference_grid grid = {n, 2, 0.2};
        double *map = new_map(n), sum = 0;
        int64_t largest = 0;
        assert_done(reference_density(cpu, atoms, 2, &plain, &grid, map));
        for (int64_t i = 0; i < n * n * n; i++) {
            sum += 8 * map[i];
            if (map[i] > map[largest]) largest = i;
        }
        assert_close(sum, 19, 1e-3);
        /* The centre of electrons is 3.16 A, one and a half voxels, below the heavy atom. */
        assert_int_equal(largest, (n / 2 * n + n / 2 + 2) * n + n / 2);
        free(map);
    }
}

/* Its Fourier coefficients give the intensities of the simulator at the same s. */
static void reference_scatters_like_the_atoms(void **state)
{
    (void)state;
    enum { N_ATOMS = 50 };
    atom atoms[N_ATOMS];
    uint64_t seed = 19;
    static const int elements[] = {6, 7, 8, 16};
    for (int i = 0; i < N_ATOMS; i++) {
        atoms[i] =
            (atom){.occupancy = 1, .b_factor = 40 * uniform(&seed), .element = elements[i % 4]};
        for (int d = 0; d < 3; d++)
            atoms[i].position[d] = 20 * uniform(&seed);
    }
    const reference_grid grid = {25, 2, 0.2};
    double *map = new_map(grid.n), s[3 * 8], intensities[8], box = (double)grid.n * grid.voxel;
    assert_done(reference_density(cpu, atoms, N_ATOMS, &plain, &grid, map));
    ball *b = NULL;
    assert_done(ball_create(grid.n, grid.s_max * box, &b));
    double *values = calloc((size_t)b->n_points * 2, sizeof *values);
    assert_non_null(values);
    assert_done(ball_from_map(cpu, b, map, values));
    int64_t stride = b->n_points / 8;
    for (int i = 0; i < 24; i++)
        s[i] = b->k[i / 3 * stride][i % 3] / box;
    scatter *sc = NULL;
    assert_done(scatter_create(atoms, N_ATOMS, s, 8, &plain, &sc));
    scatter_intensities(sc, still.q, 1, intensities);
    for (int i = 0; i < 8; i++) {
        const double *f = values + 2 * i * stride;
        assert_close(64 * (f[0] * f[0] + f[1] * f[1]), intensities[i], 1e-3 * 350);
    }
    scatter_destroy(sc);
    ball_destroy(b);
    free(values);
    free(map);
}

static void reference_refuses_atoms_beyond_the_box(void **state)
{
    (void)state;
    const atom atoms[] = {{{0, 0, 0}, 1, 30, 6}, {{50, 0, 0}, 1, 30, 6}};
    const reference_grid grid = {16, 2, 0.2};
    assert_map_fails(atoms, 2, &grid, STATUS_INPUT);
}

static int start(void **state)
{
    (void)state;
    return device_create_cpu(1, &cpu) != STATUS_OK;
}

static int stop(void **state)
{
    (void)state;
    device_destroy(cpu);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fsc_of_a_map_with_itself_is_one),
        cmocka_unit_test(fsc_counts_the_voxels_of_a_shell),
        cmocka_unit_test(fsc_with_noise_has_the_expected_value),
        cmocka_unit_test(fsc_of_broken_maps_fails),
        cmocka_unit_test(resolution_is_the_first_down_crossing),
        cmocka_unit_test(orientations_in_another_frame_have_no_error),
        cmocka_unit_test(orientation_error_sees_through_outliers),
        cmocka_unit_test(orientations_that_are_not_unit_quaternions_are_refused),
        cmocka_unit_test(moved_orientations_look_at_the_same_points),
        cmocka_unit_test(shift_and_hand_alone_are_found),
        cmocka_unit_test(align_apply_moves_as_the_header_says),
        cmocka_unit_test(align_finds_a_known_motion_and_hand),
        cmocka_unit_test(align_withstands_noise),
        cmocka_unit_test(align_refuses_empty_and_broken_maps),
        cmocka_unit_test(reference_has_the_electrons_in_their_places),
        cmocka_unit_test(reference_scatters_like_the_atoms),
        cmocka_unit_test(reference_refuses_atoms_beyond_the_box),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
