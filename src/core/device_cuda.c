/* device_cuda.c: one GPU and a stream on it.  Every call makes the GPU current for its duration
   and gives the caller's choice back. */
#include "core/cuda_try.h"
#include "core/device_impl.h"

#include <nvtx3/nvToolsExt.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static cudaStream_t stream_of(const device *dev)
{
    return (cudaStream_t)dev->stream;
}

static void destroy(device *dev)
{
    int before;
    if (cuda_try_enter(dev->ordinal, &before) == cudaSuccess) {
        if (dev->stream) (void)cudaStreamDestroy(stream_of(dev));
        cuda_leave(dev->ordinal, before);
    }
    free(dev);
}

static status allocate(int64_t bytes, void **memory)
{
    cudaError_t error = cudaMalloc(memory, bytes > 0 ? (size_t)bytes : 1);
    if (error == cudaSuccess) return STATUS_OK;
    *memory = NULL;
    size_t unused = 0, total = 0;
    status code = cuda_status(error);
    (void)cudaMemGetInfo(&unused, &total);
    FAIL(code, "cannot allocate %.3f GiB of GPU memory, %.3f GiB are free (%s)",
         (double)bytes / 0x1p30, (double)unused / 0x1p30, cudaGetErrorString(error));
}

static status alloc(const device *dev, int64_t bytes, void **memory)
{
    int before;
    TRY(cuda_enter(dev->ordinal, &before));
    status result = allocate(bytes, memory);
    cuda_leave(dev->ordinal, before);
    return result;
}

static void free_memory(const device *dev, void *memory)
{
    int before;
    if (cuda_try_enter(dev->ordinal, &before) != cudaSuccess) return;
    (void)cudaFree(memory);
    cuda_leave(dev->ordinal, before);
}

static status allocate_host(int64_t bytes, void **memory)
{
    cudaError_t error = cudaMallocHost(memory, bytes > 0 ? (size_t)bytes : 1);
    if (error == cudaSuccess) return STATUS_OK;
    *memory = NULL;
    FAIL(cuda_status(error), "cannot allocate %.3f GiB of page-locked host memory (%s)",
         (double)bytes / 0x1p30, cudaGetErrorString(error));
}

static status alloc_host(const device *dev, int64_t bytes, void **memory)
{
    int before;
    TRY(cuda_enter(dev->ordinal, &before));
    status result = allocate_host(bytes, memory);
    cuda_leave(dev->ordinal, before);
    return result;
}

static void free_host(const device *dev, void *memory)
{
    (void)dev;
    (void)cudaFreeHost(memory);
}

static status enqueue_copy(const device *dev, void *to, const void *from, int64_t bytes,
                           enum cudaMemcpyKind kind)
{
    if (bytes > 0) CUDA_TRY(cudaMemcpyAsync(to, from, (size_t)bytes, kind, stream_of(dev)));
    return STATUS_OK;
}

static status copy_as(const device *dev, void *to, const void *from, int64_t bytes,
                      enum cudaMemcpyKind kind)
{
    int before;
    TRY(cuda_enter(dev->ordinal, &before));
    status result = enqueue_copy(dev, to, from, bytes, kind);
    cuda_leave(dev->ordinal, before);
    return result;
}

static status from_host(const device *dev, void *to, const void *from, int64_t bytes)
{
    return copy_as(dev, to, from, bytes, cudaMemcpyHostToDevice);
}

static status begin_to_host(const device *dev, void *to, const void *from, int64_t bytes)
{
    return copy_as(dev, to, from, bytes, cudaMemcpyDeviceToHost);
}

static status copy(const device *dev, void *to, const void *from, int64_t bytes)
{
    return copy_as(dev, to, from, bytes, cudaMemcpyDeviceToDevice);
}

static status synchronize_stream(const device *dev)
{
    CUDA_TRY(cudaStreamSynchronize(stream_of(dev)));
    return STATUS_OK;
}

static status synchronize(const device *dev)
{
    int before;
    TRY(cuda_enter(dev->ordinal, &before));
    status result = synchronize_stream(dev);
    cuda_leave(dev->ordinal, before);
    return result;
}

static status to_host(const device *dev, void *to, const void *from, int64_t bytes)
{
    TRY(begin_to_host(dev, to, from, bytes));
    return synchronize(dev);
}

static status set_zero(const device *dev, void *memory, int64_t bytes)
{
    if (bytes > 0) CUDA_TRY(cudaMemsetAsync(memory, 0, (size_t)bytes, stream_of(dev)));
    return STATUS_OK;
}

static status zero(const device *dev, void *memory, int64_t bytes)
{
    int before;
    TRY(cuda_enter(dev->ordinal, &before));
    status result = set_zero(dev, memory, bytes);
    cuda_leave(dev->ordinal, before);
    return result;
}

