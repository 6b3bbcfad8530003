#include "comm.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batch.h"

struct comm {
    MPI_Comm mpi;
    int rank, size;
    int world_rank; /* names this process in messages, whatever comm it is seen from */
    int node_rank, node_size;
    int64_t chunk; /* most elements in one message */
    int *parts;    /* [2 size] */
    char place[160];
    const char *stage;
    const comm_watch *watch;
};

enum { PLACE_SIZE = 256 };

static status mpi_check(int code, const char *call, const char *file, int line)
{
    if (code == MPI_SUCCESS) return STATUS_OK;
    char text[MPI_MAX_ERROR_STRING] = "unknown";
    int length = 0;
    MPI_Error_string(code, text, &length);
    return status_fail(STATUS_PARALLEL, file, line, "%.40s failed: %s", call, text);
}

#define MPI_TRY(call) TRY(mpi_check((call), #call, __FILE__, __LINE__))

static MPI_Datatype mpi_type(comm_type type)
{
    switch (type) {
    case COMM_INT64:
        return MPI_INT64_T;
    case COMM_SINGLE:
        return MPI_FLOAT;
    case COMM_DOUBLE:
        return MPI_DOUBLE;
    case COMM_BYTE:
        break;
    }
    return MPI_BYTE;
}

int64_t comm_type_size(comm_type type)
{
    static const int64_t sizes[] = {1, 8, 4, 8};
    return sizes[type];
}

/* Fills in what a struct with a valid communicator can know. */
static status comm_describe(comm *c)
{
    c->chunk = 1 << 28;
    MPI_TRY(MPI_Comm_set_errhandler(c->mpi, MPI_ERRORS_RETURN));
    MPI_TRY(MPI_Comm_rank(c->mpi, &c->rank));
    MPI_TRY(MPI_Comm_size(c->mpi, &c->size));
    MPI_TRY(MPI_Comm_rank(MPI_COMM_WORLD, &c->world_rank));
    MPI_Comm node;
    MPI_TRY(MPI_Comm_split_type(c->mpi, MPI_COMM_TYPE_SHARED, c->rank, MPI_INFO_NULL, &node));
    MPI_TRY(MPI_Comm_rank(node, &c->node_rank));
    MPI_TRY(MPI_Comm_size(node, &c->node_size));
    MPI_TRY(MPI_Comm_free(&node));
    c->parts = malloc(2 * (size_t)c->size * sizeof *c->parts);
    if (!c->parts) FAIL(STATUS_RESOURCE, "out of host memory");
    return STATUS_OK;
}

/* A process that no launcher has told of the machine has hwloc look at it, and at GPUs through whatever is there: an OpenCL
   with a compiler in it stays in memory, 67 MiB, and takes 0.2 s.  What the user wishes stands. */
static void leave_gpus_alone(void)
{
    (void)setenv("HWLOC_COMPONENTS", "-opencl,-cuda,-nvml,-rsmi,-levelzero,-gl", 0);
}

status comm_start(int *argc, char ***argv, comm **world)
{
    *world = NULL;
    int provided = 0;
    leave_gpus_alone();
    MPI_TRY(MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided));
    comm *c = calloc(1, sizeof *c);
    if (!c) FAIL(STATUS_RESOURCE, "out of host memory");
    c->mpi = MPI_COMM_WORLD;
    *world = c;
    TRY(comm_describe(c));
    if (provided < MPI_THREAD_FUNNELED)
        FAIL(STATUS_RESOURCE, "the MPI library gives thread level %d, funneled (%d) is needed",
             provided, MPI_THREAD_FUNNELED);
    return STATUS_OK;
}

void comm_finish(comm *world)
{
    if (!world) return;
    free(world->parts);
    free(world);
    MPI_Finalize();
}

void comm_abort(comm *c, int exit_code)
{
    MPI_Abort(c ? c->mpi : MPI_COMM_WORLD, exit_code);
}

