/* help_man.c: the manual page. */
#include <stdlib.h>
#include <string.h>

#include "bench_mtip_options.h"
#include "bench_nufft_options.h"
#include "build_info.h"
#include "commands.h"
#include "config_schema.h"
#include "help.h"

/* Text as the formatter prints it: its own characters escaped. */
static void escape(FILE *file, const char *text)
{
    for (bool starts = true; *text; starts = *text == '\n', text++) {
        if (starts && (*text == '.' || *text == '\'')) fputs("\\&", file);
        if (*text == '\\')
            fputs("\\e", file);
        else if (*text == '-')
            fputs("\\-", file);
        else if (*text == '"')
            fputs("\\(dq", file);
        else
            fputc(*text, file);
    }
}

/* A line: a macro with the text as its argument, or ("") the text alone. */
static void line(FILE *file, const char *macro, const char *text)
{
    fputs(macro, file);
    if (*macro) fputs(" \"", file);
    escape(file, text);
    fputs(*macro ? "\"\n" : "\n", file);
}

static void options(FILE *file, const cli_option *list)
{
    for (int i = 0; list && list[i].name; i++) {
        char left[64];
        snprintf(left, sizeof left, "%s%s%s", list[i].name, list[i].value ? " " : "",
                 list[i].value ? list[i].value : "");
        fputs(".TP\n", file);
        line(file, ".B", left);
        line(file, "", list[i].meaning);
    }
}

/* Text that keeps its lines. */
static void verbatim(FILE *file, const char *text)
{
    fputs(".PP\n.nf\n", file);
    escape(file, text);
    fputs("\n.fi\n", file);
}

static void benchmark(FILE *file, void (*help)(FILE *))
{
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    if (!memory) return;
    help(memory);
    if (fclose(memory) == 0) verbatim(file, text);
    free(text);
}

static void one_command(FILE *file, const command *of)
{
    char title[128];
    snprintf(title, sizeof title, "mtip %s %s", of->name, of->arguments);
    line(file, ".SS", title);
    line(file, "", of->meaning);
    options(file, of->options);
    fputs(".PP\nFiles: ", file);
    line(file, "", of->files);
    fputs(".PP\nExample:\n", file);
    line(file, ".B", of->example);
}

static void settings(FILE *file)
{
    static config initial;
    const char *section = "";
    config_default(&initial);
    for (int i = 0; i < CONFIG_N_KEYS; i++) {
        const config_key *key = &config_keys[i];
        if (strcmp(section, key->section) != 0) {
            section = key->section;
            line(file, ".SS", section);
            line(file, "", config_section_find(section)->meaning);
        }
        fputs(".TP\n", file);
        line(file, ".B", key->name);
        line(file, "", key->meaning);
        fputs("(", file);
        config_type_write(key, file);
        fputs("; default ", file);
        config_value_write(key, &initial, file);
        fputs(")\n", file);
    }
}

static void exit_codes(FILE *file)
{
    for (int i = 0; i < STATUS_COUNT; i++)
        if (help_first_of_code((status)i))
            fprintf(file, ".TP\n.B %d\n%s\n", status_exit_code((status)i), status_text((status)i));
}

void help_man(FILE *file)
{
    fprintf(file, ".TH MTIP 1 \"\" \"mtip %s\" \"User commands\"\n", BUILD_VERSION);
    fputs(".SH NAME\nmtip \\- electron density from single\\-particle X\\-ray diffraction images\n"
          ".SH SYNOPSIS\n.B mtip\n.I COMMAND\n[\\fIARGUMENT\\fR | \\fIOPTION\\fR]...\n"
          ".SH DESCRIPTION\n"
          "Reconstructs the electron density of a particle from diffraction images of unknown\n"
          "orientation by multitiered iterative phasing, and simulates such images.\n"
          "Results go to standard output, log lines to standard error.\n"
          ".SH COMMANDS\n",
          file);
    for (int i = 0; i < n_commands; i++) {
        one_command(file, &commands[i]);
        if (strcmp(commands[i].name, "bench") != 0) continue;
        benchmark(file, bench_options_help);
        benchmark(file, bench_mtip_options_help);
    }
    fputs(".SH OPTIONS\nOf every command:\n", file);
    options(file, cli_common_options);
    fputs(".SH SETTINGS\nOf a config, a YAML file of sections with keys, and of \\-\\-set.\n",
          file);
    settings(file);
    fputs(".SH EXIT STATUS\n", file);
    exit_codes(file);
}
