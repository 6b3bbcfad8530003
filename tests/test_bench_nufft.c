/* The NUFFT's benchmark: its exact sums and points, its command line, what it prints, and that the
   cases it times are right. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <yaml.h>

#include "bench_nufft.h"
#include "bench_nufft_data.h"

static const double PI = 3.14159265358979323846;

static double *direct(const bench_data *d, int type)
{
    const bench_problem *p = &d->problem;
    int64_t n = type == 1 ? d->n_modes : p->n_points, other = type == 1 ? p->n_points : d->n_modes;
    double *result = calloc(2 * (size_t)(n * p->batch), sizeof *result);
    double *in = calloc(2 * (size_t)other, sizeof *in);
    const double *const x[3] = {d->x[0], d->x[1], d->x[2]};
    for (int v = 0; v < p->batch; v++) {
        const double *from = type == 1 ? d->values : d->modes;
        bool alone = type == 1 && p->real;
        for (int64_t i = 0; i < other; i++) {
            in[2 * i] = alone ? from[v * other + i] : from[2 * (v * other + i)];
            if (!alone) in[2 * i + 1] = from[2 * (v * other + i) + 1];
        }
        double *to = result + 2 * v * n;
        if (type == 1)
            nufft_direct_adjoint(p->dim, p->modes, p->sign, p->n_points, x, in, to);
        else
            nufft_direct_forward(p->dim, p->modes, p->sign, p->n_points, x, in, to);
    }
    for (int64_t i = 0; type == 2 && p->real && i < n * p->batch; i++)
        result[i] = result[2 * i];
    free(in);
    return result;
}

/* The direct sums have no error, one off by a thousandth has that, NaN shows. */
static void check_exact(bench_data *d, int type)
{
    const bench_problem *p = &d->problem;
    bool real_out = type == 2 && p->real;
    double error = NAN, *result = direct(d, type);
    int64_t n = (type == 1 ? d->n_modes : p->n_points) * (real_out ? 1 : 2) * p->batch;
    assert_int_equal(bench_error(d, type, 256, result, &error), STATUS_OK);
    assert_true(error < 2e-14);
    for (int64_t i = 0; i < n; i++)
        result[i] *= 1.001;
    assert_int_equal(bench_error(d, type, 256, result, &error), STATUS_OK);
    assert_true(fabs(error - 1e-3) < 1e-9);
    result[type == 1 ? 0 : d->exact[1].index[0] * (real_out ? 1 : 2)] = NAN; /* 0: a corner */
    assert_int_equal(bench_error(d, type, 256, result, &error), STATUS_OK);
    assert_true(isnan(error));
    free(result);
}

static void exact_sums_are_the_direct_sums(void **state)
{
    (void)state;
    for (int k = 0; k < 24; k++) {
        bench_problem p = {.dim = k % 3 + 1,
                           .modes = {k % 3 ? 9 : 1000, k % 3 ? 12 : 1, k % 3 == 2 ? 7 : 1},
                           .n_points = 100 + k,
                           .points = k % 3 < 2 && k % 4 == 2 ? BENCH_RANDOM : (bench_points)(k % 4),
                           .precision = PRECISION_DOUBLE,
                           .real = k / 12,
                           .batch = 1 + k / 6 % 2 * 2,
                           .sign = k % 5 ? 1 : -1};
        bench_data d;
        assert_int_equal(bench_data_make(&p, &d), STATUS_OK);
        for (int type = 1; type <= 2; type++)
            check_exact(&d, type);
        bench_data_free(&d);
    }
}

