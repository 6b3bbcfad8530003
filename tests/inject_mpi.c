/* inject_mpi.c: an MPI library that fails, for tests: preloaded, it lets call number MTIP_MPI_AT (1, the
   first, if not given) of the function MTIP_MPI_FAIL ("MPI_Bcast") fail on rank MTIP_MPI_RANK, or gives
   the thread level MTIP_MPI_LEVEL whatever is asked for. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static int fails(const char *function)
{
    static int calls, rank;
    const char *wanted = getenv("MTIP_MPI_FAIL"), *at = getenv("MTIP_MPI_AT");
    const char *of = getenv("MTIP_MPI_RANK");
    if (!wanted || strcmp(wanted, function) != 0) return 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank == (of ? atoi(of) : 0) && ++calls == (at ? atoi(at) : 1);
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    const char *level = getenv("MTIP_MPI_LEVEL");
    const int code = PMPI_Init_thread(argc, argv, required, provided);
    if (level) *provided = atoi(level);
    return code;
}

#define FAILING(name, parameters, arguments)                                \
    int MPI_##name parameters                                               \
    {                                                                       \
        return fails("MPI_" #name) ? MPI_ERR_OTHER : PMPI_##name arguments; \
    }

FAILING(Bcast, (void *data, int n, MPI_Datatype type, int root, MPI_Comm c),
        (data, n, type, root, c))
FAILING(Allreduce, (const void *from, void *to, int n, MPI_Datatype type, MPI_Op op, MPI_Comm c),
        (from, to, n, type, op, c))
FAILING(Reduce,
        (const void *from, void *to, int n, MPI_Datatype type, MPI_Op op, int root, MPI_Comm c),
        (from, to, n, type, op, root, c))
FAILING(Send, (const void *data, int n, MPI_Datatype type, int to, int tag, MPI_Comm c),
        (data, n, type, to, tag, c))
FAILING(Recv, (void *data, int n, MPI_Datatype type, int from, int tag, MPI_Comm c, MPI_Status *s),
        (data, n, type, from, tag, c, s))
FAILING(Allgatherv,
        (const void *from, int n, MPI_Datatype sent, void *to, const int sizes[],
         const int starts[], MPI_Datatype type, MPI_Comm c),
        (from, n, sent, to, sizes, starts, type, c))
FAILING(Comm_split, (MPI_Comm c, int color, int key, MPI_Comm *part), (c, color, key, part))
FAILING(Comm_split_type, (MPI_Comm c, int type, int key, MPI_Info info, MPI_Comm *part),
        (c, type, key, info, part))
