/* help.h: --help and the manual page, both written from the tables of commands, options, settings and
   exit codes. */
#ifndef MTIP_HELP_H
#define MTIP_HELP_H

#include "cli.h"

/* mtip COMMAND --help, or mtip --help. */
void help_command(const command *of, FILE *file);
void help_program(FILE *file);

/* Whether this is the first status with its exit code, whose text speaks for all. */
bool help_first_of_code(status code);

/* mtip --help-man: mtip(1) in man's own macros. */
void help_man(FILE *file);

#endif
