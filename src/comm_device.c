/* comm_device.c: every function is a list of parts (comm_nccl.h), done on one of three paths. */
#include "comm_device.h"

#include "comm_nccl.h"
#include "core/log.h"

#include <stdlib.h>

enum { PIECE_BYTES = 8 << 20 };

struct comm_device {
    comm *comm;
    const device *dev;
    comm_path path;
    comm_nccl *nccl;
    void *piece[2]; /* page-locked host memory, staged path only */
    int64_t piece_bytes;
    comm_part *parts; /* [comm_size] */
    int64_t traffic;
};

/* Every rank has a GPU to itself. */
static status alone(comm *c, const device *dev, bool *all)
{
    int64_t shared = device_kind_of(dev) != DEVICE_CUDA || device_users(dev) > 1;
    TRY(comm_max(c, &shared, 1, COMM_INT64));
    *all = !shared;
    return STATUS_OK;
}

/* NCCL if it is asked for, or can be. */
static status try_nccl(comm_device *d)
{
    bool all;
    TRY(alone(d->comm, d->dev, &all));
    const bool asked = d->path == COMM_NCCL;
    if (asked && !all) FAIL(STATUS_RESOURCE, "NCCL needs a GPU to itself for every rank");
    if (!asked && !all) return STATUS_OK;
    status result = comm_nccl_create(d->comm, d->dev, &d->nccl);
    if (result == STATUS_PARALLEL || (asked && result != STATUS_OK)) return result;
    if (result == STATUS_OK)
        d->path = COMM_NCCL;
    else if (comm_rank(d->comm) == 0)
        log_warning("GPUs exchange through host memory, which is many times slower: %s",
                    status_message());
    return STATUS_OK;
}

static status allocate(comm_device *d)
{
    d->parts = calloc((size_t)comm_size(d->comm), sizeof *d->parts);
    if (!d->parts) FAIL(STATUS_RESOURCE, "out of host memory");
    for (int i = 0; i < 2 && d->path == COMM_STAGED; i++)
        TRY(device_alloc_host(d->dev, PIECE_BYTES, &d->piece[i]));
    return STATUS_OK;
}

static status choose_path(comm_device *d)
{
    const bool many = comm_size(d->comm) > 1, gpu = device_kind_of(d->dev) == DEVICE_CUDA;
    if (d->path == COMM_NCCL || (d->path == COMM_AUTO && many && gpu)) TRY(try_nccl(d));
    if (d->path == COMM_AUTO) d->path = gpu ? COMM_STAGED : COMM_DIRECT;
    if (d->path == COMM_DIRECT && gpu) FAIL(STATUS_UNSUPPORTED, "MPI does not take GPU memory");
    return STATUS_OK;
}

status comm_device_create(comm *c, const device *dev, comm_path path, comm_device **created)
{
    *created = NULL;
    status result = STATUS_OK;
    comm_device *d = calloc(1, sizeof *d);
    TRY_OR(fail, comm_agree(c, d ? STATUS_OK : FAILED(STATUS_RESOURCE, "out of host memory")));
    *d = (comm_device){.comm = c, .dev = dev, .path = path, .piece_bytes = PIECE_BYTES};
    TRY_OR(fail, choose_path(d));
    TRY_OR(fail, comm_agree(c, allocate(d)));
    if (d->path == COMM_NCCL) log_debug("GPUs exchange by %s", comm_nccl_version());
    *created = d;
    return STATUS_OK;
fail:
    comm_device_destroy(d);
    return result;
}

void comm_device_destroy(comm_device *d)
{
    if (!d) return;
    comm_nccl_destroy(d->nccl);
    for (int i = 0; i < 2; i++)
        device_free_host(d->dev, d->piece[i]);
    free(d->parts);
    free(d);
}

comm_path comm_device_path(const comm_device *d)
{
    return d->path;
}

int64_t comm_device_traffic(const comm_device *d)
{
    return d->traffic;
}

void comm_device_limit_piece(comm_device *d, int64_t bytes)
{
    d->piece_bytes = bytes;
}

void comm_device_limit_wait(comm_device *d, double seconds)
{
    if (d->nccl) comm_nccl_limit_wait(d->nccl, seconds);
}

/* A part, or a piece of it, in host memory. */
static status exchange(comm *c, const comm_part *p, void *data, int64_t count, comm_type type)
{
    switch (p->verb) {
    case COMM_VERB_SUM:
        return comm_sum(c, data, count, type);
    case COMM_VERB_SUM_TO:
        return comm_sum_to(c, data, count, type, p->root);
    case COMM_VERB_BROADCAST:
        break;
    }
    return comm_broadcast(c, data, count, type, p->root);
}

