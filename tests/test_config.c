/* Settings: every kind of error with its exact text and place, and that what is written loads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "config.h"

typedef struct error_case {
    const char *yaml, *message;
} error_case;

static config loaded;

static status parse(const char *yaml)
{
    return config_parse("c.yaml", yaml, strlen(yaml), 0, NULL, &loaded);
}

static status set(const char *text)
{
    return config_parse(NULL, NULL, 0, 1, &text, &loaded);
}

static void check_errors(const error_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(parse(cases[i].yaml), STATUS_CONFIG);
        assert_string_equal(status_message(), cases[i].message);
    }
}

#define CHECK_ERRORS(cases) check_errors(cases, sizeof(cases) / sizeof((cases)[0]))

static void rejects_what_is_not_an_integer(void **state)
{
    (void)state;
    static const char *const bad[] = {"12x8", "128.5", "0x80",  "0128", "ten", "nan",
                                      "inf",  "1e3",   "1 000", "1_0",  "+"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char yaml[64];
        char message[128];
        snprintf(yaml, sizeof yaml, "grid:\n  size: '%s'\n", bad[i]);
        assert_int_equal(parse(yaml), STATUS_CONFIG); /* quotes are an error of their own */
        snprintf(yaml, sizeof yaml, "grid.size=%s", bad[i]);
        assert_int_equal(set(yaml), STATUS_USAGE);
        snprintf(yaml, sizeof yaml, "grid:\n  size: %s\n", bad[i]);
        assert_int_equal(parse(yaml), STATUS_CONFIG);
        snprintf(message, sizeof message,
                 "c.yaml:2:9: grid.size: '%s' is not an integer; write digits only, such as 41",
                 bad[i]);
        assert_string_equal(status_message(), message);
    }
}

static void rejects_what_is_not_a_number(void **state)
{
    (void)state;
    static const char *const bad[] = {"12x8", "0x1p3", "nan", ".nan", "inf", "-.inf",
                                      "00.5", "1e",    ".",   "1e+",  "e5",  "1.2.3"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char yaml[64];
        char message[128];
        snprintf(yaml, sizeof yaml, "grid:\n  diameter: %s\n", bad[i]);
        assert_int_equal(parse(yaml), STATUS_CONFIG);
        snprintf(message, sizeof message,
                 "c.yaml:2:13: grid.diameter: '%s' is not a number; write one such as 0 or 1e-6",
                 bad[i]);
        assert_string_equal(status_message(), message);
    }
}

static void accepts_the_usual_forms_of_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double value;
    } good[] = {{"5", 5},       {"5.0", 5}, {"1e2", 100},  {"+5", 5}, {"0.5", 0.5},
                {".5", 0.5},    {"5.", 5},  {"1E+2", 100}, {"0", 0},  {"-0", 0},
                {"50e-1", 5.0}, {"0e0", 0}, {"1.5e1", 15}};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        char yaml[64];
        snprintf(yaml, sizeof yaml, "grid: {diameter: %s}", good[i].text);
        assert_int_equal(parse(yaml), STATUS_OK);
        assert_true(loaded.grid.diameter == good[i].value);
    }
    assert_int_equal(parse("run: {seed: 9223372036854775807}"), STATUS_OK);
    assert_true(loaded.run.seed == INT64_MAX);
}

static void rejects_values_out_of_range_with_the_unit(void **state)
{
    (void)state;
    static const error_case cases[] = {
        {"grid:\n  size: 7\n",
         "c.yaml:2:9: grid.size: 7 is out of range; it must be 8 .. 1024 voxels"},
        {"grid:\n  size: -41\n",
         "c.yaml:2:9: grid.size: -41 is out of range; it must be 8 .. 1024 voxels"},
        {"grid:\n  size: 99999999999999999999\n",
         "c.yaml:2:9: grid.size: 99999999999999999999 is out of range; it must be 8 .. 1024 voxels"},
        {"beam:\n  photon_energy: 4.6\n",
         "c.yaml:2:18: beam.photon_energy: 4.6 is out of range; it must be 100 .. 100000 eV"},
        {"beam:\n  photons_per_pulse: 1e999\n",
         "c.yaml:2:22: beam.photons_per_pulse: 1e999 is out of range; it must be 1 .. 1e+20 "
         "photons"},
        {"run: {seed: 9223372036854775808}",
         "c.yaml:1:13: run.seed: 9223372036854775808 is out of range; it must be >= 0"},
        {"merge: {tolerance: 1e-999}",
         "c.yaml:1:20: merge.tolerance: 1e-999 is out of range; it must be 0 .. 0.1"},
    };
    CHECK_ERRORS(cases);
}