/* All of an image is on one sphere of radius 3 |q| of its corners, through the origin. */
static void ewald_points_are_on_ewald_spheres(void **state)
{
    (void)state;
    enum { N = 32 };
    bench_problem p = {3, {41, 41, 41}, 3 * N * N, BENCH_EWALD, PRECISION_DOUBLE, false, 1, 1};
    bench_data d;
    assert_int_equal(bench_data_make(&p, &d), STATUS_OK);
    const double *x[3] = {d.x[0], d.x[1], d.x[2]};
    double most = PI * (1 - 1e-6), last = 0;
    for (int image = 0; image < 3; image++) {
        int64_t first = image * N * N;
        double axis[3], length = 0;
        for (int k = 0; k < 3; k++) { /* opposite corners: what is across the axis cancels */
            axis[k] = -(x[k][first] + x[k][first + N * N - 1]);
            length += axis[k] * axis[k];
        }
        for (int64_t j = first; j < first + N * N; j++) {
            double q = 0, along = 0;
            for (int k = 0; k < 3; k++) {
                q += x[k][j] * x[k][j];
                along += x[k][j] * axis[k] / sqrt(length);
            }
            assert_true(sqrt(q) < most * (1 + 1e-12));
            assert_true(fabs(q + 6 * most * along) < 1e-11);
            int64_t u = (j - first) % N, v = (j - first) / N;
            if (u % (N - 1) == 0 && v % (N - 1) == 0) assert_true(fabs(sqrt(q) - most) < 1e-12);
        }
        assert_true(fabs(axis[0] / sqrt(length) - last) > 1e-3); /* another rotation */
        last = axis[0] / sqrt(length);
    }
    bench_data_free(&d);
}

/* words: separated by spaces. *out: what is printed, to be freed. */
static status run(const char *words, char **out)
{
    char text[256], *arguments[32] = {"nufft"};
    size_t size = 0;
    int n = 1;
    snprintf(text, sizeof text, "%s", words);
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
        arguments[n++] = word;
    FILE *file = open_memstream(out, &size);
    assert_non_null(file);
    status result = bench_nufft(n, arguments, file);
    fclose(file);
    return result;
}

static void bad_options_say_what_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *words, *message;
    } cases[] = {
        {"--dim 4", "--dim is '4'; it must be an integer 1 .. 3"},
        {"--points 1.5", "--points is '1.5'; it must be an integer 0 .. 9.0072e+15"},
        {"--tolerance 0", "--tolerance is '0'; it must be a number 1e-300 .. 1"},
        {"--mode 8", "unknown option '--mode', did you mean '--modes'?"},
        {"zzzzzzzz", "unknown option 'zzzzzzzz'; mtip bench nufft --help lists them"},
        {"--modes 3,4,5,6", "--modes is '3,4,5,6'; it must be one to three sizes such as 81 or "
                            "81,82,83"},
        {"--precision half", "--precision is 'half'; it must be one of single, double"},
        {"--device gpu", "--device is 'gpu'; it must be one of cpu, cuda"},
        {"--points", "option --points needs a value; write --points N"},
        {"--real=yes", "option --real takes no value"},
        {"--sign 0", "--sign is '0'; it must be 1 or -1"},
        {"--points-from ewald --dim 2", "--points-from ewald is for --dim 3"},
        {"--suite --dim 2", "--dim is for one case, not for --suite, --table2 or --study"},
        {"--scale 2", "--scale is for --suite, --table2 or --study"},
        {"--csv --json", "--csv and --json: one of them"},
        {"--upsampling 1.5 --points 10", "upsampling is 1.5, not 2, 1.25 or 0"},
        {"--suite --only xyz", "--only is 'xyz'; no case of the list has it in its name"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *out = NULL;
        assert_int_equal(run(cases[i].words, &out), STATUS_USAGE);
        assert_string_equal(status_message(), cases[i].message);
        free(out);
    }
    for (int method = NUFFT_GM; method < NUFFT_METHODS; method++)
        assert_non_null(nufft_method_name((nufft_method)method));
}

enum { MOST_FIELDS = 64 };

/* The fields of a line, which it changes; returns how many. */
static int split(char *line, char *fields[MOST_FIELDS])
{
    int n = 0;
    for (char *at = line; at && n < MOST_FIELDS; n++)
        fields[n] = strsep(&at, ",");
    return n;
}

static const char *find(int n, char *const names[], char *const fields[], const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0) return fields[i];
    fail_msg("no column '%s'", name);
    return "";
}

static double number(int n, char *const names[], char *const fields[], const char *name)
{
    char *end;
    const char *text = find(n, names, fields, name);
    double value = strtod(text, &end);
    if (!*text || *end) fail_msg("%s is '%s'", name, text);
    return value;
}

