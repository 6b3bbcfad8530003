#include "profile.h"

#include <stdio.h>
#include <stdlib.h>

/* A stage of a rank. */
typedef struct entry {
    stage_cost cost;
    double floor; /* seconds */
} entry;

typedef struct sheet {
    entry stages[N_STAGES];
    machine_rates rates;
} sheet;

static void add_record(const run_record *record, sheet *sum)
{
    for (int s = 0; s < N_STAGES; s++) {
        entry *e = &sum->stages[s];
        e->cost.seconds += record->costs[s].seconds;
        e->cost.host_bytes += record->costs[s].host_bytes;
        e->cost.rank_bytes += record->costs[s].rank_bytes;
        e->floor += floor_seconds(record->works[s], sum->rates);
    }
}

static void print_sheets(const sheet *sheets, int n)
{
    printf("rank stage       seconds  floor/s  floor/is  host MB  device MB\n");
    for (int r = 0; r < n; r++)
        for (int s = 0; s < N_STAGES; s++) {
            const entry *e = &sheets[r].stages[s];
            printf("%4d %-8s %10.3f %8.4f %9.3f %8.0f %10.0f\n", r, stage_name((stage)s),
                   e->cost.seconds, e->floor, e->cost.seconds > 0 ? e->floor / e->cost.seconds : 0,
                   1e-6 * (double)e->cost.host_bytes, 1e-6 * (double)e->cost.rank_bytes);
        }
    printf("rank 0 copies %.0f GB/s, multiplies %.0f GFLOP/s\n", 1e-9 * sheets[0].rates.bytes,
           1e-9 * sheets[0].rates.operations);
}

static status share(comm *world, const sheet *mine)
{
    const int n = comm_size(world);
    status result = STATUS_OK;
    sheet *sheets = calloc((size_t)n, sizeof *sheets);
    int64_t *sizes = calloc((size_t)n, sizeof *sizes);
    if (!sheets || !sizes) result = FAILED(STATUS_RESOURCE, "out of host memory");
    TRY_OR(done, comm_agree(world, result));
    for (int i = 0; i < n; i++)
        sizes[i] = (int64_t)sizeof *sheets;
    sheets[comm_rank(world)] = *mine;
    TRY_OR(done, comm_gather(world, sheets, sizes, COMM_BYTE, 0));
    if (comm_rank(world) == 0) print_sheets(sheets, n);
done:
    free(sheets);
    free(sizes);
    return result;
}

status profile_print(const config *cfg, const device *dev, comm *world, const reconstruction *made)
{
    sheet mine = {.rates = {0, 0}};
    const precision p =
        cfg->run.precision == CONFIG_PRECISION_SINGLE ? PRECISION_SINGLE : PRECISION_DOUBLE;
    TRY(comm_agree(world, machine_measure(dev, p, &mine.rates)));
    for (int i = 0; i < made->n_records; i++)
        if (made->records[i].rank == comm_rank(world)) add_record(&made->records[i], &mine);
    add_record(&made->final, &mine);
    return share(world, &mine);
}