static void rejects_other_values_of_the_wrong_type(void **state)
{
    (void)state;
    static const error_case cases[] = {
        {"data:\n  strict: yes\n",
         "c.yaml:2:11: data.strict: 'yes' is neither true nor false; write one of them"},
        {"data:\n  strict: 1\n",
         "c.yaml:2:11: data.strict: '1' is neither true nor false; write one of them"},
        {"match:\n  method: EMC\n",
         "c.yaml:2:11: match.method: 'EMC' is not one of the words it can be; write emc | ncc | l2"},
        {"grid:\n  size: \"41\"\n",
         "c.yaml:2:9: grid.size: a text in quotes, not a value of this type; remove the quotes"},
        {"grid:\n  size:\n",
         "c.yaml:2:8: grid.size: no value; write one, or remove the key for its default"},
        {"data:\n  file: ~\n",
         "c.yaml:2:9: data.file: no value; write \"\" for an empty text, or remove the key"},
        {"grid:\n  size: [41, 42]\n",
         "c.yaml:2:9: grid.size: a list where one value should be; write size: VALUE"},
        {"grid:\n  size: {x: 41}\n",
         "c.yaml:2:9: grid.size: a mapping where one value should be; write size: VALUE"},
        {"data:\n  file: \"a\\0b\"\n", "c.yaml:2:9: data.file: a zero byte in the text; remove it"},
        {"data:\n  file: \"a\\nb\"\n",
         "c.yaml:2:9: data.file: the text has a control character or is not UTF-8; remove it"},
    };
    CHECK_ERRORS(cases);
}

static void suggests_the_nearest_name(void **state)
{
    (void)state;
    static const error_case cases[] = {
        {"grdi:\n  size: 41\n", "c.yaml:1:1: unknown section 'grdi', did you mean 'grid'?"},
        {"grid:\n  sise: 41\n",
         "c.yaml:2:3: unknown key 'sise' in section 'grid', did you mean 'size'?"},
        {"run:\n  resolutoin_start: 0.5\n",
         "c.yaml:2:3: unknown key 'resolutoin_start' in section 'run', did you mean "
         "'resolution_start'?"},
        {"grid:\n  precision: single\n",
         "c.yaml:2:3: unknown key 'precision' in section 'grid', did you mean the one in section "
         "'run'?"},
        {"precision: single\n", "c.yaml:1:1: unknown section 'precision'; it is a key of 'run', "
                                "indent it below 'run:'"},
        {"nonsense: 5\n", "c.yaml:1:1: unknown section 'nonsense'; mtip --help-config lists all"},
        {"grid: {nonsense: 5}\n",
         "c.yaml:1:8: unknown key 'nonsense' in section 'grid'; mtip --help-config lists all"},
    };
    CHECK_ERRORS(cases);
}

static void names_both_lines_of_a_duplicate(void **state)
{
    (void)state;
    static const error_case cases[] = {
        {"grid:\n  size: 41\n\n  size: 43\n",
         "c.yaml:4:3: key 'size' again; it was given in line 2 already, remove one"},
        {"grid:\n  size: 41\nrun:\n  seed: 5\ngrid:\n  diameter: 5\n",
         "c.yaml:5:1: section 'grid' again; it began in line 1 already, join the two"},
    };
    CHECK_ERRORS(cases);
}

static void rejects_files_that_are_no_config(void **state)
{
    (void)state;
    static const error_case cases[] = {
        {"", "c.yaml:1:1: the config is empty; mtip --help-config prints one to start from"},
        {"# nothing\n",
         "c.yaml:2:1: the config is empty; mtip --help-config prints one to start from"},
        {"---\n", "c.yaml:2:1: the config is empty; mtip --help-config prints one to start from"},
        {"hello", "c.yaml:1:1: no sections; begin with one such as 'grid:', its keys below it"},
        {"- a\n- b\n",
         "c.yaml:1:1: no sections; begin with one such as 'grid:', its keys below it"},
        {"grid: 5\n", "c.yaml:1:7: section 'grid' holds keys; indent key: value below it"},
        {"grid:\n\tsize: 5\n",
         "c.yaml:2:1: while scanning for the next token, found character that cannot start any "
         "token; a tab; indent with spaces"},
        {"grid:\n  size: 41\n size: 41\n",
         "c.yaml:3:2: while parsing a block mapping, did not find expected key; mend the YAML here "
         "(key: value, two spaces in front of keys)"},
        {"grid:\n  size: 41\n---\nrun:\n  seed: 5\n",
         "c.yaml:3:1: a second document (---); keep one in the file"},
        {"grid: &a\n  size: 41\n",
         "c.yaml:1:7: an anchor (&) is not allowed in a config; write the value itself"},
        {"grid:\n  size: !!int 41\n",
         "c.yaml:2:9: a tag (!) is not allowed in a config; write the value itself"},
        {"run:\n  seed: &a 5\nsimulate:\n  seed: *a\n",
         "c.yaml:2:9: an anchor (&) is not allowed in a config; write the value itself\n"
         "c.yaml:4:9: an alias (*) is not allowed in a config; write the value itself"},
        {"grid:\n  ? [a]\n  : 5\n",
         "c.yaml:2:5: a list or a mapping where a name should be; write key: value"},
        {"grid:\n  size: \xff\n",
         "c.yaml:2:9: byte 0xff is not text; save the file as UTF-8 without control characters"},
        {"# \xc3\xa9\n# \xc0\x80\n",
         "c.yaml:2:3: byte 0xc0 is not text; save the file as UTF-8 without control characters"},
        {"grid:\n  size: 41 \x07\n",
         "c.yaml:2:12: byte 0x07 is not text; save the file as UTF-8 without control characters"},
    };
    CHECK_ERRORS(cases);
}

