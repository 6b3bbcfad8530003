#include "bench_nufft_options.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "text.h"

typedef enum option_kind { FLAG, INTEGER, COUNT, REAL, CHOICE, SIZES, TEXT } option_kind;
typedef enum option_use { ALWAYS, CASE, LIST } option_use;

typedef struct option {
    const char *name, *value, *meaning;
    option_kind kind;
    option_use use; /* with what is timed: anything, one case, a list */
    size_t at; /* in bench_options: bool, int, int64_t, double, int, int64_t[3], const char * */
    double min, max;
    const char *(*choice)(int i); /* NULL beyond the last */
} option;

static const char *precision_name(int i)
{
    return i == PRECISION_SINGLE ? "single" : i == PRECISION_DOUBLE ? "double" : NULL;
}

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
#define MANY      9007199254740992. /* 2^53: every count is a double */

/* clang-format off */
static const option OPTIONS[] = {
    {"--dim", "1|2|3", "dimensions [3]", INTEGER, CASE, OF(dim), 1, 3, NULL},
    {"--type", "1|2", "adjoint or forward [1]", INTEGER, CASE, AT(one.type), 1, 2, NULL},
    {"--precision", "P", "[double]", CHOICE, CASE, OF(precision), 0, 0, precision_name},
    {"--modes", "N[,N[,N]]", "modes per dimension, x first [81]", SIZES, CASE, OF(modes), 1, 1e9, NULL},
    {"--points", "N", "number of points [1000000]", COUNT, CASE, OF(n_points), 0, MANY, NULL},
    {"--points-from", "KIND", "[rand]", CHOICE, CASE, OF(points), 0, 0, points_name},
    {"--tolerance", "E", "relative l2 error asked for [1e-6]", REAL, CASE, AT(one.tolerance), 1e-300, 1, NULL},
    {"--upsampling", "S", "2 or 1.25 [the plan chooses]", REAL, CASE, AT(one.upsampling), 1, 2, NULL},
    {"--real", NULL, "real values at the points", FLAG, CASE, OF(real), 0, 0, NULL},
    {"--batch", "N", "vectors transformed together [1]", INTEGER, CASE, OF(batch), 1, 1e9, NULL},
    {"--sign", "1|-1", "of the forward transform's exponent [1]", INTEGER, CASE, OF(sign), -1, 1, NULL},
    {"--method", "M", "(of a GPU) [default]", CHOICE, CASE, AT(one.method), 0, 0, method_name},
    {"--suite", NULL, "instead of one case: those the NUFFT is judged by, beside their goals", FLAG, LIST, AT(suite), 0, 0, NULL},
    {"--table2", NULL, "instead: slicing and merging as in the cuFINUFFT paper's table II", FLAG, LIST, AT(table2), 0, 0, NULL},
    {"--study", NULL, "instead: methods, sizes, densities and tolerances as in that paper", FLAG, LIST, AT(study), 0, 0, NULL},
    {"--only", "TEXT", "of these lists: cases with TEXT in their names", TEXT, LIST, AT(only), 0, 0, NULL},
    {"--scale", "F", "of these lists: F times the points and modes [1]", REAL, LIST, AT(scale), 1e-9, 1e3, NULL},
    {"--device", "D", "(the current GPU) [cpu]", CHOICE, ALWAYS, AT(device), 0, 0, device_name},
    {"--threads", "N", "of the CPU [all]", INTEGER, ALWAYS, AT(threads), 0, 1e6, NULL},
    {"--repeat", "N", "runs timed [as many as take 0.1 s, from 5 to 50]", INTEGER, ALWAYS, AT(repeat), 1, 256, NULL},
    {"--outputs", "N", "outputs compared with direct sums [256]", INTEGER, ALWAYS, AT(outputs), 200, 1e6, NULL},
    {"--csv", NULL, "a header and a line each case", FLAG, ALWAYS, AT(csv), 0, 0, NULL},
    {"--json", NULL, "an object each case; an array of them for a list", FLAG, ALWAYS, AT(json), 0, 0, NULL},
    {"--help", NULL, "this text", FLAG, ALWAYS, AT(help), 0, 0, NULL},
};
/* clang-format on */

enum { N_OPTIONS = sizeof OPTIONS / sizeof OPTIONS[0] };

/* All choices of an option, with commas. */
static void list_choices(const option *a, char all[128])
{
    all[0] = '\0';
    for (int i = 0; a->choice(i); i++) {
        size_t n = strlen(all);
        (void)snprintf(all + n, 128 - n, "%s%s", i ? ", " : "", a->choice(i));
    }
}

