#include <string.h>

#include "bench_mtip.h"
#include "bench_nufft.h"
#include "commands.h"

status command_bench(const cli *c, comm *world)
{
    const char *what = c->arguments[0];
    char **arguments = (char **)c->arguments;
    if (strcmp(what, "mtip") == 0) return bench_mtip(c->n_arguments, arguments, world);
    if (strcmp(what, "nufft") != 0)
        FAIL(STATUS_USAGE, "mtip bench: unknown benchmark '%s'; there are: nufft, mtip", what);
    const bool first = comm_rank(world) == 0;
    return comm_agree(world, first ? bench_nufft(c->n_arguments, arguments, stdout) : STATUS_OK);
}
