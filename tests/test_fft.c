/* test_fft.c: transforms against the sums that define them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nufft/fft.h"
#include "nufft_case.h"

typedef struct box {
    int dim;
    int64_t size[3], batch;
} box;

static int64_t volume(const box *b)
{
    return b->size[0] * b->size[1] * b->size[2];
}

/* Output k of the complex transform of vector v of `in`. */
static void sum_at(const box *b, const double *in, int64_t v, const int64_t k[3], int sign,
                   double out[2])
{
    out[0] = out[1] = 0;
    for (int64_t i = 0; i < volume(b); i++) {
        int64_t x = i % b->size[0], y = i / b->size[0] % b->size[1],
                z = i / (b->size[0] * b->size[1]);
        double turns = (double)(k[0] * x % b->size[0]) / (double)b->size[0] +
                       (double)(k[1] * y % b->size[1]) / (double)b->size[1] +
                       (double)(k[2] * z % b->size[2]) / (double)b->size[2];
        double c = cos(6.283185307179586477 * turns), s = sign * sin(6.283185307179586477 * turns);
        const double *at = in + 2 * (v * volume(b) + i);
        out[0] += at[0] * c - at[1] * s;
        out[1] += at[0] * s + at[1] * c;
    }
}

static void *to_precision(const device *dev, precision p, const double *from, int64_t n, int step)
{
    void *memory;
    assert_int_equal(device_alloc(dev, n * (int64_t)real_size(p), &memory), STATUS_OK);
    for (int64_t i = 0; i < n; i++) {
        if (p == PRECISION_SINGLE)
            ((float *)memory)[i] = (float)from[i * step];
        else
            ((double *)memory)[i] = from[i * step];
    }
    return memory;
}

static double number(precision p, const void *memory, int64_t i)
{
    return p == PRECISION_SINGLE ? (double)((const float *)memory)[i] : ((const double *)memory)[i];
}

static double *random_input(const box *b, bool only_real)
{
    uint64_t seed = 3;
    int64_t n = 2 * volume(b) * b->batch;
    double *in = malloc(sizeof(double) * (size_t)n);
    assert_non_null(in);
    for (int64_t i = 0; i < n; i++)
        in[i] = only_real && i % 2 ? 0 : random_number(&seed);
    return in;
}

/* Compares outputs [v][z][y][x < width] with the sums of `in`. */
static void compare(const box *b, precision p, const double *in, const void *out, int64_t width,
                    int sign)
{
    double bound = (p == PRECISION_SINGLE ? 1e-6 : 1e-14) * sqrt((double)volume(b)) * 3;
    for (int64_t v = 0; v < b->batch; v++)
        for (int64_t i = 0; i < width * b->size[1] * b->size[2]; i += 1 + i % 3) {
            int64_t k[3] = {i % width, i / width % b->size[1], i / (width * b->size[1])};
            double exact[2];
            sum_at(b, in, v, k, sign, exact);
            int64_t at = 2 * (v * width * b->size[1] * b->size[2] + i);
            assert_true(fabs(number(p, out, at) - exact[0]) <= bound);
            assert_true(fabs(number(p, out, at + 1) - exact[1]) <= bound);
        }
}

static void check_complex(const device *dev, const box *b, precision p, bool in_place)
{
    int64_t n = 2 * volume(b) * b->batch;
    double *in = random_input(b, false);
    for (int sign = -1; sign <= 1; sign += 2) {
        fft *plan;
        assert_int_equal(fft_create(dev, p, sign < 0 ? FFT_FORWARD : FFT_BACKWARD, b->dim, b->size,
                                    b->batch, in_place, &plan),
                         STATUS_OK);
        void *from = to_precision(dev, p, in, n, 1), *to = to_precision(dev, p, in, n, 1);
        assert_int_equal(fft_run(plan, from, in_place ? from : to), STATUS_OK);
        compare(b, p, in, in_place ? from : to, b->size[0], sign);
        device_free(dev, from);
        device_free(dev, to);
        fft_destroy(plan);
    }
    free(in);
}

