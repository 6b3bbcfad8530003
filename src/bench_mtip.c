/* bench_mtip.c: which ranks measure what; tables. */
#include "bench_mtip.h"

#include "bench_generation.h"
#include "bench_link.h"
#include "bench_mtip_options.h"
#include "devices.h"
#include "option_table.h"
#include "scaling_forecast.h"

#include <errno.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef scaling_row row;

typedef struct bench {
    bench_mtip_options options;
    comm *world;
    device *dev;
    int64_t n_active; /* references that carry weight, of a generation */
    int n_rows;
    row rows[SCALING_MAX_ROWS];
} bench;

static status choose_device(bench *b)
{
    static config cfg;
    config_default(&cfg);
    cfg.parallel.backend = (unsigned)b->options.backend;
    const int threads = devices_threads(b->options.threads, comm_node_size(b->world));
    omp_set_num_threads(threads);
    return devices_choose(&cfg, b->world, threads, &b->dev);
}

/* -- measuring -- */

static int by_total(const void *a, const void *b)
{
    const double x = ((const row *)a)->total, y = ((const row *)b)->total;
    return x < y ? -1 : x > y;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* The slowest rank's seconds, stage by stage and in all, and the most bytes. Collective. */
static status take_costs(comm *part, const stage_cost *costs, row *r)
{
    r->total = r->exchanged = 0;
    for (int s = 0; s < N_STAGES; s++) {
        r->stages[s] = costs[s].seconds;
        r->total += costs[s].seconds;
        r->exchanged += (double)costs[s].rank_bytes;
    }
    TRY(comm_max(part, &r->total, 1, COMM_DOUBLE));
    TRY(comm_max(part, &r->exchanged, 1, COMM_DOUBLE));
    return comm_max(part, r->stages, N_STAGES, COMM_DOUBLE);
}

typedef status (*run_function)(void *what, stage_cost *costs);

static status run_iteration(void *what, stage_cost *costs)
{
    return iteration_run(what, costs);
}

static status run_one_generation(void *what, stage_cost *costs)
{
    return generation_run(what, costs);
}

/* Once, then as often as asked for; the repeat of median time. Collective. */
static status repeat(const bench *b, comm *part, run_function run, void *what, row *r)
{
    static row tries[BENCH_MTIP_MAX_REPEAT];
    const int n = b->options.repeat;
    stage_cost costs[N_STAGES];
    TRY(run(what, costs));
    for (int i = 0; i < n; i++) {
        TRY(run(what, costs));
        tries[i] = *r;
        TRY(take_costs(part, costs, &tries[i]));
    }
    qsort(tries, (size_t)n, sizeof *tries, by_total);
    *r = tries[n / 2];
    return STATUS_OK;
}

/* A row of the ranks of part. Collective over it. */
static status measure(bench *b, comm *part, row *r)
{
    const bench_mtip_options *o = &b->options;
    iteration *it = NULL;
    generation *g = NULL;
    link_rates link;
    status result = STATUS_OK;
    r->ranks = comm_size(part);
    TRY(devices_count_users(part, b->dev, &r->gpus));
    if (o->strong) {
        TRY(generation_create(b->dev, part, &o->size, o->starts, o->memory, &r->setup, &g));
        result = repeat(b, part, run_one_generation, g, r);
        if (result == STATUS_OK) b->n_active = generation_active(g);
    } else {
        TRY(iteration_create(b->dev, part, &o->size, &r->setup, &it));
        result = repeat(b, part, run_iteration, it, r);
    }
    generation_destroy(g);
    iteration_destroy(it);
    TRY(result);
    TRY(link_measure(part, b->dev, o->size.path, &link));
    r->sum_rate = link.bytes;
    r->sum_delay = link.latency;
    return comm_max(part, &r->setup, 1, COMM_DOUBLE);
}

/* The first n ranks measure, the others wait. */
static status measure_first(bench *b, int n)
{
    comm *part = NULL;
    const bool in = comm_rank(b->world) < n;
    TRY(comm_split(b->world, in, &part));
    const status result = in ? measure(b, part, &b->rows[b->n_rows]) : STATUS_OK;
    comm_destroy(part);
    TRY(comm_agree(b->world, result));
    b->n_rows++;
    return STATUS_OK;
}

/* 1, 2, 3, 4, then doubled, then all. */
static int next_size(int n, int all)
{
    const int next = n < 4 ? n + 1 : 2 * n;
    return n < all && next > all ? all : next;
}

/* -- scaling -- */

typedef struct table {
    const bench *bench;
    const scaling_forecast *forecast; /* NULL: the rows themselves */
} table;

static void print_table(const table *t, bool csv, FILE *file)
{
    if (t->forecast)
        scaling_forecast_print(t->forecast, csv, file);
    else
        scaling_rows_print(t->bench->n_rows, t->bench->rows, csv, file);
}

static status write_csv(const table *t, const char *path)
{
    FILE *file = fopen(path, "w");
    if (!file) FAIL(STATUS_OUTPUT, "cannot write %s: %s", path, strerror(errno));
    print_table(t, true, file);
    const int lost = ferror(file);
    if (fclose(file) != 0 || lost) FAIL(STATUS_OUTPUT, "cannot write %s: is the disk full?", path);
    return STATUS_OK;
}

/* To the terminal, and to the files that are asked for. */
static status write_table(const table *t)
{
    const bench_mtip_options *o = &t->bench->options;
    print_table(t, false, stdout);
    if (o->csv) TRY(write_csv(t, o->csv));
    if (!o->svg) return STATUS_OK;
    return t->forecast ? scaling_forecast_plot(t->forecast, o->svg)
                       : scaling_rows_plot(t->bench->n_rows, t->bench->rows, o->strong, o->svg);
}

static status write_forecast(const bench *b)
{
    static scaling_forecast f;
    const bench_mtip_options *o = &b->options;
    TRY(scaling_model_fit(b->n_rows, b->rows, o->strong, o->starts, &f.model));
    TRY(scaling_forecast_make(b->n_rows, b->rows, o->forecast, &f));
    return write_table(&(table){b, &f});
}

static status write_rows(bench *b)
{
    if (comm_rank(b->world) != 0) return STATUS_OK;
    if (b->options.read) TRY(scaling_rows_read(b->options.read, b->rows, &b->n_rows));
    scaling_rows_compare(b->n_rows, b->rows, b->options.strong);
    if (b->options.forecast) return write_forecast(b);
    if (b->n_active > 0) printf("%lld references carry weight\n", (long long)b->n_active);
    return write_table(&(table){b, NULL});
}

static status scaling(bench *b)
{
    const int all = comm_size(b->world);
    const int first = b->options.read ? all + 1 : b->options.only ? all : 1;
    for (int n = first; n <= all && b->n_rows < SCALING_MAX_ROWS; n = next_size(n, all))
        TRY(measure_first(b, n));
    return comm_agree(b->world, write_rows(b));
}

/* -- table 2 -- */

/* The paper's seconds on one V100 GPU, copies included. */
static const double paper_slicing = 0.075, paper_merging = 1.8;

static void print_stage(const iteration *it, const row *r, machine_rates rates, stage s)
{
    const double least = floor_seconds(iteration_work(it, s), rates);
    printf("%-10s %12.6f %12.6f %9.2f\n", stage_name(s), r->stages[s], least, least / r->stages[s]);
}

static void print_table2(const bench *b, const iteration *it, const row *r, machine_rates rates,
                         const double copies[2])
{
    const iteration_options *o = &b->options.size;
    const long long pixels = (long long)(o->pixels * o->pixels);
    printf("on the %s, %s precision, tolerance %g, grid %lld (merging %lld), %lld pixels\n"
           "rates: copy %.0f GB/s, product %.0f GFLOP/s\n\n",
           device_kind_of(b->dev) == DEVICE_CPU ? "CPU" : "GPU",
           option_precision_name((int)o->precision), o->tolerance, (long long)o->size,
           (long long)(2 * o->size - 1), pixels, 1e-9 * rates.bytes, 1e-9 * rates.operations);
    printf("Table II                   paper/s     copies/s  no copies/s  paper/copies\n"
           "slicing %10lld points %8.3f %12.6f %12.6f %12.1f\n"
           "merging %10lld points %8.3f %12.6f %12.6f %12.1f\n\n",
           (long long)o->references * pixels, paper_slicing, copies[0], r->stages[STAGE_SLICE],
           paper_slicing / copies[0], (long long)o->merged * pixels, paper_merging, copies[1],
           r->stages[STAGE_MERGE], paper_merging / copies[1]);
    printf("one iteration: match %lld x %lld, solve %d iterations, phase %d steps\n"
           "stage           seconds        floor  floor/is\n",
           (long long)o->images, (long long)o->references, o->cg, 125 * o->loops + 50);
    for (int s = 0; s < STAGE_EXCHANGE; s++)
        print_stage(it, r, rates, (stage)s);
    printf("%-10s %12.6f\n%-10s %12.6f\n", "setup", r->setup, "all", r->total);
}

/* Medians of slicing and merging with copies. */
static status time_copies(const bench *b, iteration *it, double copies[2])
{
    double seconds[2][BENCH_MTIP_MAX_REPEAT];
    const int n = b->options.repeat;
    for (int i = 0; i < n; i++)
        TRY(iteration_time_copies(it, &seconds[0][i], &seconds[1][i]));
    for (int k = 0; k < 2; k++) {
        qsort(seconds[k], (size_t)n, sizeof(double), ascending);
        copies[k] = seconds[k][n / 2];
    }
    return STATUS_OK;
}

static status time_table2(bench *b, comm *alone)
{
    row r = {.ranks = 1};
    iteration *it = NULL;
    machine_rates rates;
    double copies[2];
    status result = STATUS_OK;
    TRY(machine_measure(b->dev, b->options.size.precision, &rates));
    TRY_OR(done, iteration_create(b->dev, alone, &b->options.size, &r.setup, &it));
    TRY_OR(done, repeat(b, alone, run_iteration, it, &r));
    TRY_OR(done, time_copies(b, it, copies));
    print_table2(b, it, &r, rates, copies);
done:
    iteration_destroy(it);
    return result;
}

/* On rank 0, alone. */
static status table2(bench *b)
{
    comm *part = NULL;
    const bool in = comm_rank(b->world) == 0;
    TRY(comm_split(b->world, in, &part));
    const status result = in ? time_table2(b, part) : STATUS_OK;
    comm_destroy(part);
    return comm_agree(b->world, result);
}

status bench_mtip(int argc, char *const argv[], comm *world)
{
    static bench b;
    b.world = world;
    TRY(bench_mtip_options_parse(argc, argv, &b.options)); /* alike on all ranks */
    if (b.options.help) {
        if (comm_rank(world) == 0) bench_mtip_options_help(stdout);
        return STATUS_OK;
    }
    status result = choose_device(&b);
    if (result == STATUS_OK) result = b.options.table2 ? table2(&b) : scaling(&b);
    device_destroy(b.dev);
    return result;
}
