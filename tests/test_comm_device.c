/* test_comm_device.c: exchanges of device memory on any number of ranks (run under mpirun):
   test_comm_device cpu|cuda.  Every path gives the sums of integers exactly, and those of other
   numbers within their rounding. */
#include "comm_device.h"

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include "assert_ok.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MANY = 5000, MOST_RANKS = 64 };

static comm *world;
static device *dev;
static int rank, size;
static bool exclusive; /* every rank has a GPU to itself */

/* A path, with pieces of the array of this many bytes (0: as it likes). */
typedef struct way {
    comm_path path;
    int64_t piece;
} way;

static const way ways[] = {
    {COMM_AUTO, 0},      {COMM_DIRECT, 0},   {COMM_STAGED, 0},
    {COMM_STAGED, 1000}, {COMM_STAGED, 104}, {COMM_NCCL, 0},
};
enum { N_WAYS = sizeof ways / sizeof *ways };

static bool possible(way w)
{
    const bool gpu = device_kind_of(dev) == DEVICE_CUDA;
    return (w.path != COMM_DIRECT || !gpu) && (w.path != COMM_NCCL || exclusive);
}

static comm_device *open_way(comm *c, way w)
{
    comm_device *d = NULL;
    assert_ok(comm_device_create(c, dev, w.path, &d));
    if (w.path != COMM_AUTO) assert_int_equal(comm_device_path(d), w.path);
    if (w.piece > 0) comm_device_limit_piece(d, w.piece);
    return d;
}

#define FOR_WAYS(d, body)                               \
    for (int w_ = 0; w_ < N_WAYS; w_++)                 \
        if (possible(ways[w_])) {                       \
            comm_device *d = open_way(world, ways[w_]); \
            body;                                       \
            comm_device_destroy(d);                     \
        }

static double value_of(int64_t i, int r)
{
    return (double)(i * 31 % 101) + 1000.0 * r;
}

static double sum_of(int64_t i)
{
    return size * value_of(i, 0) + 500.0 * size * (size - 1);
}

/* n doubles in device memory, and back; freed by the second. */
static double *to_device(const double *values, int64_t n)
{
    void *memory;
    assert_ok(device_alloc(dev, n * (int64_t)sizeof *values, &memory));
    assert_ok(device_from_host(dev, memory, values, n * (int64_t)sizeof *values));
    return memory;
}

static void from_device(double *memory, double *values, int64_t n)
{
    assert_ok(device_to_host(dev, values, memory, n * (int64_t)sizeof *values));
    device_free(dev, memory);
}

/* Uneven parts, none for every second rank: counts[r], their sum, and where this rank's starts. */
static int64_t deal(int64_t counts[], int64_t *start)
{
    int64_t total = 0;
    for (int i = 0; i < size; i++) {
        counts[i] = i % 2 ? 0 : 211 + 50 * i;
        if (i == rank) *start = total;
        total += counts[i];
    }
    return total;
}

static void check_sum(comm_device *d)
{
    double values[MANY];
    for (int i = 0; i < MANY; i++)
        values[i] = value_of(i, rank);
    double *memory = to_device(values, MANY);
    assert_ok(comm_device_sum(d, memory, MANY, COMM_DOUBLE));
    assert_ok(comm_device_sum(d, memory, 0, COMM_DOUBLE));
    from_device(memory, values, MANY);
    for (int i = 0; i < MANY; i++)
        assert_true(values[i] == sum_of(i));
    assert_int_equal(comm_device_traffic(d), size > 1 ? MANY * (int)sizeof(double) : 0);
}

static void sums(void **state)
{
    (void)state;
    FOR_WAYS(d, check_sum(d))
}

