/* The branch-free functions of single elements against the C library's. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "mtip/pointwise.h"

/* |a - b| is at most `ulps` epsilons of the larger of |b| and `least`; false for NaN. */
static bool close_to(double a, double b, double ulps, double least)
{
    return fabs(a - b) <= ulps * REAL_EPSILON * fmax(fabs(b), least);
}

static void exponential_of_negative_numbers(void **state)
{
    (void)state;
    for (double x = 0; x > -80; x = x * 1.01 - 1e-7) {
        real at = (real)x;
        assert_true(close_to((double)exp_negative(at), exp((double)at), 4, 0));
    }
    assert_true(exp_negative(0) == 1);
    assert_true(exp_negative((real)-1e30) == 0);
    assert_true(exp_negative(-(real)INFINITY) == 0);
}

static void logarithm_of_positive_numbers(void **state)
{
    (void)state;
    for (double x = 1e-30; x < 1e30; x *= 1.0173) {
        real at = (real)x;
        assert_true(close_to((double)log_positive(at), log((double)at), 4, 0.1));
    }
    assert_true(log_positive(1) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exponential_of_negative_numbers),
        cmocka_unit_test(logarithm_of_positive_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
