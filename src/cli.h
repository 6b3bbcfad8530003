/* cli.h: the command line, parsed.

   mtip [OPTION...] COMMAND [ARGUMENT | OPTION]...  Options are "--name VALUE", "--name=VALUE" or a
   flag; "--" ends them.  Those of every command (--set, -q, -v, --help) are handled here, those of
   one command are lines of its table in commands.c, read with cli_option_text and _given. */
#ifndef MTIP_CLI_H
#define MTIP_CLI_H

#include "config.h"
#include "core/log.h"

typedef struct cli cli;
typedef struct comm comm;

typedef struct cli_option {
    const char *name;    /* "--truth" */
    const char *value;   /* what --help calls its value, "FILE"; NULL: a flag */
    const char *meaning; /* for --help */
} cli_option;

typedef struct command {
    const char *name;                 /* "simulate" */
    const char *arguments;            /* for --help, "CONFIG" */
    const char *meaning;              /* for --help, one line */
    const char *files;                /* for --help: what is read and written, "none" */
    const char *example;              /* for --help, a whole command line */
    int min_arguments, max_arguments; /* max -1: any number */
    bool takes_config;                /* the first argument is a config, loaded into cli.config */
    config_use use;                   /* what config_check is asked */
    bool parallel;                    /* run under MPI */
    bool own_options;                 /* reads all that follows its first argument itself */
    const cli_option *options;        /* of this command alone, ended by a NULL name; or NULL */

    /* Collective over world (NULL unless parallel).  Returns the same code on all ranks, by
       comm_agree, or STATUS_PARALLEL. */
    status (*run)(const cli *c, comm *world);
} command;

typedef enum cli_wish { CLI_RUN, CLI_HELP, CLI_HELP_CONFIG, CLI_HELP_MAN, CLI_VERSION } cli_wish;

enum { CLI_MAX_OPTIONS = 32 };

struct cli {
    cli_wish wish;
    const command *command; /* NULL: none was named */
    log_level level;
    int n_arguments; /* after the command, options aside; the config is number 0 */
    const char **arguments;
    int n_sets; /* of --set */
    const char **sets;
    const char *values[CLI_MAX_OPTIONS]; /* of command->options, NULL: not given, "": a flag */
    config config;
};

/* Options of every command, ended by a NULL name; from number CLI_OPTIONS_OF_COMMANDS on those that
   ask the program for something instead of a command. */
extern const cli_option cli_common_options[];
enum { CLI_OPTIONS_OF_COMMANDS = 4 };

/* Parses main's arguments; c->command may be known even when it fails, with STATUS_USAGE.  The
   strings stay argv's.  Frees nothing on failure: cli_finish does. */
status cli_parse(int argc, char *const argv[], cli *c);
void cli_finish(cli *c);

/* Loads and checks c->config if the command takes one. */
status cli_load(cli *c);

/* The value of one of the command's options, NULL if not given ("" for a flag that is). */
const char *cli_option_text(const cli *c, const char *name);
bool cli_option_given(const cli *c, const char *name);

/* Writes out what was printed to stdout; STATUS_OUTPUT if any of it was lost.  A process that a
   command starts calls it before it ends, as main does. */
status cli_flush_results(void);

#endif