static void reports_all_errors_of_a_file_and_of_the_sets_at_once(void **state)
{
    (void)state;
    static const char *const sets[] = {"grid.sise=3", "run.seed=5"};
    const char *yaml = "grid:\n  size: 7\n  diameter: x\nrum:\n  seed: 5\n";
    assert_int_equal(config_parse("c.yaml", yaml, strlen(yaml), 2, sets, &loaded), STATUS_CONFIG);
    assert_string_equal(
        status_message(),
        "c.yaml:2:9: grid.size: 7 is out of range; it must be 8 .. 1024 voxels\n"
        "c.yaml:3:13: grid.diameter: 'x' is not a number; write one such as 0 or 1e-6\n"
        "c.yaml:4:1: unknown section 'rum', did you mean 'run'?\n"
        "--set grid.sise=3: unknown key 'sise' in section 'grid', did you mean 'size'?");
}

static void shows_twenty_errors_and_counts_the_others(void **state)
{
    (void)state;
    char yaml[64 * 8] = "";
    for (int i = 0; i < 25; i++)
        memcpy(yaml + strlen(yaml), "x: 1\n", 6);
    assert_int_equal(parse(yaml), STATUS_CONFIG);
    const char *message = status_message();
    int lines = 1;
    for (const char *p = message; *p; p++)
        lines += *p == '\n';
    assert_int_equal(lines, 21);
    assert_non_null(strstr(message, "c.yaml:20:1: "));
    assert_null(strstr(message, "c.yaml:21:1: "));
    assert_string_equal(strrchr(message, '\n'), "\n25 errors in all, 20 of them shown");
}

