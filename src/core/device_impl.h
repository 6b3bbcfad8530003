/* device_impl.h: the table behind a device; for core/ only. */
#ifndef MTIP_DEVICE_IMPL_H
#define MTIP_DEVICE_IMPL_H

#include "core/device.h"

typedef struct device_table {
    device_kind kind;
    void (*destroy)(device *dev);
    status (*alloc)(const device *dev, int64_t bytes, void **memory);
    void (*free)(const device *dev, void *memory);
    status (*alloc_host)(const device *dev, int64_t bytes, void **memory);
    void (*free_host)(const device *dev, void *memory);
    status (*from_host)(const device *dev, void *to, const void *from_host, int64_t bytes);
    status (*to_host)(const device *dev, void *to_host, const void *from, int64_t bytes);
    status (*begin_to_host)(const device *dev, void *to_host, const void *from, int64_t bytes);
    status (*copy)(const device *dev, void *to, const void *from, int64_t bytes);
    status (*zero)(const device *dev, void *memory, int64_t bytes);
    status (*synchronize)(const device *dev);
    status (*mark_now)(const device *dev, device_mark *mark);
    status (*mark_seconds)(const device *dev, const device_mark *from, const device_mark *to,
                           double *seconds);
    void (*mark_free)(const device *dev, device_mark *mark);
    int64_t (*free_bytes)(const device *dev);
    void (*begin_range)(const char *name);
    void (*end_range)(void);
} device_table;

/* What a GPU keeps that changes with use: see device_keep (empty until then), device_traffic. */
typedef struct device_kept {
    void *object;
    void (*destroy)(const device *dev, void *object);
    int64_t traffic;
} device_kept;

struct device {
    const device_table *table;
    int n_threads;
    int n_users;       /* ranks that compute on it */
    int ordinal;       /* of the GPU, -1 on the CPU */
    void *stream;      /* cudaStream_t, owned */
    device_kept *kept; /* owned; NULL on the CPU */
};

#endif
