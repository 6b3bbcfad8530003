/* comm_device.c: device arrays through host memory.  What moves between GPUs without it takes the
   place of `begin` and `end`. */
#include "comm_device.h"

#include <stdlib.h>

static int64_t bytes_of(device_array a, int64_t count)
{
    static const int64_t sizes[] = {
        [COMM_BYTE] = 1, [COMM_INT64] = 8, [COMM_SINGLE] = 4, [COMM_DOUBLE] = 8};
    return count * sizes[a.type];
}

static bool on_cpu(device_array a)
{
    return device_kind_of(a.dev) == DEVICE_CPU;
}

static status copy_out(device_array a, int64_t more, void **host)
{
    const int64_t bytes = bytes_of(a, a.count);
    *host = malloc((size_t)(bytes + bytes_of(a, more)) + 1);
    if (!*host)
        FAIL(STATUS_RESOURCE, "cannot allocate %.3f GiB of host memory for a message",
             (double)bytes / 0x1p30);
    return device_to_host(a.dev, *host, a.data, bytes);
}

/* A host copy of the array, with room for `more` elements behind it, on all ranks or on none. */
static status begin(comm *c, device_array a, int64_t more, void **host)
{
    status result = comm_agree(c, copy_out(a, more, host));
    if (result == STATUS_OK) return result;
    free(*host);
    *host = NULL;
    return result;
}

/* The elements `from` the host copy go to the array, if what was done with them went well. */
static status end(comm *c, status done, device_array to, void *host, const void *from)
{
    status result = done;
    if (done == STATUS_OK)
        result = comm_agree(c, device_from_host(to.dev, to.data, from, bytes_of(to, to.count)));
    free(host);
    return result;
}

status comm_device_sum(comm *c, device_array a)
{
    void *host;
    if (on_cpu(a)) return comm_sum(c, a.data, a.count, a.type);
    if (comm_size(c) == 1) return STATUS_OK;
    TRY(begin(c, a, 0, &host));
    return end(c, comm_sum(c, host, a.count, a.type), a, host, host);
}

status comm_device_broadcast(comm *c, device_array a, int root)
{
    void *host;
    if (on_cpu(a)) return comm_broadcast(c, a.data, a.count, a.type, root);
    if (comm_size(c) == 1) return STATUS_OK;
    TRY(begin(c, a, 0, &host));
    return end(c, comm_broadcast(c, host, a.count, a.type, root), a, host, host);
}

status comm_device_share(comm *c, device_array a, const int64_t counts[])
{
    void *host;
    if (on_cpu(a)) return comm_share(c, a.data, counts, a.type);
    if (comm_size(c) == 1) return STATUS_OK;
    TRY(begin(c, a, 0, &host));
    return end(c, comm_share(c, host, counts, a.type), a, host, host);
}

status comm_device_sum_scatter(comm *c, device_array a, void *mine, const int64_t counts[])
{
    void *host;
    if (on_cpu(a)) return comm_sum_scatter(c, a.data, mine, counts, a.type);
    const int64_t count = counts[comm_rank(c)];
    if (comm_size(c) == 1) return device_copy(a.dev, mine, a.data, bytes_of(a, count));
    TRY(begin(c, a, count, &host));
    char *part = (char *)host + bytes_of(a, a.count);
    const device_array to = {a.dev, mine, count, a.type};
    return end(c, comm_sum_scatter(c, host, part, counts, a.type), to, host, part);
}
