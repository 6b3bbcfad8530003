/* device.h: where data lives and where kernels run.

   A device is created once, passed to everything that allocates or computes, and never asked for.
   The CPU is a device like any other: its memory is host memory, its kernels are OpenMP loops. */
#ifndef MTIP_DEVICE_H
#define MTIP_DEVICE_H

#include "core/status.h"
#include "core/types.h"

typedef enum device_kind { DEVICE_CPU, DEVICE_CUDA } device_kind;

typedef struct device device;

/* The CPU with n_threads OpenMP threads (0: as many as the process may run on). */
status device_create_cpu(int n_threads, device **created);

/* GPU number `ordinal` of those visible to the process (-1: the current one), with a stream of its
   own.  STATUS_UNSUPPORTED in a build without CUDA, STATUS_RESOURCE when there is none to use. */
status device_create_cuda(int ordinal, device **created);

/* Accepts NULL. Everything allocated on the device must have been freed. */
void device_destroy(device *dev);

device_kind device_kind_of(const device *dev);
/* Of the host, for what a stage does there. */
int device_threads(const device *dev);
/* The number of the GPU among those visible to the process, -1 on the CPU. */
int device_ordinal(const device *dev);
/* The cudaStream_t work goes to, NULL on the CPU. */
void *device_stream(const device *dev);
/* The number of GPUs this process can see; 0 without CUDA or without a driver. */
int device_count_cuda(void);

typedef struct device_facts {
    char name[64], uuid[48]; /* "GPU-..." as nvidia-smi prints it */
    int64_t bytes;           /* of memory */
} device_facts;

/* How many ranks compute on this GPU, 1 unless told (by whoever dealt the GPUs out). */
void device_set_users(device *dev, int n);
int device_users(const device *dev);

/* What GPU number `ordinal` of the visible ones is. */
status device_facts_cuda(int ordinal, device_facts *facts);

/* The object that a backend's library keeps with a GPU: `make` makes it at the first call,
   device_destroy gives it to `destroy`.  One per device. */
status device_keep(const device *dev, status (*make)(const device *dev, void **object),
                   void (*destroy)(const device *dev, void *object), void **object);

/* Memory of the device, 64-byte aligned at least, not initialised. bytes = 0 gives a pointer that
   may be freed but not used. */
status device_alloc(const device *dev, int64_t bytes, void **memory);
/* Accepts NULL. */
void device_free(const device *dev, void *memory);

/* Bytes of the device's memory that nobody uses now, -1 if that is not known; on the CPU those of the
   machine, or of the control group that the process is confined to. */
int64_t device_free_bytes(const device *dev);

/* Host memory that the device copies from and to at full speed (page-locked for a GPU). */
status device_alloc_host(const device *dev, int64_t bytes, void **memory);
/* Accepts NULL. */
void device_free_host(const device *dev, void *memory);

/* Copies between host and device memory, ordered with the device's stream; *_to_host returns when
   the data are there, *_begin_to_host at once if to_host is memory of device_alloc_host (they are
   there after device_synchronize). */
status device_from_host(const device *dev, void *to, const void *from_host, int64_t bytes);
status device_to_host(const device *dev, void *to_host, const void *from, int64_t bytes);
status device_begin_to_host(const device *dev, void *to_host, const void *from, int64_t bytes);
status device_copy(const device *dev, void *to, const void *from, int64_t bytes);
status device_zero(const device *dev, void *memory, int64_t bytes);
/* The same of n reals of a precision in device memory and doubles on the host, which keep their
   values. */
status device_from_doubles(const device *dev, precision p, int64_t n, const double *from_host,
                           void *to);
status device_to_doubles(const device *dev, precision p, int64_t n, const void *from,
                         double *to_host);
/* Waits until all work given to the device is done and reports its failures. */
status device_synchronize(const device *dev);

/* A moment in the work of a device; {0} is none.  Marks are queued like other work: setting one
   waits for nothing. */
typedef union device_mark {
    void *event;
    double seconds;
} device_mark;

/* Sets the mark, or sets it anew. */
status device_mark_now(const device *dev, device_mark *mark);
/* The time between two marks by the device's clock; waits until `to` has passed. */
status device_mark_seconds(const device *dev, const device_mark *from, const device_mark *to,
                           double *seconds);
/* Accepts {0}, and leaves it. */
void device_mark_free(const device *dev, device_mark *mark);

/* Names what follows, until its end, for profilers (NVTX); nothing on the CPU. */
void device_begin_range(const device *dev, const char *name);
void device_end_range(const device *dev);

/* Bytes copied between host and device memory so far, both ways; 0 on the CPU. */
int64_t device_traffic(const device *dev);

#endif