static status record(const device *dev, device_mark *mark)
{
    cudaEvent_t event = mark->event;
    if (!event) {
        CUDA_TRY(cudaEventCreate(&event));
        mark->event = event;
    }
    CUDA_TRY(cudaEventRecord(event, stream_of(dev)));
    return STATUS_OK;
}

static status mark_now(const device *dev, device_mark *mark)
{
    int before;
    TRY(cuda_enter(dev->ordinal, &before));
    status result = record(dev, mark);
    cuda_leave(dev->ordinal, before);
    return result;
}

static status mark_seconds(const device *dev, const device_mark *from, const device_mark *to,
                           double *seconds)
{
    (void)dev;
    float milliseconds = 0;
    CUDA_TRY(cudaEventSynchronize((cudaEvent_t)to->event));
    CUDA_TRY(cudaEventElapsedTime(&milliseconds, (cudaEvent_t)from->event, (cudaEvent_t)to->event));
    *seconds = 1e-3 * (double)milliseconds;
    return STATUS_OK;
}

static void mark_free(const device *dev, device_mark *mark)
{
    (void)dev;
    if (mark->event) (void)cudaEventDestroy((cudaEvent_t)mark->event);
    mark->event = NULL;
}

static void begin_range(const char *name)
{
    (void)nvtxRangePushA(name);
}

static void end_range(void)
{
    (void)nvtxRangePop();
}

static int64_t free_bytes(const device *dev)
{
    int before;
    size_t unused = 0, total = 0;
    if (cuda_enter(dev->ordinal, &before) != STATUS_OK) return -1;
    cudaError_t error = cudaMemGetInfo(&unused, &total);
    cuda_leave(dev->ordinal, before);
    return cuda_status(error) == STATUS_OK ? (int64_t)unused : -1;
}

static const device_table cuda_table = {.kind = DEVICE_CUDA,
                                        .destroy = destroy,
                                        .alloc = alloc,
                                        .free = free_memory,
                                        .alloc_host = alloc_host,
                                        .free_host = free_host,
                                        .from_host = from_host,
                                        .to_host = to_host,
                                        .begin_to_host = begin_to_host,
                                        .copy = copy,
                                        .zero = zero,
                                        .synchronize = synchronize,
                                        .mark_now = mark_now,
                                        .mark_seconds = mark_seconds,
                                        .mark_free = mark_free,
                                        .free_bytes = free_bytes,
                                        .begin_range = begin_range,
                                        .end_range = end_range};

/* The stream does not wait for the legacy default stream. */
static status make_stream(device *dev)
{
    cudaStream_t stream;
    CUDA_TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    dev->stream = stream;
    return STATUS_OK;
}

status device_create_cuda(int ordinal, device **created)
{
    *created = NULL;
    int count = 0, before;
    CUDA_TRY(cudaGetDeviceCount(&count));
    if (count == 0) FAIL(STATUS_RESOURCE, "no GPU is visible to this process");
    if (ordinal < -1 || ordinal >= count)
        FAIL(STATUS_RESOURCE, "GPU %d was asked for, %d are visible (0 to %d)", ordinal, count,
             count - 1);
    if (ordinal < 0) CUDA_TRY(cudaGetDevice(&ordinal));
    device *dev = malloc(sizeof *dev);
    device_kept *kept = calloc(1, sizeof *kept);
    if (!dev || !kept) {
        free(dev);
        free(kept);
        FAIL(STATUS_RESOURCE, "out of host memory");
    }
    *dev = (device){.table = &cuda_table,
                    .n_threads = omp_get_max_threads(),
                    .n_users = 1,
                    .ordinal = ordinal,
                    .kept = kept};
    status result = cuda_enter(ordinal, &before);
    if (result == STATUS_OK) {
        result = make_stream(dev);
        cuda_leave(ordinal, before);
    }
    if (result != STATUS_OK) {
        free(kept);
        free(dev);
        return result;
    }
    *created = dev;
    return STATUS_OK;
}

int device_count_cuda(void)
{
    int count = 0;
    if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
    (void)cudaGetLastError();
    return 0;
}

status device_facts_cuda(int ordinal, device_facts *facts)
{
    struct cudaDeviceProp p;
    CUDA_TRY(cudaGetDeviceProperties(&p, ordinal));
    *facts = (device_facts){.bytes = (int64_t)p.totalGlobalMem};
    snprintf(facts->name, sizeof facts->name, "%.63s", p.name);
    int at = snprintf(facts->uuid, sizeof facts->uuid, "GPU");
    for (int i = 0; i < 16; i++)
        at += snprintf(facts->uuid + at, sizeof facts->uuid - (size_t)at, "%s%02x",
                       i == 0 || (i >= 4 && i <= 10 && i % 2 == 0) ? "-" : "",
                       (unsigned char)p.uuid.bytes[i]);
    return STATUS_OK;
}
