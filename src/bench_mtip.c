/* bench_mtip.c: options; which ranks measure what; tables. */
#include "bench_mtip.h"

#include "bench_generation.h"
#include "bench_iteration.h"
#include "devices.h"
#include "svg_plot.h"
#include "text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ROWS = 64, MAX_REPEAT = 100 };

typedef enum mode { MODE_TABLE2, MODE_WEAK, MODE_STRONG } mode;

typedef struct settings {
    mode mode;
    iteration_options size;
    int64_t starts, repeat, threads;
    double memory;
    const char *backend, *precision, *csv, *svg;
    bool help;
} settings;

/* What a number of ranks took: the slowest rank's seconds, median of the repeats. */
typedef struct row {
    int ranks, gpus;
    double setup, total, efficiency;
    double stages[N_STAGES];
} row;

typedef struct bench {
    settings settings;
    comm *world;
    device *dev;
    int n_rows;
    row rows[MAX_ROWS];
} bench;

static const char HELP[] =
    "Times the stages of M-TIP together, on synthetic data; under mpirun on many ranks.\n"
    "  --table2          the paper's Table II and one iteration, on one rank\n"
    "  --weak            1, 2, .. ranks with the paper's work for each: setup and execution\n"
    "  --strong          1, 2, .. ranks that share a generation of mtip reconstruct\n"
    "  --backend B       auto, cpu or cuda [auto]\n"
    "  --threads N       of a rank on the CPU [all it may use]\n"
    "  --repeat N        iterations, of which the median counts, after one that does not [5]\n"
    "  --csv FILE        the table as CSV\n"
    "  --svg FILE        the table as a plot\n"
    "  --staged          devices exchange through host memory, not with --strong\n"
    "  --precision P     single or double [double]\n"
    "  --size N          edge of the grid [41]\n"
    "  --pixels N        edge of the detector [32]\n"
    "  --references N    [1000]\n"
    "  --images N        [1000; of a rank with --weak, of all with --strong]\n"
    "  --merged N        slices merged by a rank, not with --strong [16000]\n"
    "  --tolerance E     of the NUFFTs [1e-12]\n"
    "  --cg N            iterations of the solve [100]\n"
    "  --loops N         of phasing, 125 steps each and 50 at the end [10]\n"
    "  --starts N        of phasing, with --strong [4]\n"
    "  --memory MB       of a rank for kept scores, with --strong [1024]\n";

/* -- options -- */

static status parse_number(const char *name, const char *text, settings *s)
{
    const struct {
        const char *name;
        int64_t *value, least;
    } numbers[] = {
        {"--repeat", &s->repeat, 1},      {"--threads", &s->threads, 1},
        {"--size", &s->size.size, 8},     {"--pixels", &s->size.pixels, 2},
        {"--images", &s->size.images, 1}, {"--references", &s->size.references, 1},
        {"--merged", &s->size.merged, 1}, {"--starts", &s->starts, 1},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (strcmp(name, numbers[i].name) != 0) continue;
        if (text_int64(text, numbers[i].value) != TEXT_NUMBER_OK ||
            *numbers[i].value < numbers[i].least)
            FAIL(STATUS_USAGE, "%s is '%s', not a whole number of at least %lld", name, text,
                 (long long)numbers[i].least);
        return STATUS_OK;
    }
    FAIL(STATUS_USAGE, "unknown option '%s'; see mtip bench mtip --help", name);
}