static bool sends(const comm_device *d, const comm_part *p)
{
    return p->verb != COMM_VERB_BROADCAST || p->root == comm_rank(d->comm);
}

static bool receives(const comm_device *d, const comm_part *p)
{
    return p->verb == COMM_VERB_SUM ||
           (p->root == comm_rank(d->comm)) == (p->verb == COMM_VERB_SUM_TO);
}

/* On the CPU; the sum to a root is made in place and copied. */
static status run_direct(comm_device *d, const comm_part *p, comm_type type)
{
    const bool copies = p->verb == COMM_VERB_SUM_TO && receives(d, p);
    TRY(exchange(d->comm, p, p->verb == COMM_VERB_SUM_TO ? (void *)p->from : p->to, p->count,
                 type));
    return copies ? device_copy(d->dev, p->to, p->from, p->count * comm_type_size(type))
                  : STATUS_OK;
}

/* Elements `first` .. of the part begin their way to piece[slot], as far as there are any. */
static status fetch(comm_device *d, const comm_part *p, int64_t first, int slot, comm_type type)
{
    const int64_t size = comm_type_size(type), left = p->count - first, n = d->piece_bytes / size;
    if (!sends(d, p) || left <= 0) return STATUS_OK;
    return device_begin_to_host(d->dev, d->piece[slot], (const char *)p->from + first * size,
                                (left < n ? left : n) * size);
}

/* While MPI has one piece the next is on its way to the host; at the end none is.  A rank whose copies
   fail goes on exchanging, so that none is left waiting; they agree afterwards. */
static status run_staged(comm_device *d, const comm_part *p, comm_type type)
{
    const int64_t size = comm_type_size(type), n_piece = d->piece_bytes / size;
    int slot = 0;
    status mine = fetch(d, p, 0, slot, type);
    for (int64_t first = 0; first < p->count; first += n_piece, slot = !slot) {
        const int64_t n = p->count - first < n_piece ? p->count - first : n_piece;
        if (mine == STATUS_OK) mine = device_synchronize(d->dev);
        if (mine == STATUS_OK) mine = fetch(d, p, first + n_piece, !slot, type);
        TRY(exchange(d->comm, p, d->piece[slot], n, type));
        if (mine == STATUS_OK && receives(d, p))
            mine = device_from_host(d->dev, (char *)p->to + first * size, d->piece[slot], n * size);
    }
    return mine == STATUS_OK ? device_synchronize(d->dev) : mine;
}

static status run_parts(comm_device *d, int n_parts, comm_type type)
{
    status mine = STATUS_OK;
    for (int i = 0; i < n_parts; i++)
        d->traffic += d->parts[i].count * comm_type_size(type);
    if (d->path == COMM_NCCL)
        return comm_blame(d->comm, comm_nccl_run(d->nccl, n_parts, d->parts, type));
    for (int i = 0; i < n_parts; i++) {
        const status here = d->path == COMM_DIRECT ? run_direct(d, d->parts + i, type)
                                                   : run_staged(d, d->parts + i, type);
        if (here == STATUS_PARALLEL) return here;
        if (mine == STATUS_OK) mine = here;
    }
    return d->path == COMM_DIRECT ? mine : comm_agree(d->comm, mine);
}

status comm_device_sum(comm_device *d, void *data, int64_t count, comm_type type)
{
    if (comm_size(d->comm) == 1) return STATUS_OK;
    d->parts[0] = (comm_part){COMM_VERB_SUM, 0, count, data, data};
    return run_parts(d, 1, type);
}

status comm_device_broadcast(comm_device *d, void *data, int64_t count, comm_type type, int root)
{
    if (comm_size(d->comm) == 1) return STATUS_OK;
    d->parts[0] = (comm_part){COMM_VERB_BROADCAST, root, count, data, data};
    return run_parts(d, 1, type);
}

status comm_device_share(comm_device *d, void *data, const int64_t counts[], comm_type type)
{
    const int n = comm_size(d->comm);
    char *at = data;
    if (n == 1) return STATUS_OK;
    for (int r = 0; r < n; at += counts[r++] * comm_type_size(type))
        d->parts[r] = (comm_part){COMM_VERB_BROADCAST, r, counts[r], at, at};
    return run_parts(d, n, type);
}

status comm_device_sum_scatter(comm_device *d, void *all, void *mine, const int64_t counts[],
                               comm_type type)
{
    const int n = comm_size(d->comm);
    char *at = all;
    if (n == 1) return device_copy(d->dev, mine, all, counts[0] * comm_type_size(type));
    for (int r = 0; r < n; at += counts[r++] * comm_type_size(type))
        d->parts[r] = (comm_part){COMM_VERB_SUM_TO, r, counts[r], at, mine};
    return run_parts(d, n, type);
}
