/* test_evaluate.c: errors of orientations, and the density that a structure should give. */
#include "map_case.h"
#include "mtip/ball.h"
#include "mtip/evaluate.h"
#include "mtip/reference.h"
#include "mtip/rotation.h"

#include <math.h>
#include <stdlib.h>

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
    assert_done(scatter_create_direct(atoms, N_ATOMS, s, 8, &plain, &sc));
    assert_done(scatter_intensities(sc, still.q, 1, intensities));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orientations_in_another_frame_have_no_error),
        cmocka_unit_test(orientation_error_sees_through_outliers),
        cmocka_unit_test(orientations_that_are_not_unit_quaternions_are_refused),
        cmocka_unit_test(reference_has_the_electrons_in_their_places),
        cmocka_unit_test(reference_scatters_like_the_atoms),
        cmocka_unit_test(reference_refuses_atoms_beyond_the_box),
    };
    return cmocka_run_group_tests(tests, map_start, map_stop);
}
