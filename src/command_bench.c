#include <string.h>

#include "bench_nufft.h"
#include "commands.h"

status command_bench(const cli *c, comm *world)
{
    (void)world;
    if (strcmp(c->arguments[0], "nufft") != 0)
        FAIL(STATUS_USAGE, "mtip bench: unknown benchmark '%s'; there is: nufft", c->arguments[0]);
    return bench_nufft(c->n_arguments, (char **)c->arguments);
}
