/* The median is that of the sorted numbers, whatever their order and however many are equal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/median.h"
#include "mtip/random.h"

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* n numbers of `kinds` different ones. */
static void check(int n, double kinds)
{
    double values[300], sorted[300];
    random_stream stream;
    random_start(&stream, 1, RANDOM_CHECK, (uint64_t)n, (uint64_t)kinds);
    for (int i = 0; i < n; i++)
        values[i] = sorted[i] = (double)(int)(kinds * random_uniform(&stream));
    qsort(sorted, (size_t)n, sizeof *sorted, ascending);
    assert_true(median_upper(n, values) == sorted[n / 2]);
}

static void the_median_is_that_of_the_sorted_numbers(void **state)
{
    (void)state;
    for (int n = 1; n <= 300; n++) {
        check(n, 1);
        check(n, 3);
        check(n, 1e6);
    }
}

static void numbers_in_order_have_the_same_median_either_way(void **state)
{
    (void)state;
    double up[100], down[100];
    for (int i = 0; i < 100; i++)
        up[i] = down[99 - i] = i;
    assert_true(median_upper(100, up) == 50);
    assert_true(median_upper(100, down) == 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_median_is_that_of_the_sorted_numbers),
        cmocka_unit_test(numbers_in_order_have_the_same_median_either_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
