#include "help.h"

#include <string.h>

#include "commands.h"

enum { LINE = 96, OPTION_COLUMN = 28 };

/* Writes text in lines of LINE at most, from column `at` on and each from column `indent` on. */
static void wrap(FILE *file, int at, int indent, const char *text)
{
    while (*text) {
        const int word = (int)strcspn(text, " ");
        if (at > indent && at + 1 + word > LINE) {
            fprintf(file, "\n%*s", indent, "");
            at = indent;
        } else if (at > indent) {
            at += fprintf(file, " ");
        }
        at += fprintf(file, "%.*s", word, text);
        text += word + (text[word] == ' ');
    }
    fputc('\n', file);
}

/* "  left   meaning", the meaning in lines of its own column. */
static void print_row(FILE *file, const char *left, const char *meaning)
{
    int at = fprintf(file, "  %s", left);
    if (at < OPTION_COLUMN - 1) at += fprintf(file, "%*s", OPTION_COLUMN - at, "");
    if (at > OPTION_COLUMN) at = fprintf(file, "\n%*s", OPTION_COLUMN, "") - 1;
    wrap(file, at, OPTION_COLUMN, meaning);
}

static void print_options(FILE *file, const cli_option *options, int n)
{
    for (int i = 0; options && i < n && options[i].name; i++) {
        char left[64];
        snprintf(left, sizeof left, "%s %s", options[i].name,
                 options[i].value ? options[i].value : "");
        print_row(file, left, options[i].meaning);
    }
}

bool help_first_of_code(status code)
{
    for (int k = 0; k < (int)code; k++)
        if (status_exit_code((status)k) == status_exit_code(code)) return false;
    return true;
}

static void print_exit_codes(FILE *file)
{
    fprintf(file, "\nexit codes:\n");
    for (int i = 0; i < STATUS_COUNT; i++)
        if (help_first_of_code((status)i))
            fprintf(file, "  %2d  %s\n", status_exit_code((status)i), status_text((status)i));
}

void help_command(const command *of, FILE *file)
{
    fprintf(file, "usage: mtip %s%s%s [OPTION]...\n\n", of->name, *of->arguments ? " " : "",
            of->arguments);
    wrap(file, 0, 0, of->meaning);
    fprintf(file, "\noptions:\n");
    print_options(file, of->options, CLI_MAX_OPTIONS);
    print_options(file, cli_common_options, CLI_OPTIONS_OF_COMMANDS);
    fprintf(file, "\nfiles:\n  ");
    wrap(file, 2, 2, of->files);
    fprintf(file, "\nexample:\n  %s\n", of->example);
    print_exit_codes(file);
}

void help_program(FILE *file)
{
    fprintf(file,
            "usage: mtip COMMAND [ARGUMENT | OPTION]...\n\n"
            "Single-particle X-ray imaging: from diffraction images to the electron density.\n"
            "\ncommands:\n");
    for (int i = 0; i < n_commands; i++) {
        char left[64];
        snprintf(left, sizeof left, "%s %s", commands[i].name, commands[i].arguments);
        print_row(file, left, commands[i].meaning);
    }
    fprintf(file, "\noptions:\n");
    print_options(file, cli_common_options, CLI_MAX_OPTIONS);
    print_exit_codes(file);
}
