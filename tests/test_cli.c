/* The command line: every error with its text, and what is understood. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "commands.h"

static cli parsed;

/* words: separated by spaces. */
static status parse(const char *words)
{
    char text[256];
    char *arguments[32] = {"mtip"};
    int n = 1;
    snprintf(text, sizeof text, "%s", words);
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
        arguments[n++] = word;
    cli_finish(&parsed);
    return cli_parse(n, arguments, &parsed);
}

static void rejects_what_it_does_not_know(void **state)
{
    (void)state;
    static const struct {
        const char *words, *message;
    } cases[] = {
        {"", "no command; mtip --help lists them"},
        {"chekc c.yaml", "unknown command 'chekc', did you mean 'check'?"},
        {"nonsense", "unknown command 'nonsense'; mtip --help lists them"},
        {"check", "an argument is missing; write mtip check CONFIG|DATA..."},
        {"info b", "one argument too many, 'b'; write mtip info"},
        {"check c.yaml --sett a.b=c", "unknown option '--sett', did you mean '--set'?"},
        {"check c.yaml --nonsense", "unknown option '--nonsense'; mtip check --help lists them"},
        {"--nonsense", "unknown option '--nonsense'; mtip --help lists them"},
        {"check c.yaml -x", "unknown option '-x'; mtip check --help lists them"},
        {"check c.yaml --set", "option --set needs a value; write --set SECTION.KEY=VALUE"},
        {"check c.yaml --quiet=5", "option --quiet takes no value"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(parse(cases[i].words), STATUS_USAGE);
        assert_string_equal(status_message(), cases[i].message);
    }
}

static void takes_options_anywhere(void **state)
{
    (void)state;
    assert_int_equal(parse("-v check --set a.b=c c.yaml --set=d.e=f"), STATUS_OK);
    assert_string_equal(parsed.command->name, "check");
    assert_int_equal(parsed.level, LOG_DEBUG);
    assert_int_equal(parsed.n_arguments, 1);
    assert_string_equal(parsed.arguments[0], "c.yaml");
    assert_int_equal(parsed.n_sets, 2);
    assert_string_equal(parsed.sets[0], "a.b=c");
    assert_string_equal(parsed.sets[1], "d.e=f");
}

static void two_dashes_end_the_options(void **state)
{
    (void)state;
    assert_int_equal(parse("check -- --set"), STATUS_OK);
    assert_string_equal(parsed.arguments[0], "--set");
    assert_int_equal(parse("bench nufft --help -q"), STATUS_OK); /* the benchmark's own */
    assert_int_equal(parsed.wish, CLI_RUN);
    assert_int_equal(parsed.n_arguments, 3);
    assert_int_equal(parse("check -"), STATUS_OK);
    assert_string_equal(parsed.arguments[0], "-");
}

static void help_needs_no_arguments(void **state)
{
    (void)state;
    assert_int_equal(parse("check --help"), STATUS_OK);
    assert_int_equal(parsed.wish, CLI_HELP);
    assert_int_equal(parse("bench --help"), STATUS_OK);
    assert_int_equal(parsed.wish, CLI_HELP);
    assert_int_equal(parse("-h"), STATUS_OK);
    assert_null(parsed.command);
    assert_int_equal(parse("--version"), STATUS_OK);
    assert_int_equal(parsed.wish, CLI_VERSION);
}

static void every_command_has_its_texts(void **state)
{
    (void)state;
    for (int i = 0; i < n_commands; i++) {
        const command *c = &commands[i];
        if (!c->arguments || !c->meaning || !c->files || !c->example)
            fail_msg("command '%s' lacks a text for --help", c->name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rejects_what_it_does_not_know), cmocka_unit_test(takes_options_anywhere),
        cmocka_unit_test(two_dashes_end_the_options),    cmocka_unit_test(help_needs_no_arguments),
        cmocka_unit_test(every_command_has_its_texts),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    cli_finish(&parsed);
    return failed != 0;
}
