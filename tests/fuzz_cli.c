/* Whatever the arguments are (a line each), the command line either fails with a message or is parsed,
   and so are the settings in it. */
#include <stdlib.h>
#include <string.h>

#include "commands.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static status nothing(const cli *c, comm *world)
{
    (void)c;
    (void)world;
    return STATUS_OK;
}

/* In the place of the program's: of every kind of option and argument. */
static const cli_option options[] = {
    {"--truth", "FILE", "a value"}, {"--fresh", NULL, "a flag"}, {0}};
const command commands[] = {
    {.name = "run", .arguments = "CONFIG", .max_arguments = 1, .options = options, .run = nothing},
    {.name = "check",
     .arguments = "FILE...",
     .min_arguments = 1,
     .max_arguments = -1,
     .run = nothing},
    {.name = "bench",
     .arguments = "WHAT",
     .max_arguments = -1,
     .own_options = true,
     .run = nothing}};
const int n_commands = 3;

enum { MOST = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static cli c;
    static config settings;
    char *text = malloc(size + 1), *argv[MOST + 1] = {"mtip"};
    int argc = 1;
    if (!text) return 0;
    memcpy(text, data, size);
    text[size] = 0;
    for (char *line = text; line && argc < MOST;) {
        char *end = strchr(line, '\n');
        if (end) *end = 0;
        argv[argc++] = line;
        line = end ? end + 1 : NULL;
    }
    status result = cli_parse(argc, argv, &c);
    if (c.n_sets > argc || c.n_arguments > argc) abort();
    if (result == STATUS_OK) result = config_load(NULL, c.n_sets, c.sets, &settings);
    if (result != STATUS_OK && !*status_message()) abort();
    cli_finish(&c);
    free(text);
    return 0;
}
