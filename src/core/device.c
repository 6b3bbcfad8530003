#include "core/clock.h"
#include "core/device_impl.h"
#include "core/host_memory.h"

#include <assert.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

static void cpu_destroy(device *dev)
{
    free(dev);
}

static status cpu_alloc(const device *dev, int64_t bytes, void **memory)
{
    (void)dev;
    size_t size = ((size_t)bytes + ALIGNMENT) / ALIGNMENT * ALIGNMENT;
    *memory = aligned_alloc(ALIGNMENT, size);
    if (!*memory)
        FAIL(STATUS_RESOURCE, "cannot allocate %.3f GiB of host memory", (double)bytes / 0x1p30);
    return STATUS_OK;
}

static void cpu_free(const device *dev, void *memory)
{
    (void)dev;
    free(memory);
}

static status cpu_copy(const device *dev, void *to, const void *from, int64_t bytes)
{
    (void)dev;
    if (bytes > 0) memmove(to, from, (size_t)bytes);
    return STATUS_OK;
}

static status cpu_zero(const device *dev, void *memory, int64_t bytes)
{
    (void)dev;
    if (bytes > 0) memset(memory, 0, (size_t)bytes);
    return STATUS_OK;
}

static status cpu_synchronize(const device *dev)
{
    (void)dev;
    return STATUS_OK;
}

static status cpu_mark_now(const device *dev, device_mark *mark)
{
    (void)dev;
    mark->seconds = clock_seconds();
    return STATUS_OK;
}

static status cpu_mark_seconds(const device *dev, const device_mark *from, const device_mark *to,
                               double *seconds)
{
    (void)dev;
    *seconds = to->seconds - from->seconds;
    return STATUS_OK;
}

static void cpu_mark_free(const device *dev, device_mark *mark)
{
    (void)dev;
    mark->event = NULL;
}

static void cpu_begin_range(const char *name)
{
    (void)name;
}

static void cpu_end_range(void)
{
}

static int64_t cpu_free_bytes(const device *dev)
{
    (void)dev;
    return host_memory_free("");
}

static const device_table cpu_table = {.kind = DEVICE_CPU,
                                       .destroy = cpu_destroy,
                                       .alloc = cpu_alloc,
                                       .free = cpu_free,
                                       .alloc_host = cpu_alloc,
                                       .free_host = cpu_free,
                                       .from_host = cpu_copy,
                                       .to_host = cpu_copy,
                                       .begin_to_host = cpu_copy,
                                       .copy = cpu_copy,
                                       .zero = cpu_zero,
                                       .synchronize = cpu_synchronize,
                                       .mark_now = cpu_mark_now,
                                       .mark_seconds = cpu_mark_seconds,
                                       .mark_free = cpu_mark_free,
                                       .free_bytes = cpu_free_bytes,
                                       .begin_range = cpu_begin_range,
                                       .end_range = cpu_end_range};

status device_create_cpu(int n_threads, device **created)
{
    *created = NULL;
    if (n_threads < 0) FAIL(STATUS_INVALID, "n_threads is %d", n_threads);
    device *dev = malloc(sizeof *dev);
    if (!dev) FAIL(STATUS_RESOURCE, "out of host memory");
    *dev = (device){.table = &cpu_table,
                    .n_threads = n_threads > 0 ? n_threads : omp_get_max_threads(),
                    .n_users = 1,
                    .ordinal = -1};
    *created = dev;
    return STATUS_OK;
}

void device_destroy(device *dev)
{
    if (!dev) return;
    if (dev->kept && dev->kept->object) dev->kept->destroy(dev, dev->kept->object);
    free(dev->kept);
    dev->table->destroy(dev);
}

status device_keep(const device *dev, status (*make)(const device *dev, void **object),
                   void (*destroy)(const device *dev, void *object), void **object)
{
    assert(dev->kept);
    if (!dev->kept->object) {
        TRY(make(dev, &dev->kept->object));
        dev->kept->destroy = destroy;
    }
    *object = dev->kept->object;
    return STATUS_OK;
}

device_kind device_kind_of(const device *dev)
{
    return dev->table->kind;
}

