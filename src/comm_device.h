/* comm_device.h: sums and shares of arrays in the memory of a device.

   What comm.h says holds here too.  The way an array takes:

   COMM_DIRECT  MPI on the array itself: the CPU's.
   COMM_STAGED  pieces of it copied to page-locked host memory and back, MPI in between, while the
                next piece is copied.
   COMM_NCCL    from GPU to GPU; needs a GPU to itself for every rank.

   MPI libraries that take GPU memory themselves are not used: whether they do shows at run time
   only, by a crash. */
#ifndef MTIP_COMM_DEVICE_H
#define MTIP_COMM_DEVICE_H

#include "comm.h"
#include "core/device.h"

typedef struct comm_device comm_device;

typedef enum comm_path { COMM_AUTO, COMM_DIRECT, COMM_STAGED, COMM_NCCL } comm_path;

/* A comm of its ranks' devices, all of the same kind; both must outlive it.  COMM_AUTO: on GPUs
   NCCL where it can be, after one warning staged where it fails; what is asked for by name fails
   with STATUS_UNSUPPORTED or STATUS_RESOURCE.  Collective, as are all but the two below it. */
status comm_device_create(comm *c, const device *dev, comm_path path, comm_device **created);
/* Accepts NULL. Collective if the comm is whole. */
void comm_device_destroy(comm_device *d);
comm_path comm_device_path(const comm_device *d);
/* Bytes of this rank's arrays that were summed, sent or received so far. */
int64_t comm_device_traffic(const comm_device *d);

/* For tests: pieces of at most this many bytes; seconds that NCCL may let wait. */
void comm_device_limit_piece(comm_device *d, int64_t bytes);
void comm_device_limit_wait(comm_device *d, double seconds);

/* In-place elementwise sum over ranks, the result on all. */
status comm_device_sum(comm_device *d, void *data, int64_t count, comm_type type);
status comm_device_broadcast(comm_device *d, void *data, int64_t count, comm_type type, int root);
/* Rank r contributes counts[r] elements from its own part of the array, in the order of ranks;
   afterwards every rank has all of it. */
status comm_device_share(comm_device *d, void *data, const int64_t counts[], comm_type type);
/* Sums the array over ranks and leaves rank r with its counts[r] elements in `mine`, device memory
   too.  The array itself is left with anything. */
status comm_device_sum_scatter(comm_device *d, void *all, void *mine, const int64_t counts[],
                               comm_type type);

#endif