static status parse_value(const char *name, const char *text, settings *s)
{
    const struct {
        const char *name, **value;
    } texts[] = {{"--backend", &s->backend},
                 {"--precision", &s->precision},
                 {"--csv", &s->csv},
                 {"--svg", &s->svg}};
    const struct {
        const char *name;
        double *value;
    } reals[] = {{"--tolerance", &s->size.tolerance}, {"--memory", &s->memory}};
    const struct {
        const char *name;
        int *value;
    } steps[] = {{"--cg", &s->size.cg}, {"--loops", &s->size.loops}};
    if (!text)
        FAIL(STATUS_USAGE, "%s needs a value or is unknown; see mtip bench mtip --help", name);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(name, texts[i].name) == 0) {
            *texts[i].value = text;
            return STATUS_OK;
        }
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++)
        if (strcmp(name, reals[i].name) == 0) {
            if (text_double(text, reals[i].value) == TEXT_NUMBER_OK && *reals[i].value > 0)
                return STATUS_OK;
            FAIL(STATUS_USAGE, "%s is '%s', not a number above 0", name, text);
        }
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (strcmp(name, steps[i].name) == 0) {
            int64_t n;
            if (text_int64(text, &n) != TEXT_NUMBER_OK || n < 0 || n > 1000000)
                FAIL(STATUS_USAGE, "%s is '%s', not a number from 0 to 1000000", name, text);
            *steps[i].value = (int)n;
            return STATUS_OK;
        }
    return parse_number(name, text, s);
}

static bool parse_flag(const char *name, settings *s, bool *chosen)
{
    static const char *const modes[] = {"--table2", "--weak", "--strong"};
    for (int i = 0; i < 3; i++)
        if (strcmp(name, modes[i]) == 0) {
            s->mode = (mode)i;
            return *chosen = true;
        }
    if (strcmp(name, "--staged") == 0) {
        s->size.path = COMM_STAGED;
        return true;
    }
    return strcmp(name, "--help") == 0 ? (s->help = true) : false;
}

static status parse(int argc, char *const argv[], settings *s)
{
    bool chosen = false;
    *s = (settings){.size = iteration_paper(),
                    .starts = 4,
                    .repeat = 5,
                    .memory = 1024,
                    .backend = "auto",
                    .precision = "double"};
    for (int i = 1; i < argc; i++) {
        if (parse_flag(argv[i], s, &chosen)) continue;
        TRY(parse_value(argv[i], i + 1 < argc ? argv[i + 1] : NULL, s));
        i++;
    }
    if (strcmp(s->precision, "single") == 0)
        s->size.precision = PRECISION_SINGLE;
    else if (strcmp(s->precision, "double") != 0)
        FAIL(STATUS_USAGE, "--precision is '%s', not single or double", s->precision);
    if (!chosen && !s->help)
        FAIL(STATUS_USAGE, "choose --table2, --weak or --strong; see mtip bench mtip --help");
    if (s->mode != MODE_STRONG && s->size.merged < s->size.images)
        FAIL(STATUS_USAGE, "--merged is %lld, fewer than the %lld images",
             (long long)s->size.merged, (long long)s->size.images);
    if (s->repeat > MAX_REPEAT)
        FAIL(STATUS_USAGE, "--repeat is %lld, at most %d", (long long)s->repeat, MAX_REPEAT);
    return STATUS_OK;
}