void bench_options_help(FILE *out)
{
    fprintf(
        out,
        "usage: mtip bench nufft [OPTION]...\n\n"
        "Times nonuniform FFTs and compares some of their outputs with direct sums. Times are\n"
        "milliseconds by the device's clock, medians and least: set_ms of set_points, exec_ms of\n"
        "a transform, total_ms of both, copies_ms of both with copies from and to (pageable)\n"
        "memory of the host.\n\noptions:\n");
    for (int i = 0; i < N_OPTIONS; i++) {
        char left[48], choices[128] = "";
        snprintf(left, sizeof left, "%s %s", OPTIONS[i].name,
                 OPTIONS[i].value ? OPTIONS[i].value : "");
        if (OPTIONS[i].choice) list_choices(&OPTIONS[i], choices);
        fprintf(out, "  %-24s %s%s%s\n", left, choices, *choices ? " " : "", OPTIONS[i].meaning);
    }
}

static status find_option(const char *name, size_t length, const option **found)
{
    text_nearest search = text_nearest_start(name);
    char shown[64];
    for (int i = 0; i < N_OPTIONS; i++) {
        *found = &OPTIONS[i];
        if (strlen(OPTIONS[i].name) == length && strncmp(OPTIONS[i].name, name, length) == 0)
            return STATUS_OK;
        text_nearest_offer(&search, OPTIONS[i].name);
    }
    text_shown(name, shown);
    if (search.best)
        FAIL(STATUS_USAGE, "unknown option '%s', did you mean '%s'?", shown, search.best);
    FAIL(STATUS_USAGE, "unknown option '%s'; mtip bench nufft --help lists them", shown);
}

static status take_number(const option *a, const char *text, void *to)
{
    double number = 0;
    bool whole = a->kind != REAL;
    if (text_double(text, &number) != TEXT_NUMBER_OK || number < a->min || number > a->max ||
        (whole && number != floor(number)))
        FAIL(STATUS_USAGE, "%s is '%s'; it must be %s %g .. %g", a->name, text,
             whole ? "an integer" : "a number", a->min, a->max);
    if (a->kind == INTEGER)
        *(int *)to = (int)number;
    else if (a->kind == COUNT)
        *(int64_t *)to = (int64_t)number;
    else
        *(double *)to = number;
    return STATUS_OK;
}

static status take_choice(const option *a, const char *text, void *to)
{
    char all[128];
    for (int i = 0; a->choice(i); i++)
        if (strcmp(text, a->choice(i)) == 0) {
            *(int *)to = i;
            return STATUS_OK;
        }
    list_choices(a, all);
    FAIL(STATUS_USAGE, "%s is '%s'; it must be one of %s", a->name, text, all);
}

/* The last number holds for the dimensions after it. */
static status take_sizes(const option *a, const char *text, int64_t sizes[3])
{
    const char *at = text;
    for (int d = 0; d < 3; d++) {
        char number[32] = "";
        size_t length = strcspn(at, ",");
        if (length < sizeof number) memcpy(number, at, length);
        bool last = at[length] == '\0';
        if (text_int64(number, &sizes[d]) != TEXT_NUMBER_OK || (double)sizes[d] < a->min ||
            (double)sizes[d] > a->max || (d == 2 && !last))
            break;
        at += length + 1;
        if (!last) continue;
        for (int e = d + 1; e < 3; e++)
            sizes[e] = sizes[d];
        return STATUS_OK;
    }
    FAIL(STATUS_USAGE, "%s is '%s'; it must be one to three sizes such as 81 or 81,82,83", a->name,
         text);
}

static status take(const option *a, const char *text, bench_options *o)
{
    void *to = (char *)o + a->at;
    switch (a->kind) {
    case FLAG:
        *(bool *)to = true;
        return STATUS_OK;
    case TEXT:
        *(const char **)to = text;
        return STATUS_OK;
    case CHOICE:
        return take_choice(a, text, to);
    case SIZES:
        return take_sizes(a, text, to);
    default:
        return take_number(a, text, to);
    }
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
    const char *of_case = NULL, *of_list = NULL;
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
    for (int i = 1; i < n; i++) {
        const option *a = NULL;
        const char *equals = strchr(arguments[i], '='), *value = equals ? equals + 1 : NULL;
        TRY(find_option(arguments[i], strcspn(arguments[i], "="), &a));
        if (!a->value && value) FAIL(STATUS_USAGE, "option %s takes no value", a->name);
        if (a->value && !value && i + 1 < n) value = arguments[++i];
        if (a->value && !value)
            FAIL(STATUS_USAGE, "option %s needs a value; write %s %s", a->name, a->name, a->value);
        TRY(take(a, value ? value : "", o));
        if (a->use == CASE) of_case = a->name;
        if (a->use == LIST) of_list = a->name;
    }
    for (int d = o->one.problem.dim; d < 3; d++)
        o->one.problem.modes[d] = 1;
    bench_case_name(&o->one);
    return check(o, of_case, of_list);
}
