/* test_comm.c: what ranks say to each other, on any number of ranks (run under mpirun). */
#include "comm.h"

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include "assert_ok.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static comm *world;
static int rank, size;

enum { MANY = 1000 };

/* Messages in one piece, in pieces that do not divide the counts, and of single elements. */
static const int64_t chunks[] = {1 << 28, 7, 1};
enum { N_CHUNKS = sizeof chunks / sizeof *chunks };

static double value_of(int64_t i, int r)
{
    return (double)(i * 31 % 101) + 1000.0 * r;
}

/* Uneven parts, none for every second rank: counts[r], their sum, and where `r` starts. */
static int64_t deal(int64_t counts[], int r, int64_t *start)
{
    int64_t total = 0;
    for (int i = 0; i < size; i++) {
        counts[i] = i % 2 ? 0 : 11 + 5 * i;
        if (i == r) *start = total;
        total += counts[i];
    }
    return total;
}

static void knows_its_place(void **state)
{
    (void)state;
    int64_t n = 1, ranks = rank;
    assert_true(rank >= 0 && rank < size);
    assert_true(comm_node_rank(world) >= 0 && comm_node_rank(world) < comm_node_size(world));
    assert_true(comm_node_size(world) <= size);
    assert_ok(comm_sum(world, &n, 1, COMM_INT64));
    assert_ok(comm_sum(world, &ranks, 1, COMM_INT64));
    assert_int_equal(n, size);
    assert_int_equal(ranks, size * (size - 1) / 2);
    assert_ok(comm_barrier(world));
}

static void broadcasts_from_every_root(void **state)
{
    (void)state;
    double data[MANY];
    unsigned char bytes[33];
    for (int c = 0; c < N_CHUNKS; c++)
        for (int root = 0; root < size; root++) {
            comm_limit_chunk(world, chunks[c]);
            for (int64_t i = 0; i < MANY; i++)
                data[i] = value_of(i, rank);
            memset(bytes, rank, sizeof bytes);
            assert_ok(comm_broadcast(world, data, MANY, COMM_DOUBLE, root));
            assert_ok(comm_broadcast(world, bytes, sizeof bytes, COMM_BYTE, root));
            assert_ok(comm_broadcast(world, NULL, 0, COMM_DOUBLE, root));
            for (int64_t i = 0; i < MANY; i++)
                assert_true(data[i] == value_of(i, root));
            for (size_t i = 0; i < sizeof bytes; i++)
                assert_int_equal(bytes[i], root);
        }
}

static void sums_and_finds_the_largest(void **state)
{
    (void)state;
    for (int c = 0; c < N_CHUNKS; c++) {
        double wide[MANY], most[MANY];
        float narrow[MANY];
        int64_t whole[MANY];
        comm_limit_chunk(world, chunks[c]);
        for (int64_t i = 0; i < MANY; i++) {
            wide[i] = most[i] = value_of(i, rank);
            narrow[i] = (float)wide[i];
            whole[i] = INT64_C(1) << 50;
        }
        assert_ok(comm_sum(world, wide, MANY, COMM_DOUBLE));
        assert_ok(comm_sum(world, narrow, MANY, COMM_SINGLE));
        assert_ok(comm_sum(world, whole, MANY, COMM_INT64));
        assert_ok(comm_max(world, most, MANY, COMM_DOUBLE));
        for (int64_t i = 0; i < MANY; i++) {
            const double sum = size * value_of(i, 0) + 500.0 * size * (size - 1);
            assert_true(wide[i] == sum);
            assert_true(narrow[i] == (float)sum);
            assert_true(whole[i] == size * (INT64_C(1) << 50));
            assert_true(most[i] == value_of(i, size - 1));
        }
    }
}

/* data[start .. start + count) of this rank, the rest poisoned. */
static double *own_part(int64_t total, int64_t start, int64_t count)
{
    double *data = malloc((size_t)(total + 1) * sizeof *data);
    assert_non_null(data);
    for (int64_t i = 0; i < total; i++)
        data[i] = i >= start && i < start + count ? value_of(i, 0) : -1;
    return data;
}

static void shares_parts_with_all(void **state)
{
    (void)state;
    int64_t counts[64], start = 0;
    const int64_t total = deal(counts, rank, &start);
    for (int c = 0; c < N_CHUNKS; c++) {
        comm_limit_chunk(world, chunks[c]);
        double *data = own_part(total, start, counts[rank]);
        assert_ok(comm_share(world, data, counts, COMM_DOUBLE));
        for (int64_t i = 0; i < total; i++)
            assert_true(data[i] == value_of(i, 0));
        free(data);
    }
}

static void gathers_parts_on_every_root(void **state)
{
    (void)state;
    int64_t counts[64], start = 0;
    const int64_t total = deal(counts, rank, &start);
    for (int c = 0; c < N_CHUNKS; c++)
        for (int root = 0; root < size; root++) {
            comm_limit_chunk(world, chunks[c]);
            double *data = own_part(total, start, counts[rank]);
            assert_ok(comm_gather(world, data, counts, COMM_DOUBLE, root));
            for (int64_t i = 0; i < total; i++) {
                const bool mine = i >= start && i < start + counts[rank];
                assert_true(data[i] == (rank == root || mine ? value_of(i, 0) : -1));
            }
            free(data);
        }
}

