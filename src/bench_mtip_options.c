#include "bench_mtip_options.h"

#include "config.h"
#include "option_table.h"

static const char *backend_name(int i)
{
    return i == CONFIG_BACKEND_AUTO   ? "auto"
           : i == CONFIG_BACKEND_CPU  ? "cpu"
           : i == CONFIG_BACKEND_CUDA ? "cuda"
                                      : NULL;
}

#define AT(field)      offsetof(bench_mtip_options, field)
#define FLAG(f)        OPTION_FLAG, 0, AT(f), 0, 0, NULL
#define TEXT(f)        OPTION_TEXT, 0, AT(f), 0, 0, NULL
#define COUNT(f, l, m) OPTION_COUNT, 0, AT(f), l, m, NULL

/* clang-format off */
static const option options[] = {
    {"--table2", NULL, "the paper's Table II and one iteration, on one rank", FLAG(table2)},
    {"--weak", NULL, "1, 2, .. ranks with the paper's work for each: setup and execution", FLAG(weak)},
    {"--strong", NULL, "1, 2, .. ranks that share a generation of mtip reconstruct", FLAG(strong)},
    {"--backend", "B", "[auto]", OPTION_CHOICE, 0, AT(backend), 0, 0, backend_name},
    {"--threads", "N", "of a rank on the CPU [as parallel.threads: 0]", OPTION_INTEGER, 0, AT(threads), 1, 4096, NULL},
    {"--repeat", "N", "iterations, of which the median counts, after one that does not [5]", OPTION_INTEGER, 0, AT(repeat), 1, BENCH_MTIP_MAX_REPEAT, NULL},
    {"--csv", "FILE", "the table as CSV", TEXT(csv)},
    {"--svg", "FILE", "the table as a plot", TEXT(svg)},
    {"--only", NULL, "all ranks alone, not 1, 2, .. of them before", FLAG(only)},
    {"--read", "FILE", "measure nothing: tables of --csv, one after another in a file", TEXT(read)},
    {"--forecast", "R,...", "with --read: a model fitted to the table, and what it says of R ranks", TEXT(forecast)},
    {"--staged", NULL, "devices exchange through host memory, not with --strong", FLAG(staged)},
    {"--precision", "P", "[double]", OPTION_CHOICE, 0, AT(size.precision), 0, 0, option_precision_name},
    {"--size", "N", "edge of the grid [41]", COUNT(size.size, 8, 1024)},
    {"--pixels", "N", "edge of the detector [32]", COUNT(size.pixels, 2, 8192)},
    {"--references", "N", "[1000]", COUNT(size.references, 1, 1e9)},
    {"--images", "N", "[1000; of a rank with --weak, of all with --strong]", COUNT(size.images, 1, 1e9)},
    {"--merged", "N", "slices merged by a rank, not with --strong [16000]", COUNT(size.merged, 1, 1e9)},
    {"--tolerance", "E", "of the NUFFTs [1e-12]", OPTION_REAL, 0, AT(size.tolerance), 1e-300, 1, NULL},
    {"--cg", "N", "iterations of the solve [100]", OPTION_INTEGER, 0, AT(size.cg), 0, 1e6, NULL},
    {"--loops", "N", "of phasing, 125 steps each and 50 at the end [10]", OPTION_INTEGER, 0, AT(size.loops), 0, 1e6, NULL},
    {"--starts", "N", "of phasing, with --strong [4]", COUNT(starts, 1, 1e6)},
    {"--memory", "MB", "of a rank for kept scores, with --strong [1024]", OPTION_REAL, 0, AT(memory), 1e-6, 1e7, NULL},
    {"--help", NULL, "this text", FLAG(help)},
    {0},
};
/* clang-format on */

static const option_table table = {
    "mtip bench mtip",
    "Times the stages of M-TIP together, on synthetic data; under mpirun on many ranks.\n",
    "mpirun -n 4 mtip bench mtip --weak --svg weak.svg", options};

void bench_mtip_options_help(FILE *out)
{
    option_table_help(&table, out);
}

status bench_mtip_options_parse(int n, char *const arguments[], bench_mtip_options *o)
{
    *o = (bench_mtip_options){.size = iteration_paper(),
                              .starts = 4,
                              .repeat = 5,
                              .memory = 1024,
                              .backend = CONFIG_BACKEND_AUTO};
    TRY(option_table_read(&table, n, arguments, o, NULL));
    if (o->help) return STATUS_OK;
    if (o->table2 + o->weak + o->strong != 1)
        FAIL(STATUS_USAGE, "choose --table2, --weak or --strong; see mtip bench mtip --help");
    if (o->table2 && (o->read || o->only))
        FAIL(STATUS_USAGE, "--only and --read go with --weak and --strong");
    if (o->forecast && !o->read)
        FAIL(STATUS_USAGE, "--forecast goes with --read, a table that was measured");
    if (!o->strong && o->size.merged < o->size.images)
        FAIL(STATUS_USAGE, "--merged is %lld, fewer than the %lld images",
             (long long)o->size.merged, (long long)o->size.images);
    if (o->staged) o->size.path = COMM_STAGED;
    return STATUS_OK;
}
