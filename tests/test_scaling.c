/* The model of scaling: rows made from known constants give them back, and what it says of more ranks
   is what those constants say. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "assert_ok.h"
#include "scaling_forecast.h"

enum { STARTS = 6 };

static const stage_line truth[N_STAGES] = {
    [STAGE_SLICE] = {0.001, 0.02}, [STAGE_MATCH] = {0.004, 0.3}, [STAGE_MERGE] = {0.0005, 0.06},
    [STAGE_SOLVE] = {0.003, 0},    [STAGE_PHASE] = {0.017, 0.3}, [STAGE_EXCHANGE] = {0.0002, 0.005},
};

static void near(double found, double expected)
{
    if (!(fabs(found - expected) <= 1e-6 * fabs(expected) + 1e-12))
        fail_msg("%.9g, expected %.9g", found, expected);
}

/* The seconds of the formula in scaling_model.h, written out. */
static double seconds(bool strong, stage s, int ranks, int gpus)
{
    const double repeated = truth[s].fixed, dealt = strong ? truth[s].growing : 0, r = ranks;
    const int users = gpus ? (ranks + gpus - 1) / gpus : 1;
    if (s == STAGE_EXCHANGE) return truth[s].fixed * log2(r) + truth[s].growing * 2 * (r - 1) / r;
    if (s == STAGE_SOLVE) return repeated;
    if (s != STAGE_PHASE) return users * (repeated + dealt / r);
    const int most = (STARTS + ranks - 1) / ranks; /* starts of a rank */
    return users * (repeated + dealt * most / STARTS);
}

static scaling_row row_of(bool strong, int ranks, int gpus)
{
    scaling_row row = {.ranks = ranks, .gpus = gpus};
    for (int s = 0; s < N_STAGES; s++) {
        row.stages[s] = seconds(strong, (stage)s, ranks, gpus);
        row.total += row.stages[s];
    }
    return row;
}

static void check_constants(bool strong, int n, const scaling_row rows[])
{
    scaling_model m;
    assert_ok(scaling_model_fit(n, rows, strong, STARTS, &m));
    for (int s = 0; s < N_STAGES; s++) {
        near(m.stages[s].fixed, truth[s].fixed);
        near(m.stages[s].growing, strong || s == STAGE_EXCHANGE ? truth[s].growing : 0);
    }
    for (int ranks = 1; ranks < 3000; ranks *= 3) {
        const scaling_row found = scaling_model_row(&m, ranks, ranks);
        const double alone = row_of(strong, 1, 1).total, all = row_of(strong, ranks, ranks).total;
        near(found.total, all);
        near(found.efficiency, alone / all / (strong ? ranks : 1));
    }
}

static void constants_are_found_from_rows_of_one_to_four_ranks(void **state)
{
    (void)state;
    for (int strong = 0; strong <= 1; strong++) {
        scaling_row own[4], shared[4], cpus[4];
        for (int i = 0; i < 4; i++) {
            own[i] = row_of(strong, i + 1, i + 1);
            shared[i] = row_of(strong, i + 1, 1);
            cpus[i] = row_of(strong, i + 1, 0);
        }
        check_constants(strong, 4, own);
        check_constants(strong, 4, shared);
        check_constants(strong, 4, cpus);
    }
}

static void rows_of_more_ranks_are_only_compared(void **state)
{
    (void)state;
    scaling_row rows[4] = {row_of(true, 1, 0), row_of(true, 2, 0), row_of(true, 4, 0),
                           row_of(true, 8, 0)};
    rows[3].stages[STAGE_MATCH] *= 2;
    rows[3].total += 0.5 * rows[3].stages[STAGE_MATCH];
    check_constants(true, 4, rows);
}

static void a_forecast_is_of_measured_and_asked_ranks_in_order(void **state)
{
    (void)state;
    const int expected[] = {1, 2, 3, 4, 8, 64};
    const scaling_row rows[4] = {row_of(true, 1, 1), row_of(true, 2, 1), row_of(true, 3, 2),
                                 row_of(true, 8, 4)};
    scaling_forecast f = {.n_lines = 0};
    assert_ok(scaling_model_fit(4, rows, true, STARTS, &f.model));
    assert_ok(scaling_forecast_make(4, rows, "64,2,4", &f));
    assert_int_equal(f.n_lines, 6);
    for (int i = 0; i < 6; i++)
        assert_int_equal(f.lines[i].model.ranks, expected[i]);
    assert_ptr_equal(f.lines[1].measured, rows + 1);
    assert_null(f.lines[3].measured);
    assert_int_equal(f.lines[3].model.gpus, 4); /* what was not measured has a GPU for each rank */
    assert_ptr_equal(f.lines[4].measured, rows + 3);
    assert_int_equal(f.lines[4].model.gpus, 4);
    near(f.lines[5].model.total, row_of(true, 64, 64).total);
}

static void too_few_rows_and_wrong_lists_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"x", "8,", ",8", "0", "-3", "8;9", "3e2", "99999999999"};
    const scaling_row rows[3] = {row_of(true, 1, 1), row_of(true, 8, 8), row_of(true, 2, 2)};
    scaling_forecast f = {.n_lines = 0};
    assert_int_equal(scaling_model_fit(2, rows, true, STARTS, &f.model), STATUS_INPUT);
    assert_int_equal(scaling_model_fit(2, rows + 1, true, STARTS, &f.model), STATUS_INPUT);
    assert_ok(scaling_model_fit(3, rows, true, STARTS, &f.model));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        f.n_lines = 0;
        assert_int_equal(scaling_forecast_make(3, rows, wrong[i], &f), STATUS_USAGE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constants_are_found_from_rows_of_one_to_four_ranks),
        cmocka_unit_test(rows_of_more_ranks_are_only_compared),
        cmocka_unit_test(a_forecast_is_of_measured_and_asked_ranks_in_order),
        cmocka_unit_test(too_few_rows_and_wrong_lists_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