/* Other types, each in its own bytes. */
static void check_types(comm_device *d)
{
    int64_t whole[MANY];
    float narrow[MANY];
    for (int i = 0; i < MANY; i++) {
        whole[i] = (INT64_C(1) << 50) + i;
        narrow[i] = (float)value_of(i, rank);
    }
    void *a = NULL, *b = NULL;
    assert_ok(device_alloc(dev, sizeof whole, &a));
    assert_ok(device_alloc(dev, sizeof narrow, &b));
    assert_ok(device_from_host(dev, a, whole, sizeof whole));
    assert_ok(device_from_host(dev, b, narrow, sizeof narrow));
    assert_ok(comm_device_sum(d, a, MANY, COMM_INT64));
    assert_ok(comm_device_sum(d, b, MANY, COMM_SINGLE));
    assert_ok(device_to_host(dev, whole, a, sizeof whole));
    assert_ok(device_to_host(dev, narrow, b, sizeof narrow));
    for (int i = 0; i < MANY; i++) {
        assert_true(whole[i] == size * ((INT64_C(1) << 50) + i));
        assert_true(narrow[i] == (float)sum_of(i));
    }
    device_free(dev, a);
    device_free(dev, b);
}

static void sums_other_types(void **state)
{
    (void)state;
    FOR_WAYS(d, check_types(d))
}

static void check_rounding(comm_device *d)
{
    double values[MANY], exact[MANY], scale[MANY];
    for (int i = 0; i < MANY; i++) {
        exact[i] = scale[i] = 0;
        for (int r = 0; r < size; r++) {
            exact[i] += sin(i + 7919.0 * r);
            scale[i] += fabs(sin(i + 7919.0 * r));
        }
        values[i] = sin(i + 7919.0 * rank);
    }
    double *memory = to_device(values, MANY);
    assert_ok(comm_device_sum(d, memory, MANY, COMM_DOUBLE));
    from_device(memory, values, MANY);
    for (int i = 0; i < MANY; i++)
        assert_true(fabs(values[i] - exact[i]) <= 2.3e-16 * size * scale[i]);
}

static void all_paths_agree_to_rounding(void **state)
{
    (void)state;
    FOR_WAYS(d, check_rounding(d))
}

static void check_broadcast(comm_device *d)
{
    double values[MANY];
    for (int root = 0; root < size; root++) {
        for (int i = 0; i < MANY; i++)
            values[i] = value_of(i, rank);
        double *memory = to_device(values, MANY);
        assert_ok(comm_device_broadcast(d, memory, MANY, COMM_DOUBLE, root));
        from_device(memory, values, MANY);
        for (int i = 0; i < MANY; i++)
            assert_true(values[i] == value_of(i, root));
    }
}

static void broadcasts_from_every_root(void **state)
{
    (void)state;
    FOR_WAYS(d, check_broadcast(d))
}

static void check_share(comm_device *d)
{
    int64_t counts[MOST_RANKS] = {0}, start = 0;
    const int64_t total = deal(counts, &start);
    double *values = malloc((size_t)total * sizeof *values);
    assert_non_null(values);
    for (int64_t i = 0; i < total; i++)
        values[i] = i >= start && i < start + counts[rank] ? value_of(i, 0) : NAN;
    double *memory = to_device(values, total);
    assert_ok(comm_device_share(d, memory, counts, COMM_DOUBLE));
    from_device(memory, values, total);
    for (int64_t i = 0; i < total; i++)
        assert_true(values[i] == value_of(i, 0));
    free(values);
}

static void shares_uneven_parts(void **state)
{
    (void)state;
    FOR_WAYS(d, check_share(d))
}

static void check_sum_scatter(comm_device *d)
{
    int64_t counts[MOST_RANKS] = {0}, start = 0;
    const int64_t total = deal(counts, &start), n = counts[rank];
    double *values = malloc((size_t)(total + 1) * sizeof *values);
    assert_non_null(values);
    for (int64_t i = 0; i < total; i++)
        values[i] = value_of(i, rank);
    double *all = to_device(values, total);
    for (int64_t i = 0; i < total; i++)
        values[i] = NAN;
    double *mine = to_device(values, n);
    assert_ok(comm_device_sum_scatter(d, all, mine, counts, COMM_DOUBLE));
    from_device(mine, values, n);
    for (int64_t i = 0; i < n; i++)
        assert_true(values[i] == sum_of(start + i));
    device_free(dev, all);
    free(values);
}

static void sums_and_deals_uneven_parts(void **state)
{
    (void)state;
    FOR_WAYS(d, check_sum_scatter(d))
}

