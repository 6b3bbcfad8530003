/* comm_device.h: sums and shares of arrays in the memory of a device.

   What comm.h says holds here too.  On the CPU these are comm's functions themselves; arrays of a
   GPU go through host memory.  All ranks of a comm are on the same kind of device. */
#ifndef MTIP_COMM_DEVICE_H
#define MTIP_COMM_DEVICE_H

#include "comm.h"
#include "core/device.h"

/* An array of a device, seen by comm. */
typedef struct device_array {
    const device *dev;
    void *data;
    int64_t count;
    comm_type type;
} device_array;

/* In-place elementwise sum over ranks, the result on all. */
status comm_device_sum(comm *c, device_array a);
status comm_device_broadcast(comm *c, device_array a, int root);
/* Rank r contributes counts[r] elements from its own part of the array, in the order of ranks;
   afterwards every rank has all of it. */
status comm_device_share(comm *c, device_array a, const int64_t counts[]);
/* Sums the array over ranks and leaves rank r with its counts[r] elements in `mine`, device memory
   too.  The array itself is left with anything. */
status comm_device_sum_scatter(comm *c, device_array a, void *mine, const int64_t counts[]);

#endif