status comm_split(comm *c, int color, comm **part)
{
    *part = NULL;
    status result = STATUS_OK;
    comm *made = calloc(1, sizeof *made);
    TRY_OR(fail, comm_agree(c, made ? STATUS_OK : FAILED(STATUS_RESOURCE, "out of host memory")));
    TRY_OR(fail, mpi_check(MPI_Comm_split(c->mpi, color, c->rank, &made->mpi), "MPI_Comm_split",
                           __FILE__, __LINE__));
    TRY_OR(fail, comm_agree(c, comm_describe(made)));
    made->chunk = c->chunk;
    comm_set_place(made, c->place);
    comm_set_watch(made, c->watch);
    *part = made;
    return STATUS_OK;
fail:
    free(made);
    return result;
}

void comm_destroy(comm *part)
{
    if (!part) return;
    MPI_Comm_free(&part->mpi);
    free(part->parts);
    free(part);
}

int comm_rank(const comm *c)
{
    return c->rank;
}

int comm_size(const comm *c)
{
    return c->size;
}

int comm_world_rank(const comm *c)
{
    return c->world_rank;
}

int comm_node_rank(const comm *c)
{
    return c->node_rank;
}

int comm_node_size(const comm *c)
{
    return c->node_size;
}

void comm_limit_chunk(comm *c, int64_t n)
{
    c->chunk = n;
}

void comm_set_place(comm *c, const char *place)
{
    snprintf(c->place, sizeof c->place, "%s", place);
}

void comm_set_stage(comm *c, const char *stage)
{
    c->stage = stage;
}

void comm_set_watch(comm *c, const comm_watch *watch)
{
    c->watch = watch;
}

status comm_blame(const comm *c, status mine)
{
    const bool alone = c->size == 1 && !*c->place;
    if (mine == STATUS_OK || alone || strncmp(status_message(), "rank ", 5) == 0) return mine;
    if (mine == STATUS_FAULT) batch_node_fault();
    if (!*c->place && !c->stage) return status_prefix(mine, "rank %d", c->world_rank);
    return status_prefix(mine, "rank %d (%s%s%s)", c->world_rank, c->place,
                         *c->place && c->stage ? ", " : "", c->stage ? c->stage : "");
}

status comm_agree_all(comm *c, status mine)
{
    if (c->watch && mine == STATUS_OK) mine = c->watch->begin(c->watch->context, c->stage);
    mine = comm_blame(c, mine);
    if (mine == STATUS_PARALLEL) return mine; /* nobody may be listening; main aborts */
    int failed = mine == STATUS_OK ? c->size : c->rank;
    int first = 0;
    MPI_TRY(MPI_Allreduce(&failed, &first, 1, MPI_INT, MPI_MIN, c->mpi));
    if (c->watch) c->watch->end(c->watch->context);
    if (first == c->size) return STATUS_OK;
    int code = (int)mine;
    char place[PLACE_SIZE], message[STATUS_MESSAGE_SIZE];
    snprintf(place, sizeof place, "%s", status_place());
    snprintf(message, sizeof message, "%s", status_message());
    MPI_TRY(MPI_Bcast(&code, 1, MPI_INT, first, c->mpi));
    MPI_TRY(MPI_Bcast(place, PLACE_SIZE, MPI_CHAR, first, c->mpi));
    MPI_TRY(MPI_Bcast(message, STATUS_MESSAGE_SIZE, MPI_CHAR, first, c->mpi));
    return status_adopt((status)code, place, message);
}

status comm_barrier(comm *c)
{
    MPI_TRY(MPI_Barrier(c->mpi));
    return STATUS_OK;
}

/* Calls body for every piece of at most chunk elements: `at` points to it, `n` is its count. */
#define FOR_CHUNKS(c, data, count, type, at, n, body)                           \
    for (int64_t done_ = 0; done_ < (count); done_ += (c)->chunk) {             \
        char *at = (char *)(data) + done_ * comm_type_size(type);               \
        int n = (int)((count)-done_ < (c)->chunk ? (count)-done_ : (c)->chunk); \
        body;                                                                   \
    }