static void rejects_sets_that_are_wrong(void **state)
{
    (void)state;
    static const error_case cases[] = {
        {"a.b", "--set a.b: no value; write --set section.key=value"},
        {"size=41", "--set size=41: no section; write --set section.key=value"},
        {"", "--set : no value; write --set section.key=value"},
        {"grdi.size=41", "--set grdi.size=41: unknown section 'grdi', did you mean 'grid'?"},
        {"grid.=41",
         "--set grid.=41: unknown key '' in section 'grid'; mtip --help-config lists all"},
        {"grid.size=", "--set grid.size=: no value; write one, or remove the key for its default"},
        {"run.precision=half",
         "--set run.precision=half: 'half' is not one of the words it can be; "
         "write single | double"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(set(cases[i].yaml), STATUS_USAGE);
        assert_string_equal(status_message(), cases[i].message);
    }
}

static void sets_override_the_file_and_earlier_sets(void **state)
{
    (void)state;
    static const char *const sets[] = {"grid.size=43", "data.file=a=b.h5", "grid.size=45",
                                       "data.dataset="};
    const char *yaml = "grid: {size: 41}";
    assert_int_equal(config_parse("c.yaml", yaml, strlen(yaml), 4, sets, &loaded), STATUS_OK);
    assert_int_equal(loaded.grid.size, 45);
    assert_string_equal(loaded.data.file, "a=b.h5");
    assert_string_equal(loaded.data.dataset, "");
}

static void reads_every_type(void **state)
{
    (void)state;
    assert_int_equal(parse("grid:\n  size: 81\nnufft:\n  tolerance: 1e-6\ndata:\n  strict: true\n"
                           "  file: my images.h5 # a comment\nmatch:\n  method: ncc\n"
                           "parallel:\nrun: {precision: double, directory: 'it''s'}\n"),
                     STATUS_OK);
    assert_int_equal(loaded.grid.size, 81);
    assert_true(loaded.nufft.tolerance == 1e-6);
    assert_true(loaded.data.strict);
    assert_string_equal(loaded.data.file, "my images.h5");
    assert_int_equal(loaded.match.method, CONFIG_METHOD_NCC);
    assert_int_equal(loaded.run.precision, CONFIG_PRECISION_DOUBLE);
    assert_string_equal(loaded.run.directory, "it's");
    assert_int_equal(loaded.merge.iterations, 20); /* a default */
}

static void expands_environment_variables(void **state)
{
    (void)state;
    setenv("MTIP_TEST", "/scratch/me", 1);
    unsetenv("MTIP_TEST_UNSET");
    assert_int_equal(parse("data:\n  file: ${MTIP_TEST}/a$b${MTIP_TEST}\n"), STATUS_OK);
    assert_string_equal(loaded.data.file, "/scratch/me/a$b/scratch/me");
    assert_int_equal(parse("data:\n  file: $${MTIP_TEST}\n"), STATUS_OK);
    assert_string_equal(loaded.data.file, "${MTIP_TEST}");
    static const error_case cases[] = {
        {"data:\n  file: ${MTIP_TEST_UNSET}/x\n",
         "c.yaml:2:9: data.file: the environment variable MTIP_TEST_UNSET is not set; set it or "
         "write the value"},
        {"data:\n  file: a${b\n",
         "c.yaml:2:9: data.file: '${b' starts a variable that does not end; write ${NAME}"},
    };
    CHECK_ERRORS(cases);
}

static void rejects_texts_that_are_too_long(void **state)
{
    (void)state;
    char *yaml = malloc(20000);
    assert_non_null(yaml);
    sprintf(yaml, "data:\n  file: %05000d\n", 0);
    assert_int_equal(parse(yaml), STATUS_CONFIG);
    assert_string_equal(status_message(), "c.yaml:2:9: data.file: the text is longer than 4095 "
                                          "bytes; shorten it");
    sprintf(yaml, "data:\n  file: %04095d\n", 0);
    assert_int_equal(parse(yaml), STATUS_OK);
    assert_int_equal(strlen(loaded.data.file), 4095);
    free(yaml);
}

static void what_is_written_loads_to_the_same(void **state)
{
    (void)state;
    static const char *const sets[] = {"grid.size=43",
                                       "grid.diameter=0.1",
                                       "data.file=a \"b\" \\ # $${c} $$${d} \xc3\xa9",
                                       "match.method=l2",
                                       "merge.lambda=1.2345678901234567e-3",
                                       "data.strict=true"};
    static config again;
    char *text = NULL;
    char list[128];
    assert_int_equal(config_parse(NULL, NULL, 0, 6, sets, &loaded), STATUS_OK);
    assert_int_equal(config_text(&loaded, &text), STATUS_OK);
    assert_int_equal(config_parse("echo", text, strlen(text), 0, NULL, &again), STATUS_OK);
    assert_int_equal(config_differences(&loaded, &again, list, sizeof list), 0);
    free(text);
    assert_string_equal(again.data.file, "a \"b\" \\ # ${c} $${d} \xc3\xa9");
    config_default(&again);
    assert_int_equal(config_differences(&loaded, &again, list, sizeof list), 6);
    assert_string_equal(list, "data.file, data.strict, grid.size, grid.diameter, match.method, "
                              "merge.lambda");
}

static void the_defaults_do_not_contradict_each_other(void **state)
{
    (void)state;
    config_default(&loaded);
    assert_int_equal(config_check(&loaded, CONFIG_FOR_ANY), STATUS_OK);
}

static void names_both_keys_of_a_contradiction(void **state)
{
    (void)state;
    assert_int_equal(parse("detector:\n  pixels: 32\n  beam_stop: 40\n"), STATUS_OK);
    assert_int_equal(config_check(&loaded, CONFIG_FOR_ANY), STATUS_CONFIG);
    assert_string_equal(status_message(),
                        "c.yaml:3:3: detector.beam_stop is 40 pixels and detector.pixels is 32, so "
                        "that every pixel is blocked; make it smaller");
    assert_int_equal(parse("run:\n  seed: 2\n"), STATUS_OK);
    assert_int_equal(config_check(&loaded, CONFIG_FOR_RECONSTRUCT), STATUS_CONFIG);
    assert_string_equal(
        status_message(),
        "c.yaml: data.file (not given) is required by reconstruct; write the data set's path\n"
        "c.yaml: grid.diameter (not given) is required by reconstruct; write the largest diameter "
        "of the particle in A");
}

static void a_later_failure_names_the_place_of_the_setting(void **state)
{
    (void)state;
    assert_int_equal(parse("grid:\n  size: 41\n"), STATUS_OK);
    assert_int_equal(config_fail(&loaded, &loaded.grid.size, "is %d", 41), STATUS_CONFIG);
    assert_string_equal(status_message(), "c.yaml:2:3: grid.size is 41");
    assert_int_equal(set("grid.size=41"), STATUS_OK);
    assert_int_equal(config_fail(&loaded, &loaded.grid.size, "is %d", 41), STATUS_CONFIG);
    assert_string_equal(status_message(), "--set grid.size: it is 41");
}

static void rejects_paths_that_cannot_be_read(void **state)
{
    (void)state;
    assert_int_equal(config_load("/", 0, NULL, &loaded), STATUS_CONFIG);
    assert_string_equal(status_message(), "/: a directory; give the config file in it");
    assert_int_equal(config_load("/nowhere/c.yaml", 0, NULL, &loaded), STATUS_CONFIG);
    assert_string_equal(
        status_message(),
        "/nowhere/c.yaml: cannot read the config: No such file or directory; check the path");
    assert_int_equal(config_load("/dev/zero", 0, NULL, &loaded), STATUS_CONFIG);
    assert_string_equal(status_message(),
                        "/dev/zero: larger than 1048576 bytes; this is not a config file");
}

/* pattern repeated up to a megabyte; it must come back with an error, and soon. */
static void check_hostile(const char *before, const char *pattern)
{
    size_t size = 1 << 20;
    size_t used = strlen(before);
    size_t n = strlen(pattern);
    char *text = malloc(size + 1);
    assert_non_null(text);
    memcpy(text, before, used);
    for (; used + n <= size; used += n)
        memcpy(text + used, pattern, n);
    text[used] = 0;
    assert_int_equal(config_parse("c.yaml", text, used, 0, NULL, &loaded), STATUS_CONFIG);
    assert_true(strlen(status_message()) > 0);
    free(text);
}

static void survives_hostile_files(void **state)
{
    (void)state;
    static const struct {
        const char *before, *pattern;
    } files[] = {{"", "["},
                 {"", "{"},
                 {"", "{a: "},
                 {"", "- "},
                 {"", "? "},
                 {"grid: ", "["},
                 {"grid: ", "{a: "},
                 {"", "a: b\n"},
                 {"", "a b "},
                 {"", "a: &a b\n"},
                 {"a: &a [x]\n", "b: *a\n"},
                 {"", "!"},
                 {"", "!!a "},
                 {"", "%YAML 1.1\n"},
                 {"", "---\n"},
                 {"", "\""},
                 {"a: \"", "\\u0041"},
                 {"a: |\n", " x\n"},
                 {"", "\n"},
                 {"", "#"},
                 {"", "\xef\xbb\xbf"},
                 {"", ": "},
                 {"", "grid:\n"},
                 {"grid:\n", "  size: 41\n"},
                 {"", "'"},
                 {"a: >\n", "\n \n"}};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        check_hostile(files[i].before, files[i].pattern);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rejects_what_is_not_an_integer),
        cmocka_unit_test(rejects_what_is_not_a_number),
        cmocka_unit_test(accepts_the_usual_forms_of_numbers),
        cmocka_unit_test(rejects_values_out_of_range_with_the_unit),
        cmocka_unit_test(rejects_other_values_of_the_wrong_type),
        cmocka_unit_test(suggests_the_nearest_name),
        cmocka_unit_test(names_both_lines_of_a_duplicate),
        cmocka_unit_test(rejects_files_that_are_no_config),
        cmocka_unit_test(reports_all_errors_of_a_file_and_of_the_sets_at_once),
        cmocka_unit_test(shows_twenty_errors_and_counts_the_others),
        cmocka_unit_test(rejects_sets_that_are_wrong),
        cmocka_unit_test(sets_override_the_file_and_earlier_sets),
        cmocka_unit_test(reads_every_type),
        cmocka_unit_test(expands_environment_variables),
        cmocka_unit_test(rejects_texts_that_are_too_long),
        cmocka_unit_test(what_is_written_loads_to_the_same),
        cmocka_unit_test(the_defaults_do_not_contradict_each_other),
        cmocka_unit_test(names_both_keys_of_a_contradiction),
        cmocka_unit_test(a_later_failure_names_the_place_of_the_setting),
        cmocka_unit_test(rejects_paths_that_cannot_be_read),
        cmocka_unit_test(survives_hostile_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