/* Forward against the sums, and back again to volume times the input. */
static void check_real(const device *dev, const box *b, precision p)
{
    int64_t width = b->size[0] / 2 + 1, n = volume(b) * b->batch;
    double *in = random_input(b, true);
    fft *forward, *backward;
    assert_int_equal(
        fft_create(dev, p, FFT_REAL_FORWARD, b->dim, b->size, b->batch, false, &forward),
        STATUS_OK);
    assert_int_equal(
        fft_create(dev, p, FFT_REAL_BACKWARD, b->dim, b->size, b->batch, false, &backward),
        STATUS_OK);
    void *from = to_precision(dev, p, in, n, 2), *to;
    int64_t bytes = 2 * width * b->size[1] * b->size[2] * b->batch * (int64_t)real_size(p);
    assert_int_equal(device_alloc(dev, bytes, &to), STATUS_OK);
    assert_int_equal(fft_run(forward, from, to), STATUS_OK);
    compare(b, p, in, to, width, -1);
    assert_int_equal(fft_run(backward, to, from), STATUS_OK);
    double bound = (p == PRECISION_SINGLE ? 1e-5 : 1e-13) * (double)volume(b);
    for (int64_t i = 0; i < n; i++)
        assert_true(fabs(number(p, from, i) - in[2 * i] * (double)volume(b)) <= bound);
    device_free(dev, from);
    device_free(dev, to);
    fft_destroy(forward);
    fft_destroy(backward);
    free(in);
}

static void agrees_with_the_sums(void **state)
{
    (void)state;
    const box boxes[] = {{1, {1, 1, 1}, 1},  {1, {12, 1, 1}, 3},  {1, {31, 1, 1}, 2},
                         {2, {1, 7, 1}, 1},  {2, {18, 35, 1}, 2}, {2, {41, 9, 1}, 1},
                         {3, {1, 1, 5}, 1},  {3, {9, 7, 5}, 2},   {3, {10, 12, 14}, 1},
                         {3, {17, 3, 13}, 2}};
    device *dev;
    assert_int_equal(device_create_cpu(2, &dev), STATUS_OK);
    for (size_t i = 0; i < sizeof boxes / sizeof *boxes; i++)
        for (int p = 0; p < 2; p++) {
            check_complex(dev, &boxes[i], (precision)p, false);
            check_complex(dev, &boxes[i], (precision)p, true);
            check_real(dev, &boxes[i], (precision)p);
        }
    device_destroy(dev);
}

static void refuses_bad_sizes(void **state)
{
    (void)state;
    device *dev;
    fft *plan;
    const int64_t none[3] = {4, 0, 4}, huge[3] = {1 << 30, 1 << 30, 4}, good[3] = {4, 4, 4};
    assert_int_equal(device_create_cpu(1, &dev), STATUS_OK);
    const precision p = PRECISION_DOUBLE;
    assert_int_equal(fft_create(dev, p, FFT_FORWARD, 3, none, 1, false, &plan), STATUS_INVALID);
    assert_int_equal(fft_create(dev, p, FFT_FORWARD, 3, huge, 1, false, &plan), STATUS_RESOURCE);
    assert_int_equal(fft_create(dev, p, FFT_FORWARD, 4, good, 1, false, &plan), STATUS_INVALID);
    assert_int_equal(fft_create(dev, p, FFT_REAL_FORWARD, 3, good, 1, true, &plan), STATUS_INVALID);
    fft_destroy(NULL);
    device_destroy(dev);
}

static void good_sizes_are_smooth(void **state)
{
    (void)state;
    assert_int_equal(fft_good_size(0, false), 1);
    assert_int_equal(fft_good_size(11, false), 12);
    assert_int_equal(fft_good_size(81, false), 81);
    assert_int_equal(fft_good_size(81, true), 84);
    assert_int_equal(fft_good_size(163, true), 168);
    assert_int_equal(fft_good_size(2500000001, false), 2500470000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_the_sums),
        cmocka_unit_test(refuses_bad_sizes),
        cmocka_unit_test(good_sizes_are_smooth),
    };
    return cmocka_run_group_tests_name("fft", tests, NULL, NULL) ? 1 : 0;
}