int device_threads(const device *dev)
{
    return dev->n_threads;
}

int device_ordinal(const device *dev)
{
    return dev->ordinal;
}

void *device_stream(const device *dev)
{
    return dev->stream;
}

status device_alloc(const device *dev, int64_t bytes, void **memory)
{
    *memory = NULL;
    if (bytes < 0) FAIL(STATUS_INVALID, "asked to allocate %lld bytes", (long long)bytes);
    return dev->table->alloc(dev, bytes, memory);
}

void device_free(const device *dev, void *memory)
{
    if (memory) dev->table->free(dev, memory);
}

int64_t device_free_bytes(const device *dev)
{
    return dev->table->free_bytes(dev);
}

status device_alloc_host(const device *dev, int64_t bytes, void **memory)
{
    *memory = NULL;
    if (bytes < 0) FAIL(STATUS_INVALID, "asked to allocate %lld bytes", (long long)bytes);
    return dev->table->alloc_host(dev, bytes, memory);
}

void device_free_host(const device *dev, void *memory)
{
    if (memory) dev->table->free_host(dev, memory);
}

static void count_traffic(const device *dev, int64_t bytes)
{
    if (dev->kept) dev->kept->traffic += bytes;
}

int64_t device_traffic(const device *dev)
{
    return dev->kept ? dev->kept->traffic : 0;
}

void device_begin_range(const device *dev, const char *name)
{
    dev->table->begin_range(name);
}

void device_end_range(const device *dev)
{
    dev->table->end_range();
}

void device_set_users(device *dev, int n)
{
    dev->n_users = n;
}

int device_users(const device *dev)
{
    return dev->n_users;
}

status device_from_host(const device *dev, void *to, const void *from_host, int64_t bytes)
{
    count_traffic(dev, bytes);
    return dev->table->from_host(dev, to, from_host, bytes);
}

status device_to_host(const device *dev, void *to_host, const void *from, int64_t bytes)
{
    count_traffic(dev, bytes);
    return dev->table->to_host(dev, to_host, from, bytes);
}

status device_from_doubles(const device *dev, precision p, int64_t n, const double *from, void *to)
{
    if (p == PRECISION_DOUBLE) return device_from_host(dev, to, from, real_bytes(p, n));
    float *narrow = malloc((size_t)(n + 1) * sizeof *narrow);
    if (!narrow) FAIL(STATUS_RESOURCE, "out of host memory for %lld numbers", (long long)n);
    for (int64_t i = 0; i < n; i++)
        narrow[i] = (float)from[i];
    status result = device_from_host(dev, to, narrow, real_bytes(p, n));
    free(narrow);
    return result;
}

status device_to_doubles(const device *dev, precision p, int64_t n, const void *from, double *to)
{
    TRY(device_to_host(dev, to, from, real_bytes(p, n)));
    for (int64_t i = n - 1; i >= 0 && p == PRECISION_SINGLE; i--) {
        float narrow;
        memcpy(&narrow, (const float *)(const void *)to + i, sizeof narrow);
        to[i] = (double)narrow;
    }
    return STATUS_OK;
}

status device_begin_to_host(const device *dev, void *to_host, const void *from, int64_t bytes)
{
    count_traffic(dev, bytes);
    return dev->table->begin_to_host(dev, to_host, from, bytes);
}

status device_copy(const device *dev, void *to, const void *from, int64_t bytes)
{
    return dev->table->copy(dev, to, from, bytes);
}

status device_zero(const device *dev, void *memory, int64_t bytes)
{
    return dev->table->zero(dev, memory, bytes);
}

status device_synchronize(const device *dev)
{
    return dev->table->synchronize(dev);
}

status device_mark_now(const device *dev, device_mark *mark)
{
    return dev->table->mark_now(dev, mark);
}

status device_mark_seconds(const device *dev, const device_mark *from, const device_mark *to,
                           double *seconds)
{
    return dev->table->mark_seconds(dev, from, to, seconds);
}

void device_mark_free(const device *dev, device_mark *mark)
{
    dev->table->mark_free(dev, mark);
}