static status choose_device(bench *b)
{
    static config cfg;
    const char *backend = b->settings.backend;
    config_default(&cfg);
    if (strcmp(backend, "cpu") == 0)
        cfg.parallel.backend = CONFIG_BACKEND_CPU;
    else if (strcmp(backend, "cuda") == 0)
        cfg.parallel.backend = CONFIG_BACKEND_CUDA;
    else if (strcmp(backend, "auto") != 0)
        FAIL(STATUS_USAGE, "--backend is '%s', not auto, cpu or cuda", backend);
    return devices_choose(&cfg, b->world, (int)b->settings.threads, &b->dev);
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
    static row tries[MAX_REPEAT];
    const int n = (int)b->settings.repeat;
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
    const settings *s = &b->settings;
    iteration *it = NULL;
    generation *g = NULL;
    status result = STATUS_OK;
    r->ranks = comm_size(part);
    TRY(devices_count_users(part, b->dev, &r->gpus));
    if (s->mode == MODE_STRONG) {
        TRY(generation_create(b->dev, part, &s->size, s->starts, s->memory, &r->setup, &g));
        result = repeat(b, part, run_one_generation, g, r);
    } else {
        TRY(iteration_create(b->dev, part, &s->size, &r->setup, &it));
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
    row *r = &b->rows[b->n_rows];
    const bool in = comm_rank(b->world) < n;
    TRY(comm_split(b->world, in, &part));
    const status result = in ? measure(b, part, r) : STATUS_OK;
    comm_destroy(part);
    TRY(comm_agree(b->world, result));
    const double ideal = b->rows[0].total / (b->settings.mode == MODE_STRONG ? n : 1);
    r->efficiency = ideal / r->total;
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
    FILE *file = fopen(b->settings.csv, "w");
    if (!file) FAIL(STATUS_OUTPUT, "cannot write %s: %s", b->settings.csv, strerror(errno));
    print_rows(b, file, true);
    const int lost = ferror(file);
    if (fclose(file) != 0 || lost)
        FAIL(STATUS_OUTPUT, "cannot write %s: is the disk full?", b->settings.csv);
    return STATUS_OK;
}

static status write_svg(const bench *b)
{
    double x[MAX_ROWS], y[N_STAGES + 2][MAX_ROWS];
    svg_plot plot = {.title = b->settings.mode == MODE_WEAK ? "Weak scaling: fixed work per rank"
                                                            : "Strong scaling: one generation",
                     .x_label = "ranks",
                     .y_label = "seconds",
                     .n = b->n_rows,
                     .x = x,
                     .n_lines = N_STAGES + 2};
    for (int i = 0; i < b->n_rows; i++) {
        x[i] = b->rows[i].ranks;
        for (int s = 0; s < N_STAGES; s++)
            y[s][i] = b->rows[i].stages[s];
        y[N_STAGES][i] = b->rows[i].total;
        y[N_STAGES + 1][i] = b->rows[i].setup;
    }
    for (int l = 0; l < N_STAGES + 2; l++)
        plot.lines[l] = (svg_line){l < N_STAGES    ? stage_name((stage)l)
                                   : l == N_STAGES ? "all"
                                                   : "setup",
                                   y[l]};
    return svg_plot_write(&plot, b->settings.svg);
}

static status write_rows(const bench *b)
{
    if (comm_rank(b->world) != 0) return STATUS_OK;
    print_rows(b, stdout, false);
    if (b->settings.csv) TRY(write_csv(b));
    return b->settings.svg ? write_svg(b) : STATUS_OK;
}

static status scaling(bench *b)
{
    const int all = comm_size(b->world);
    for (int n = 1; n <= all && b->n_rows < MAX_ROWS; n = next_size(n, all))
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
    const iteration_options *o = &b->settings.size;
    const long long pixels = (long long)(o->pixels * o->pixels);
    printf("on the %s, %s precision, tolerance %g, grid %lld (merging %lld), %lld pixels\n"
           "rates: copy %.0f GB/s, product %.0f GFLOP/s\n\n",
           device_kind_of(b->dev) == DEVICE_CPU ? "CPU" : "GPU", b->settings.precision,
           o->tolerance, (long long)o->size, (long long)(2 * o->size - 1), pixels,
           1e-9 * rates.bytes, 1e-9 * rates.operations);
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
    double seconds[2][MAX_REPEAT];
    const int n = (int)b->settings.repeat;
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
    TRY(machine_measure(b->dev, b->settings.size.precision, &rates));
    TRY_OR(done, iteration_create(b->dev, alone, &b->settings.size, &r.setup, &it));
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
    TRY(parse(argc, argv, &b.settings)); /* alike on all ranks */
    if (b.settings.help) {
        if (comm_rank(world) == 0) fputs(HELP, stdout);
        return STATUS_OK;
    }
    status result = choose_device(&b);
    if (result == STATUS_OK) result = b.settings.mode == MODE_TABLE2 ? table2(&b) : scaling(&b);
    device_destroy(b.dev);
    return result;
}
