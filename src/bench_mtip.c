/* bench_mtip.c: which ranks measure what; tables. */
#include "bench_mtip.h"

#include "bench_generation.h"
#include "bench_mtip_options.h"
#include "devices.h"
#include "option_table.h"
#include "scaling_rows.h"
#include "svg_plot.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ROWS = 64 };
typedef scaling_row row;

typedef struct bench {
    bench_mtip_options options;
    comm *world;
    device *dev;
    int n_rows;
    row rows[MAX_ROWS];
} bench;

static status choose_device(bench *b)
{
    static config cfg;
    config_default(&cfg);
    cfg.parallel.backend = (unsigned)b->options.backend;
    return devices_choose(&cfg, b->world, b->options.threads, &b->dev);
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

/* The slowest rank's seconds, stage by stage and in all. Collective. */
static status take_costs(comm *part, const stage_cost *costs, row *r)
{
    r->total = 0;
    for (int s = 0; s < N_STAGES; s++) {
        r->stages[s] = costs[s].seconds;
        r->total += costs[s].seconds;
    }
    TRY(comm_max(part, &r->total, 1, COMM_DOUBLE));
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
    status result = STATUS_OK;
    r->ranks = comm_size(part);
    TRY(devices_count_users(part, b->dev, &r->gpus));
    if (o->strong) {
        TRY(generation_create(b->dev, part, &o->size, o->starts, o->memory, &r->setup, &g));
        result = repeat(b, part, run_one_generation, g, r);
    } else {
        TRY(iteration_create(b->dev, part, &o->size, &r->setup, &it));
        result = repeat(b, part, run_iteration, it, r);
    }
    generation_destroy(g);
    iteration_destroy(it);
    TRY(result);
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

static void print_rows(const bench *b, FILE *file, bool csv)
{
    fprintf(file, csv ? "ranks,gpus,setup_s" : "ranks gpus   setup/s");
    for (int s = 0; s < N_STAGES; s++)
        fprintf(file, csv ? ",%s_s" : " %10s", stage_name((stage)s));
    fprintf(file, csv ? ",total_s,efficiency\n" : "      total efficiency\n");
    for (int i = 0; i < b->n_rows; i++) {
        const row *r = &b->rows[i];
        fprintf(file, csv ? "%d,%d,%.6g" : "%5d %4d %9.4f", r->ranks, r->gpus, r->setup);
        for (int s = 0; s < N_STAGES; s++)
            fprintf(file, csv ? ",%.6g" : " %10.6f", r->stages[s]);
        fprintf(file, csv ? ",%.6g,%.4f\n" : " %10.6f %10.3f\n", r->total, r->efficiency);
    }
}

static status write_csv(const bench *b)
{
    FILE *file = fopen(b->options.csv, "w");
    if (!file) FAIL(STATUS_OUTPUT, "cannot write %s: %s", b->options.csv, strerror(errno));
    print_rows(b, file, true);
    const int lost = ferror(file);
    if (fclose(file) != 0 || lost)
        FAIL(STATUS_OUTPUT, "cannot write %s: is the disk full?", b->options.csv);
    return STATUS_OK;
}

static status write_svg(const bench *b)
{
    enum { LINES = N_STAGES + 2 };
    double x[MAX_ROWS], y[LINES][MAX_ROWS];
    svg_line lines[LINES];
    for (int i = 0; i < b->n_rows; i++) {
        x[i] = b->rows[i].ranks;
        for (int s = 0; s < N_STAGES; s++)
            y[s][i] = b->rows[i].stages[s];
        y[N_STAGES][i] = b->rows[i].total;
        y[N_STAGES + 1][i] = b->rows[i].setup;
    }
    for (int l = 0; l < LINES; l++) {
        const char *name = l < N_STAGES ? stage_name((stage)l) : l == N_STAGES ? "all" : "setup";
        lines[l] = (svg_line){name, b->n_rows, x, y[l], l, SVG_LINE_AND_DOTS};
    }
    const svg_plot plot = {.title = b->options.weak ? "Weak scaling: fixed work per rank"
                                                    : "Strong scaling: one generation",
                           .x = {.label = "ranks", .log = true, .each = true},
                           .y = {.label = "seconds", .log = true},
                           .n_lines = LINES,
                           .lines = lines};
    return svg_plot_write(&plot, b->options.svg);
}

static status write_rows(bench *b)
{
    if (comm_rank(b->world) != 0) return STATUS_OK;
    if (b->options.read) TRY(scaling_rows_read(b->options.read, MAX_ROWS, b->rows, &b->n_rows));
    scaling_rows_compare(b->n_rows, b->rows, b->options.strong);
    print_rows(b, stdout, false);
    if (b->options.csv) TRY(write_csv(b));
    return b->options.svg ? write_svg(b) : STATUS_OK;
}

static status scaling(bench *b)
{
    const int all = comm_size(b->world);
    const int first = b->options.read ? all + 1 : b->options.only ? all : 1;
    for (int n = first; n <= all && b->n_rows < MAX_ROWS; n = next_size(n, all))
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
