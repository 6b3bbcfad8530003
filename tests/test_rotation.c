/* test_rotation.c: quaternions against matrices, and how well the spiral covers SO(3). */
#include "mtip/rotation.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define DEGREES (180 / 3.14159265358979323846)

static double uniform(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) / 9007199254740992.0;
}

static void random_rotation(uint64_t *state, double q[4])
{
    double u[3];
    for (int i = 0; i < 3; i++)
        u[i] = uniform(state);
    rotation_uniform(u, q);
}

static void assert_close(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance)) fail_msg("%.17g is not %.17g within %g", a, b, tolerance);
}

static void matrix_of_a_product_is_the_product_of_matrices(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int trial = 0; trial < 100; trial++) {
        double a[4], b[4], ab[4], ra[9], rb[9], rab[9];
        random_rotation(&seed, a);
        random_rotation(&seed, b);
        rotation_multiply(a, b, ab);
        rotation_matrix(a, ra);
        rotation_matrix(b, rb);
        rotation_matrix(ab, rab);
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) {
                double sum = 0;
                for (int k = 0; k < 3; k++)
                    sum += ra[3 * i + k] * rb[3 * k + j];
                assert_close(rab[3 * i + j], sum, 1e-14);
            }
    }
}

static void product_may_overwrite_either_factor(void **state)
{
    (void)state;
    uint64_t seed = 2;
    double a[4], b[4], ab[4], left[4], right[4];
    random_rotation(&seed, a);
    random_rotation(&seed, b);
    rotation_multiply(a, b, ab);
    for (int i = 0; i < 4; i++) {
        left[i] = a[i];
        right[i] = b[i];
    }
    rotation_multiply(left, b, left);
    rotation_multiply(a, right, right);
    for (int i = 0; i < 4; i++) {
        assert_close(left[i], ab[i], 0);
        assert_close(right[i], ab[i], 0);
    }
}

static void about_turns_counterclockwise(void **state)
{
    (void)state;
    const double z[3] = {0, 0, 1};
    const double expected[9] = {0, -1, 0, 1, 0, 0, 0, 0, 1};
    double q[4], r[9];
    rotation_about(z, 90 / DEGREES, q);
    rotation_matrix(q, r);
    for (int i = 0; i < 9; i++)
        assert_close(r[i], expected[i], 1e-15);
}

static void from_matrix_inverts_matrix_also_at_half_turns(void **state)
{
    (void)state;
    uint64_t seed = 3;
    for (int trial = 0; trial < 200; trial++) {
        double q[4] = {0, 0, 0, 0}, r[9], back[4];
        if (trial < 3)
            q[1 + trial] = 1;
        else
            random_rotation(&seed, q);
        rotation_matrix(q, r);
        rotation_from_matrix(r, back);
        assert_close(rotation_angle(q, back), 0, 1e-14);
    }
}

static void angle_is_exact_for_tiny_and_for_half_turns(void **state)
{
    (void)state;
    uint64_t seed = 4;
    const double angles[] = {0, 1e-9, 0.3, 2, 3.14159265358979323846};
    for (int i = 0; i < 5; i++) {
        const double axis[3] = {0.6, 0, -0.8};
        double q[4], turn[4], turned[4];
        random_rotation(&seed, q);
        rotation_about(axis, angles[i], turn);
        rotation_multiply(q, turn, turned);
        assert_close(rotation_angle(q, turned), angles[i], 1e-15 + 1e-14 * angles[i]);
        for (int k = 0; k < 4; k++)
            turned[k] = -turned[k];
        assert_close(rotation_angle(q, turned), angles[i], 1e-15 + 1e-14 * angles[i]);
    }
}

static void inverse_undoes(void **state)
{
    (void)state;
    uint64_t seed = 5;
    const double one[4] = {1, 0, 0, 0};
    double q[4], inverse[4], product[4];
    random_rotation(&seed, q);
    rotation_inverse(q, inverse);
    rotation_multiply(q, inverse, product);
    assert_close(rotation_angle(product, one), 0, 1e-15);
}

/* Of uniform rotations the matrices average to nothing and have mean square 1/3. */
static void uniform_rotations_are_uniform(void **state)
{
    (void)state;
    uint64_t seed = 6;
    enum { N = 100000 };
    double sum[9] = {0}, squares[9] = {0};
    for (int i = 0; i < N; i++) {
        double q[4], r[9];
        random_rotation(&seed, q);
        rotation_matrix(q, r);
        for (int k = 0; k < 9; k++) {
            sum[k] += r[k] / N;
            squares[k] += r[k] * r[k] / N;
        }
    }
    for (int k = 0; k < 9; k++) {
        assert_close(sum[k], 0, 5 * sqrt(1.0 / 3 / N));
        assert_close(squares[k], 1.0 / 3, 5 * sqrt(0.09 / N));
    }
}

/* Mean and largest angle from n_random rotations to the nearest of the n in the cover. */
static void cover_errors(int64_t n, int n_random, double *mean, double *largest)
{
    double *cover = malloc((size_t)n * 4 * sizeof *cover);
    assert_non_null(cover);
    rotation_cover(n, 0, n, NULL, cover);
    uint64_t seed = 7;
    *mean = *largest = 0;
    for (int i = 0; i < n_random; i++) {
        double q[4], best = 0;
        random_rotation(&seed, q);
        for (int64_t k = 0; k < n; k++) {
            const double *c = cover + 4 * k;
            best = fmax(best, fabs(q[0] * c[0] + q[1] * c[1] + q[2] * c[2] + q[3] * c[3]));
        }
        double error = 2 * acos(fmin(best, 1)) * DEGREES;
        *mean += error / n_random;
        *largest = fmax(*largest, error);
    }
    free(cover);
}

static void cover_is_as_fine_as_measured(void **state)
{
    (void)state;
    static const struct {
        int64_t n;
        double mean, largest;
    } table[] = {{1000, 11.8, 21.6}, {3000, 8.5, 15.0}, {10000, 5.6, 9.7}, {30000, 3.9, 7.2}};
    for (int i = 0; i < 4; i++) {
        double mean, largest;
        cover_errors(table[i].n, 1000, &mean, &largest);
        assert_close(mean, table[i].mean, 0.03 * table[i].mean);
        assert_true(largest < 1.15 * table[i].largest);
    }
}

static void cover_can_be_had_in_parts_and_turned(void **state)
{
    (void)state;
    enum { N = 101, FIRST = 37, COUNT = 20 };
    double whole[4 * N], part[4 * COUNT], turn[4], expected[4];
    uint64_t seed = 8;
    random_rotation(&seed, turn);
    rotation_cover(N, 0, N, NULL, whole);
    rotation_cover(N, FIRST, COUNT, turn, part);
    for (int i = 0; i < COUNT; i++) {
        rotation_multiply(turn, whole + 4 * (FIRST + i), expected);
        for (int k = 0; k < 4; k++)
            assert_close(part[4 * i + k], expected[k], 1e-15);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matrix_of_a_product_is_the_product_of_matrices),
        cmocka_unit_test(product_may_overwrite_either_factor),
        cmocka_unit_test(about_turns_counterclockwise),
        cmocka_unit_test(from_matrix_inverts_matrix_also_at_half_turns),
        cmocka_unit_test(angle_is_exact_for_tiny_and_for_half_turns),
        cmocka_unit_test(inverse_undoes),
        cmocka_unit_test(uniform_rotations_are_uniform),
        cmocka_unit_test(cover_is_as_fine_as_measured),
        cmocka_unit_test(cover_can_be_had_in_parts_and_turned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