static void sends_between_two_ranks(void **state)
{
    (void)state;
    float data[MANY];
    for (int c = 0; c < N_CHUNKS; c++)
        for (int from = 0; from < size; from++)
            for (int to = 0; to < size; to++) {
                comm_limit_chunk(world, chunks[c]);
                for (int64_t i = 0; i < MANY; i++)
                    data[i] = (float)value_of(i, rank);
                if (rank == from || rank == to)
                    assert_ok(comm_send(world, data, MANY, COMM_SINGLE, from, to));
                for (int64_t i = 0; i < MANY; i++)
                    assert_true(data[i] == (float)value_of(i, rank == to ? from : rank));
            }
}

static void sums_to_every_root(void **state)
{
    (void)state;
    double data[MANY];
    for (int c = 0; c < N_CHUNKS; c++)
        for (int root = 0; root < size; root++) {
            comm_limit_chunk(world, chunks[c]);
            for (int64_t i = 0; i < MANY; i++)
                data[i] = value_of(i, rank);
            assert_ok(comm_sum_to(world, data, MANY, COMM_DOUBLE, root));
            for (int64_t i = 0; i < MANY && rank == root; i++)
                assert_true(data[i] == size * value_of(i, 0) + 500.0 * size * (size - 1));
        }
}

static status fails(int r)
{
    FAIL(STATUS_INPUT, "data of rank %d are damaged", r);
}

static void the_failure_of_one_rank_is_known_to_all(void **state)
{
    (void)state;
    assert_ok(comm_agree(world, STATUS_OK));
    for (int bad = 0; bad < size; bad++) {
        char expected[128];
        if (size > 1)
            snprintf(expected, sizeof expected, "rank %d: data of rank %d are damaged", bad, bad);
        else
            snprintf(expected, sizeof expected, "data of rank %d are damaged", bad);
        assert_int_equal(comm_agree(world, rank == bad ? fails(rank) : STATUS_OK), STATUS_INPUT);
        assert_string_equal(status_message(), expected);
        assert_non_null(strstr(status_place(), "test_comm.c:"));
    }
    /* several: the first one's code and message */
    const status mine =
        rank == size - 1 ? status_fail(STATUS_NUMERIC, __FILE__, __LINE__, "last") : fails(rank);
    assert_int_equal(comm_agree(world, mine), size > 1 ? STATUS_INPUT : STATUS_NUMERIC);
    assert_non_null(strstr(status_message(), size > 1 ? "data of rank 0" : "last"));
    assert_ok(comm_agree(world, STATUS_OK));
}

static void a_failure_names_its_place_and_stage(void **state)
{
    (void)state;
    char expected[128];
    comm *part = NULL;
    comm_set_place(world, "GPU-7 on n01");
    assert_ok(comm_split(world, 0, &part));
    comm_set_stage(part, "merge");
    snprintf(expected, sizeof expected, "rank 0 (GPU-7 on n01, merge): data of rank 0 are damaged");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(comm_agree(part, rank == 0 ? fails(0) : STATUS_OK), STATUS_INPUT);
        assert_string_equal(status_message(), expected);
    }
    assert_int_equal(comm_agree(world, STATUS_INPUT), STATUS_INPUT); /* once is enough */
    assert_string_equal(status_message(), expected);
    (void)status_fail(STATUS_PARALLEL, __FILE__, __LINE__, "lost");
    assert_int_equal(comm_agree(part, STATUS_PARALLEL), STATUS_PARALLEL);
    snprintf(expected, sizeof expected, "rank %d (GPU-7 on n01, merge): lost", rank);
    assert_string_equal(status_message(), expected);
    comm_set_place(world, "");
    comm_destroy(part);
}

static void splits_by_color(void **state)
{
    (void)state;
    comm *part = NULL;
    comm_limit_chunk(world, 3);
    assert_ok(comm_split(world, rank % 2, &part));
    assert_int_equal(comm_rank(part), rank / 2);
    assert_int_equal(comm_size(part), (size + 1 - rank % 2) / 2);
    double ranks[10];
    for (int i = 0; i < 10; i++)
        ranks[i] = rank;
    assert_ok(comm_sum(part, ranks, 10, COMM_DOUBLE));
    double expected = 0;
    for (int r = rank % 2; r < size; r += 2)
        expected += r;
    assert_true(ranks[9] == expected);
    /* a failure in one part is no concern of the other */
    const status failed = comm_agree(part, rank == 0 ? fails(0) : STATUS_OK);
    assert_int_equal(failed, rank % 2 == 0 ? STATUS_INPUT : STATUS_OK);
    comm_destroy(part);
    comm_destroy(NULL);
}

int main(int argc, char **argv)
{
    if (comm_start(&argc, &argv, &world) != STATUS_OK) return 1;
    rank = comm_rank(world);
    size = comm_size(world);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_its_place),
        cmocka_unit_test(broadcasts_from_every_root),
        cmocka_unit_test(sums_and_finds_the_largest),
        cmocka_unit_test(shares_parts_with_all),
        cmocka_unit_test(gathers_parts_on_every_root),
        cmocka_unit_test(sends_between_two_ranks),
        cmocka_unit_test(sums_to_every_root),
        cmocka_unit_test(the_failure_of_one_rank_is_known_to_all),
        cmocka_unit_test(a_failure_names_its_place_and_stage),
        cmocka_unit_test(splits_by_color),
    };
    const int failed = size > 64 || cmocka_run_group_tests_name("comm", tests, NULL, NULL) != 0;
    comm_finish(world);
    return failed;
}
