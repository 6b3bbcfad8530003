#include "cli.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "text.h"

const cli_option cli_common_options[] = {
    {"--set", "SECTION.KEY=VALUE", "change a setting; may be repeated, the last counts"},
    {"--quiet", NULL, "(-q) warnings and errors only"},
    {"--verbose", NULL, "(-v) more lines"},
    {"--help", NULL, "(-h) this text; after a command, the command's"},
    {"--help-config", NULL, "all settings, as a config file with their defaults"},
    {"--help-man", NULL, "the manual page: mtip --help-man | man -l -"},
    {"--version", NULL, "the version"},
    {NULL, NULL, NULL}};

enum {
    OPTION_SET,
    OPTION_QUIET,
    OPTION_VERBOSE,
    OPTION_HELP,
    OPTION_HELP_CONFIG,
    OPTION_HELP_MAN,
    OPTION_VERSION
};

static int option_find(const cli_option *options, const char *name, size_t length)
{
    for (int i = 0; options && options[i].name; i++)
        if (strlen(options[i].name) == length && strncmp(options[i].name, name, length) == 0)
            return i;
    return -1;
}

static const command *command_find(const char *name)
{
    for (int i = 0; i < n_commands; i++)
        if (strcmp(commands[i].name, name) == 0) return &commands[i];
    return NULL;
}

static status unknown_command(const char *name)
{
    text_nearest search = text_nearest_start(name);
    char shown[64];
    for (int i = 0; i < n_commands; i++)
        text_nearest_offer(&search, commands[i].name);
    text_shown(name, shown);
    if (search.best)
        FAIL(STATUS_USAGE, "unknown command '%s', did you mean '%s'?", shown, search.best);
    FAIL(STATUS_USAGE, "unknown command '%s'; mtip --help lists them", shown);
}

static status unknown_option(const cli *c, const char *name)
{
    const cli_option *own = c->command ? c->command->options : NULL;
    text_nearest search = text_nearest_start(name);
    char shown[64];
    for (int i = 0; own && own[i].name; i++)
        text_nearest_offer(&search, own[i].name);
    for (int i = 0; cli_common_options[i].name; i++)
        text_nearest_offer(&search, cli_common_options[i].name);
    text_shown(name, shown);
    if (search.best)
        FAIL(STATUS_USAGE, "unknown option '%s', did you mean '%s'?", shown, search.best);
    FAIL(STATUS_USAGE, "unknown option '%s'; mtip %s%s--help lists them", shown,
         c->command ? c->command->name : "", c->command ? " " : "");
}

static void take_common(cli *c, int option, const char *value)
{
    switch (option) {
    case OPTION_SET:
        c->sets[c->n_sets++] = value;
        break;
    case OPTION_QUIET:
        c->level = LOG_WARNING;
        break;
    case OPTION_VERBOSE:
        c->level = LOG_DEBUG;
        break;
    case OPTION_HELP:
        c->wish = CLI_HELP;
        break;
    case OPTION_HELP_CONFIG:
        c->wish = CLI_HELP_CONFIG;
        break;
    case OPTION_HELP_MAN:
        c->wish = CLI_HELP_MAN;
        break;
    default:
        c->wish = CLI_VERSION;
        break;
    }
}

static const char *long_name(const char *name)
{
    if (strcmp(name, "-h") == 0) return "--help";
    if (strcmp(name, "-q") == 0) return "--quiet";
    return strcmp(name, "-v") == 0 ? "--verbose" : name;
}

/* The value of an option: after the "=", or argv[*i + 1]; "" for a flag. */
static status option_value(const cli_option *option, int argc, char *const argv[], int *i,
                           const char **value)
{
    const char *equals = strchr(argv[*i], '=');
    *value = equals ? equals + 1 : "";
    if (!option->value && equals) FAIL(STATUS_USAGE, "option %s takes no value", option->name);
    if (!option->value || equals) return STATUS_OK;
    if (*i + 1 >= argc)
        FAIL(STATUS_USAGE, "option %s needs a value; write %s %s", option->name, option->name,
             option->value);
    *value = argv[++*i];
    return STATUS_OK;
}

/* Takes the option argv[*i], and the value after it. */
static status take_option(cli *c, int argc, char *const argv[], int *i)
{
    const char *name = long_name(argv[*i]);
    size_t length = strcspn(name, "=");
    const char *value = NULL;
    int option = c->command ? option_find(c->command->options, name, length) : -1;
    if (option >= 0) {
        TRY(option_value(&c->command->options[option], argc, argv, i, &value));
        c->values[option] = value;
        return STATUS_OK;
    }
    option = option_find(cli_common_options, name, length);
    if (option < 0) return unknown_option(c, argv[*i]);
    TRY(option_value(&cli_common_options[option], argc, argv, i, &value));
    take_common(c, option, value);
    return STATUS_OK;
}

static status check_arguments(const cli *c)
{
    const command *of = c->command;
    if (!of) FAIL(STATUS_USAGE, "no command; mtip --help lists them");
    if (c->n_arguments < of->min_arguments)
        FAIL(STATUS_USAGE, "an argument is missing; write mtip %s %s", of->name, of->arguments);
    if (of->max_arguments >= 0 && c->n_arguments > of->max_arguments)
        FAIL(STATUS_USAGE, "one argument too many, '%s'; write mtip %s%s%s",
             c->arguments[of->max_arguments], of->name, *of->arguments ? " " : "", of->arguments);
    return STATUS_OK;
}

status cli_parse(int argc, char *const argv[], cli *c)
{
    memset(c, 0, sizeof *c);
    c->level = LOG_INFO;
    c->arguments = calloc((size_t)argc + 1, sizeof *c->arguments);
    c->sets = calloc((size_t)argc + 1, sizeof *c->sets);
    if (!c->arguments || !c->sets) FAIL(STATUS_RESOURCE, "not enough memory for the command line");
    bool options = true;
    for (int i = 1; i < argc; i++) {
        if (options && strcmp(argv[i], "--") == 0) {
            options = false;
        } else if (options && argv[i][0] == '-' && argv[i][1]) {
            TRY(take_option(c, argc, argv, &i));
        } else if (!c->command) {
            c->command = command_find(argv[i]);
            if (!c->command) return unknown_command(argv[i]);
        } else {
            c->arguments[c->n_arguments++] = argv[i];
            options = options && !c->command->own_options;
        }
    }
    return c->wish == CLI_RUN ? check_arguments(c) : STATUS_OK;
}

void cli_finish(cli *c)
{
    free(c->arguments);
    free(c->sets);
}

status cli_load(cli *c)
{
    const char *path = c->command->takes_config ? c->arguments[0] : NULL;
    TRY(config_load(path, c->n_sets, c->sets, &c->config));
    return path ? config_check(&c->config, c->command->use) : STATUS_OK;
}

const char *cli_option_text(const cli *c, const char *name)
{
    int option = option_find(c->command->options, name, strlen(name));
    assert(option >= 0 && option < CLI_MAX_OPTIONS);
    return c->values[option];
}

bool cli_option_given(const cli *c, const char *name)
{
    return cli_option_text(c, name) != NULL;
}

status cli_flush_results(void)
{
    if (fflush(stdout) != 0 || ferror(stdout))
        FAIL(STATUS_OUTPUT, "cannot write to standard output: %s", strerror(errno));
    return STATUS_OK;
}