static void check_row(int n, char *const names[], char *const fields[])
{
    static const char *const positive[] = {
        "plan_ms", "set_min_ms",    "exec_ms", "total_ms", "copies_ms", "spread_ms",
        "fft_ms",  "deconvolve_ms", "plan_mb", "points",   "tolerance", "triad_gb_per_s"};
    for (size_t i = 0; i < sizeof positive / sizeof positive[0]; i++)
        assert_true(number(n, names, fields, positive[i]) > 0);
    double fraction = number(n, names, fields, "spread_fraction");
    assert_true(fraction > 0 && fraction < 1);
    assert_true(number(n, names, fields, "outputs") >= 200);
    assert_string_equal(find(n, names, fields, "must_met"), ""); /* goals are a GPU's */
    if (!(number(n, names, fields, "error") <= number(n, names, fields, "tolerance")) ||
        strcmp(find(n, names, fields, "error_met"), "met") != 0)
        fail_msg("%s: error %s", find(n, names, fields, "case"), find(n, names, fields, "error"));
}

/* Runs with --csv and checks every row; returns how many. */
static int check_csv(const char *words)
{
    char *out, *header[MOST_FIELDS], *fields[MOST_FIELDS], all[256];
    snprintf(all, sizeof all, "%s --csv --threads 1 --repeat 1", words);
    if (run(all, &out) != STATUS_OK) fail_msg("%s: %s", all, status_message());
    char *at = out;
    int rows = 0, n = split(strsep(&at, "\n"), header);
    while (at && *at) {
        assert_int_equal(split(strsep(&at, "\n"), fields), n);
        check_row(n, header, fields);
        rows++;
    }
    free(out);
    return rows;
}

static void any_case_is_right_and_csv(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "--dim 1 --modes 500 --points 2000 --type 2 --tolerance 1e-12",
        "--dim 2 --modes 20,33 --points 3000 --precision single --tolerance 1e-5 --batch 3 --real",
        "--modes 12 --points 2000 --points-from one-cell --type 2 --real --upsampling 1.25 --sign=-1",
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(check_csv(cases[i]), 1);
}

static void lists_are_right(void **state)
{
    (void)state;
    assert_int_equal(check_csv("--suite --scale 1e-5"), 36);
    assert_int_equal(check_csv("--table2 --scale 1e-5"), 5);
    /* 3D sizes 32 and 256, two tolerances, two kinds of points, both types */
    assert_int_equal(check_csv("--study --scale 1e-5 --only table1"), 16);
}

/* JSON is YAML. Returns the number of scalars, keys and values. */
static int scalars(char *text)
{
    yaml_parser_t parser;
    yaml_event_t event;
    int n = 0;
    bool ends = false;
    assert_true(yaml_parser_initialize(&parser));
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, strlen(text));
    while (!ends) {
        if (!yaml_parser_parse(&parser, &event)) fail_msg("%s: %s", parser.problem, text);
        n += event.type == YAML_SCALAR_EVENT;
        ends = event.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    return n;
}

static void json_has_the_fields_of_csv(void **state)
{
    (void)state;
    char *csv, *one, *list, *fields[MOST_FIELDS];
    assert_int_equal(run("--points 100 --modes 8 --repeat 1 --csv", &csv), STATUS_OK);
    assert_int_equal(run("--points 100 --modes 8 --repeat 1 --json", &one), STATUS_OK);
    assert_int_equal(run("--table2 --scale 1e-6 --repeat 1 --json", &list), STATUS_OK);
    int n = split(strtok(csv, "\n"), fields);
    assert_true(one[0] == '{' && list[0] == '[');
    assert_int_equal(scalars(one), 2 * n);
    assert_int_equal(scalars(list), 5 * 2 * n);
    free(csv);
    free(one);
    free(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_sums_are_the_direct_sums),
        cmocka_unit_test(ewald_points_are_on_ewald_spheres),
        cmocka_unit_test(bad_options_say_what_is_wrong),
        cmocka_unit_test(any_case_is_right_and_csv),
        cmocka_unit_test(lists_are_right),
        cmocka_unit_test(json_has_the_fields_of_csv),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
