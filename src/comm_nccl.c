/* comm_nccl.c: a communicator that never blocks, so that a rank waits for the others with an eye on
   errors and on the clock. */
#include "comm_nccl.h"

#include "core/clock.h"
#include "core/cuda_try.h"

#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct comm_nccl {
    ncclComm_t nccl; /* NULL: aborted */
    const device *dev;
    double patience; /* seconds */
};

static const double connect_seconds = 120, finish_seconds = 10;

/* Most waits are short: the processor is given up after a millisecond only. */
static void pause_since(double start)
{
    const struct timespec little = {0, 50000};
    if (clock_seconds() - start > 1e-3) nanosleep(&little, NULL);
}

const char *comm_nccl_version(void)
{
    static char text[32];
    int v = 0;
    if (ncclGetVersion(&v) != ncclSuccess) return "NCCL";
    snprintf(text, sizeof text, "NCCL %d.%d.%d", v / 10000, v / 100 % 100, v % 100);
    return text;
}

/* The end of the communicator: the others see it as an error of theirs. */
static status give_up(comm_nccl *n, const char *what, const char *detail)
{
    status failed =
        FAILED(STATUS_PARALLEL, "exchange between GPUs: %s%s%s", what, *detail ? ": " : "", detail);
    if (n->nccl) (void)ncclCommAbort(n->nccl);
    n->nccl = NULL;
    return failed;
}

/* Waits until the communicator has done what it was told (what it told the GPU may be going on):
   how that went, ncclInProgress if it is not done in that time. */
static ncclResult_t wait_for(const comm_nccl *n, double seconds)
{
    const double start = clock_seconds();
    for (;; pause_since(start)) {
        ncclResult_t state = ncclInternalError;
        const ncclResult_t asked = ncclCommGetAsyncError(n->nccl, &state);
        if (asked != ncclSuccess) return asked;
        if (state != ncclInProgress || clock_seconds() - start > seconds) return state;
    }
}

static status settle(comm_nccl *n, double seconds)
{
    const ncclResult_t state = wait_for(n, seconds);
    if (state == ncclSuccess) return STATUS_OK;
    if (state == ncclInProgress) return give_up(n, "the other ranks do not answer", "");
    return give_up(n, ncclGetErrorString(state), ncclGetLastError(n->nccl));
}

/* Waits until the GPU has done it, too. */
static status finish(comm_nccl *n)
{
    const double start = clock_seconds();
    for (;; pause_since(start)) {
        TRY(settle(n, n->patience));
        const cudaError_t state = cudaStreamQuery((cudaStream_t)device_stream(n->dev));
        if (state == cudaSuccess) return STATUS_OK;
        if (state != cudaErrorNotReady)
            return give_up(n, "this rank's GPU failed", cudaGetErrorString(state));
        if (clock_seconds() - start > n->patience)
            return give_up(n, "the other ranks do not answer", "");
    }
}

static status connect_ranks(comm_nccl *n, comm *c, ncclUniqueId *id)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    const ncclResult_t result =
        ncclCommInitRankConfig(&n->nccl, comm_size(c), *id, comm_rank(c), &config);
    if (result != ncclSuccess && result != ncclInProgress)
        FAIL(STATUS_RESOURCE, "NCCL: %s", ncclGetErrorString(result));
    return settle(n, connect_seconds);
}

static status create(comm *c, comm_nccl *n)
{
    ncclUniqueId id;
    ncclResult_t named = ncclSuccess;
    if (comm_rank(c) == 0) named = ncclGetUniqueId(&id);
    TRY(comm_agree(c, named == ncclSuccess
                          ? STATUS_OK
                          : FAILED(STATUS_RESOURCE, "NCCL: %s", ncclGetErrorString(named))));
    TRY(comm_broadcast(c, &id, sizeof id, COMM_BYTE, 0));
    int before;
    status result = cuda_enter(device_ordinal(n->dev), &before);
    if (result == STATUS_OK) {
        result = connect_ranks(n, c, &id);
        cuda_leave(device_ordinal(n->dev), before);
    }
    /* not connected is no reason to end: all ranks know of it and can go another way */
    return comm_agree(c,
                      result == STATUS_PARALLEL ? status_prefix(STATUS_RESOURCE, "NCCL") : result);
}

status comm_nccl_create(comm *c, const device *dev, comm_nccl **created)
{
    *created = NULL;
    comm_nccl *n = calloc(1, sizeof *n);
    status result = comm_agree(c, n ? STATUS_OK : FAILED(STATUS_RESOURCE, "out of host memory"));
    if (result == STATUS_OK) {
        *n = (comm_nccl){.dev = dev, .patience = 600};
        result = create(c, n);
    }
    if (result == STATUS_OK)
        *created = n;
    else
        comm_nccl_destroy(n);
    return result;
}

void comm_nccl_destroy(comm_nccl *n)
{
    int before;
    if (!n) return;
    if (n->nccl && cuda_try_enter(device_ordinal(n->dev), &before) == cudaSuccess) {
        (void)ncclCommFinalize(n->nccl);
        if (wait_for(n, finish_seconds) == ncclSuccess)
            (void)ncclCommDestroy(n->nccl);
        else
            (void)ncclCommAbort(n->nccl);
        cuda_leave(device_ordinal(n->dev), before);
    }
    free(n);
}

void comm_nccl_limit_wait(comm_nccl *n, double seconds)
{
    n->patience = seconds;
}

static ncclResult_t give(comm_nccl *n, const comm_part *p, ncclDataType_t type)
{
    const size_t count = (size_t)p->count;
    cudaStream_t stream = (cudaStream_t)device_stream(n->dev);
    switch (p->verb) {
    case COMM_VERB_SUM:
        return ncclAllReduce(p->from, p->to, count, type, ncclSum, n->nccl, stream);
    case COMM_VERB_SUM_TO:
        return ncclReduce(p->from, p->to, count, type, ncclSum, p->root, n->nccl, stream);
    case COMM_VERB_BROADCAST:
        break;
    }
    return ncclBroadcast(p->from, p->to, count, type, p->root, n->nccl, stream);
}

/* All parts as one operation. */
static ncclResult_t give_all(comm_nccl *n, int n_parts, const comm_part *parts, comm_type type)
{
    static const ncclDataType_t types[] = {[COMM_BYTE] = ncclUint8,
                                           [COMM_INT64] = ncclInt64,
                                           [COMM_SINGLE] = ncclFloat32,
                                           [COMM_DOUBLE] = ncclFloat64};
    ncclResult_t worst = ncclGroupStart();
    for (int i = 0; i < n_parts; i++) {
        if (parts[i].count == 0) continue;
        const ncclResult_t result = give(n, parts + i, types[type]);
        if (result != ncclSuccess && result != ncclInProgress) worst = result;
    }
    const ncclResult_t end = ncclGroupEnd();
    return worst == ncclSuccess ? end : worst;
}

status comm_nccl_run(comm_nccl *n, int n_parts, const comm_part *parts, comm_type type)
{
    int before;
    if (!n->nccl) FAIL(STATUS_PARALLEL, "exchange between GPUs: it was given up before");
    if (cuda_enter(device_ordinal(n->dev), &before) != STATUS_OK)
        return give_up(n, "this rank's GPU failed", "");
    const ncclResult_t given = give_all(n, n_parts, parts, type);
    status result = given == ncclSuccess || given == ncclInProgress
                        ? finish(n)
                        : give_up(n, ncclGetErrorString(given), ncclGetLastError(n->nccl));
    cuda_leave(device_ordinal(n->dev), before);
    return result;
}
