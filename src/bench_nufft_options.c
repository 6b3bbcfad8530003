#include "bench_nufft_options.h"

#include "option_table.h"

/* Options go with what is timed: anything, one case, a list. */
enum { ALWAYS, CASE, LIST, N_GROUPS };

static const char *device_name(int i)
{
    return i == DEVICE_CPU ? "cpu" : i == DEVICE_CUDA ? "cuda" : NULL;
}

static const char *points_name(int i)
{
    return bench_points_name((bench_points)i);
}

static const char *method_name(int i)
{
    return nufft_method_name((nufft_method)i);
}

#define AT(field) offsetof(bench_options, field)
#define OF(field) offsetof(bench_options, one.problem.field)

/* clang-format off */
static const option options[] = {
    {"--dim", "1|2|3", "dimensions [3]", OPTION_INTEGER, CASE, OF(dim), 1, 3, NULL},
    {"--type", "1|2", "adjoint or forward [1]", OPTION_INTEGER, CASE, AT(one.type), 1, 2, NULL},
    {"--precision", "P", "[double]", OPTION_CHOICE, CASE, OF(precision), 0, 0, option_precision_name},
    {"--modes", "N[,N[,N]]", "modes per dimension, x first [81]", OPTION_SIZES, CASE, OF(modes), 1, 1e9, NULL},
    {"--points", "N", "number of points [1000000]", OPTION_COUNT, CASE, OF(n_points), 0, OPTION_MANY, NULL},
    {"--points-from", "KIND", "[rand]", OPTION_CHOICE, CASE, OF(points), 0, 0, points_name},
    {"--tolerance", "E", "relative l2 error asked for [1e-6]", OPTION_REAL, CASE, AT(one.tolerance), 1e-300, 1, NULL},
    {"--upsampling", "S", "2 or 1.25 [the plan chooses]", OPTION_REAL, CASE, AT(one.upsampling), 1, 2, NULL},
    {"--real", NULL, "real values at the points", OPTION_FLAG, CASE, OF(real), 0, 0, NULL},
    {"--batch", "N", "vectors transformed together [1]", OPTION_INTEGER, CASE, OF(batch), 1, 1e9, NULL},
    {"--sign", "1|-1", "of the forward transform's exponent [1]", OPTION_INTEGER, CASE, OF(sign), -1, 1, NULL},
    {"--method", "M", "(of a GPU) [default]", OPTION_CHOICE, CASE, AT(one.method), 0, 0, method_name},
    {"--suite", NULL, "instead of one case: those the NUFFT is judged by, beside their goals", OPTION_FLAG, LIST, AT(suite), 0, 0, NULL},
    {"--table2", NULL, "instead: slicing and merging as in the cuFINUFFT paper's table II", OPTION_FLAG, LIST, AT(table2), 0, 0, NULL},
    {"--study", NULL, "instead: methods, sizes, densities and tolerances as in that paper", OPTION_FLAG, LIST, AT(study), 0, 0, NULL},
    {"--only", "TEXT", "of these lists: cases with TEXT in their names", OPTION_TEXT, LIST, AT(only), 0, 0, NULL},
    {"--scale", "F", "of these lists: F times the points and modes [1]", OPTION_REAL, LIST, AT(scale), 1e-9, 1e3, NULL},
    {"--device", "D", "(the current GPU) [cpu]", OPTION_CHOICE, ALWAYS, AT(device), 0, 0, device_name},
    {"--threads", "N", "of the CPU [all]", OPTION_INTEGER, ALWAYS, AT(threads), 0, 1e6, NULL},
    {"--repeat", "N", "runs timed [as many as take 0.1 s, from 5 to 50]", OPTION_INTEGER, ALWAYS, AT(repeat), 1, 256, NULL},
    {"--outputs", "N", "outputs compared with direct sums [256]", OPTION_INTEGER, ALWAYS, AT(outputs), 200, 1e6, NULL},
    {"--csv", NULL, "a header and a line each case", OPTION_FLAG, ALWAYS, AT(csv), 0, 0, NULL},
    {"--json", NULL, "an object each case; an array of them for a list", OPTION_FLAG, ALWAYS, AT(json), 0, 0, NULL},
    {"--help", NULL, "this text", OPTION_FLAG, ALWAYS, AT(help), 0, 0, NULL},
    {0},
};
/* clang-format on */

static const option_table table = {
    "mtip bench nufft",
    "Times nonuniform FFTs and compares some of their outputs with direct sums. Times are\n"
    "milliseconds by the device's clock, medians and least: set_ms of set_points, exec_ms of\n"
    "a transform, total_ms of both, copies_ms of both with copies from and to (pageable)\n"
    "memory of the host.\n",
    "mtip bench nufft --dim 3 --type 1 --modes 81 --points 16384000 --tolerance 1e-12 --json",
    options};

void bench_options_help(FILE *out)
{
    option_table_help(&table, out);
}

static status check(const bench_options *o, const char *of_case, const char *of_list)
{
    bool list = o->suite || o->table2 || o->study;
    if (list && of_case)
        FAIL(STATUS_USAGE, "%s is for one case, not for --suite, --table2 or --study", of_case);
    if (!list && of_list) FAIL(STATUS_USAGE, "%s is for --suite, --table2 or --study", of_list);
    if (o->csv && o->json) FAIL(STATUS_USAGE, "--csv and --json: one of them");
    if (o->one.problem.sign == 0) FAIL(STATUS_USAGE, "--sign is '0'; it must be 1 or -1");
    if (o->one.problem.points == BENCH_EWALD && o->one.problem.dim != 3)
        FAIL(STATUS_USAGE, "--points-from ewald is for --dim 3");
    return STATUS_OK;
}

status bench_options_parse(int n, char **arguments, bench_options *o)
{
    const char *last_of[N_GROUPS] = {NULL};
    *o = (bench_options){.one = {.problem = {.dim = 3,
                                             .modes = {81, 81, 81},
                                             .n_points = 1000000,
                                             .precision = PRECISION_DOUBLE,
                                             .batch = 1,
                                             .sign = 1},
                                 .type = 1,
                                 .tolerance = 1e-6},
                         .scale = 1,
                         .outputs = 256};
    TRY(option_table_read(&table, n, arguments, o, last_of));
    for (int d = o->one.problem.dim; d < 3; d++)
        o->one.problem.modes[d] = 1;
    bench_case_name(&o->one);
    return check(o, last_of[CASE], last_of[LIST]);
}