/* The ranks of one colour, with a communicator of their own. */
static void parts_of_a_comm_exchange_apart(void **state)
{
    (void)state;
    comm *part = NULL;
    assert_ok(comm_split(world, rank % 2, &part));
    double expected = 0;
    for (int r = rank % 2; r < size; r += 2)
        expected += r;
    for (int w = 0; w < N_WAYS; w++) {
        if (!possible(ways[w])) continue;
        comm_device *d = open_way(part, ways[w]);
        double value = rank;
        double *memory = to_device(&value, 1);
        assert_ok(comm_device_sum(d, memory, 1, COMM_DOUBLE));
        from_device(memory, &value, 1);
        assert_true(value == expected);
        comm_device_destroy(d);
    }
    comm_destroy(part);
}

static void a_path_that_cannot_be_is_refused_on_all_ranks(void **state)
{
    (void)state;
    comm_device *d = NULL;
    const bool gpu = device_kind_of(dev) == DEVICE_CUDA;
    if (exclusive) return;
    assert_int_equal(comm_device_create(world, dev, COMM_NCCL, &d), STATUS_RESOURCE);
    assert_null(d);
    assert_non_null(strstr(status_message(), "a GPU to itself"));
    if (gpu) assert_int_equal(comm_device_create(world, dev, COMM_DIRECT, &d), STATUS_UNSUPPORTED);
    comm_device_destroy(NULL);
}

/* The last: the communicator is lost to it. */
static void a_rank_that_does_not_come_is_given_up(void **state)
{
    (void)state;
    if (!exclusive || size == 1) return;
    comm_device *d = open_way(world, (way){COMM_NCCL, 0});
    comm_device_limit_wait(d, 2);
    double value = 1;
    double *memory = to_device(&value, 1);
    assert_ok(comm_device_sum(d, memory, 1, COMM_DOUBLE));
    if (rank > 0) {
        assert_int_equal(comm_device_sum(d, memory, 1, COMM_DOUBLE), STATUS_PARALLEL);
        assert_non_null(strstr(status_message(), "do not answer"));
        assert_int_equal(comm_device_sum(d, memory, 1, COMM_DOUBLE), STATUS_PARALLEL);
    }
    assert_ok(comm_barrier(world));
    from_device(memory, &value, 1);
    comm_device_destroy(d);
}

/* The GPU of this rank, as devices.h deals them out. */
static status create_gpu(void)
{
    const int count = device_count_cuda(), node = comm_node_size(world);
    TRY(device_create_cuda(comm_node_rank(world) % count, &dev));
    exclusive = node <= count;
    device_set_users(dev, (node - comm_node_rank(world) % count + count - 1) / count);
    return STATUS_OK;
}

static int run(bool gpu)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums),
        cmocka_unit_test(sums_other_types),
        cmocka_unit_test(all_paths_agree_to_rounding),
        cmocka_unit_test(broadcasts_from_every_root),
        cmocka_unit_test(shares_uneven_parts),
        cmocka_unit_test(sums_and_deals_uneven_parts),
        cmocka_unit_test(parts_of_a_comm_exchange_apart),
        cmocka_unit_test(a_path_that_cannot_be_is_refused_on_all_ranks),
        cmocka_unit_test(a_rank_that_does_not_come_is_given_up),
    };
    if (gpu && device_count_cuda() == 0) return getenv("MTIP_REQUIRE_GPU") ? 1 : 77;
    if ((gpu ? create_gpu() : device_create_cpu(1, &dev)) != STATUS_OK) return 1;
    const int failed = cmocka_run_group_tests_name("comm_device", tests, NULL, NULL) != 0;
    device_destroy(dev);
    return failed;
}

int main(int argc, char **argv)
{
    if (comm_start(&argc, &argv, &world) != STATUS_OK) return 1;
    rank = comm_rank(world);
    size = comm_size(world);
    const int result = size > MOST_RANKS ? 1 : run(argc > 1 && strcmp(argv[1], "cuda") == 0);
    comm_finish(world);
    return result;
}