status comm_broadcast(comm *c, void *data, int64_t count, comm_type type, int root)
{
    FOR_CHUNKS(c, data, count, type, at, n, MPI_TRY(MPI_Bcast(at, n, mpi_type(type), root, c->mpi)))
    return STATUS_OK;
}

static status reduce_all(comm *c, void *data, int64_t count, comm_type type, MPI_Op op)
{
    FOR_CHUNKS(c, data, count, type, at, n,
               MPI_TRY(MPI_Allreduce(MPI_IN_PLACE, at, n, mpi_type(type), op, c->mpi)))
    return STATUS_OK;
}

status comm_sum(comm *c, void *data, int64_t count, comm_type type)
{
    return reduce_all(c, data, count, type, MPI_SUM);
}

status comm_sum_to(comm *c, void *data, int64_t count, comm_type type, int root)
{
    FOR_CHUNKS(c, data, count, type, at, n,
               MPI_TRY(MPI_Reduce(c->rank == root ? MPI_IN_PLACE : (void *)at, at, n,
                                  mpi_type(type), MPI_SUM, root, c->mpi)))
    return STATUS_OK;
}

status comm_max(comm *c, void *data, int64_t count, comm_type type)
{
    return reduce_all(c, data, count, type, MPI_MAX);
}

/* In one call, whose messages are fewer than those of a broadcast for each rank. */
static status share_at_once(comm *c, void *data, const int64_t counts[], comm_type type)
{
    int *const sizes = c->parts, *const starts = c->parts + c->size;
    int start = 0;
    for (int r = 0; r < c->size; r++) {
        sizes[r] = (int)counts[r];
        starts[r] = start;
        start += sizes[r];
    }
    MPI_TRY(MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, sizes, starts, mpi_type(type),
                           c->mpi));
    return STATUS_OK;
}

status comm_share(comm *c, void *data, const int64_t counts[], comm_type type)
{
    int64_t start = 0, all = 0;
    for (int r = 0; r < c->size; r++)
        all += counts[r];
    if (all <= c->chunk) return share_at_once(c, data, counts, type);
    for (int r = 0; r < c->size; r++) {
        TRY(comm_broadcast(c, (char *)data + start * comm_type_size(type), counts[r], type, r));
        start += counts[r];
    }
    return STATUS_OK;
}

static status send_chunks(comm *c, const void *data, int64_t count, comm_type type, int to)
{
    FOR_CHUNKS(c, data, count, type, at, n, MPI_TRY(MPI_Send(at, n, mpi_type(type), to, 0, c->mpi)))
    return STATUS_OK;
}

static status receive_chunks(comm *c, void *data, int64_t count, comm_type type, int from)
{
    FOR_CHUNKS(c, data, count, type, at, n,
               MPI_TRY(MPI_Recv(at, n, mpi_type(type), from, 0, c->mpi, MPI_STATUS_IGNORE)))
    return STATUS_OK;
}

status comm_gather(comm *c, void *data, const int64_t counts[], comm_type type, int root)
{
    int64_t start = 0;
    for (int r = 0; r < c->size; r++) {
        char *at = (char *)data + start * comm_type_size(type);
        if (r == c->rank && r != root) TRY(send_chunks(c, at, counts[r], type, root));
        if (r != root && c->rank == root) TRY(receive_chunks(c, at, counts[r], type, r));
        start += counts[r];
    }
    return STATUS_OK;
}

status comm_send(comm *c, void *data, int64_t count, comm_type type, int from, int to)
{
    if (from == to) return STATUS_OK;
    if (c->rank == from) return send_chunks(c, data, count, type, to);
    if (c->rank == to) return receive_chunks(c, data, count, type, from);
    return STATUS_OK;
}
