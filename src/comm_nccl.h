/* comm_nccl.h: exchanges between the GPUs of a comm by NCCL, one rank a GPU; for comm_device.c.
   comm_no_nccl.c stands in where there is no NCCL to build with. */
#ifndef MTIP_COMM_NCCL_H
#define MTIP_COMM_NCCL_H

#include "comm.h"
#include "core/device.h"

typedef enum comm_verb { COMM_VERB_SUM, COMM_VERB_SUM_TO, COMM_VERB_BROADCAST } comm_verb;

/* One exchange of an array of `count` elements: each rank's `from`, the result in `to`; device
   memory.  SUM_TO: the result on root alone.  BROADCAST: from root alone. */
typedef struct comm_part {
    comm_verb verb;
    int root;
    int64_t count;
    const void *from;
    void *to;
} comm_part;

typedef struct comm_nccl comm_nccl;

/* "NCCL 2.28.9", or "no". */
const char *comm_nccl_version(void);

/* STATUS_UNSUPPORTED without NCCL, STATUS_RESOURCE if it cannot connect the ranks. Collective. */
status comm_nccl_create(comm *c, const device *dev, comm_nccl **created);
void comm_nccl_destroy(comm_nccl *n);
/* Seconds to wait for the other ranks before giving up [600]. */
void comm_nccl_limit_wait(comm_nccl *n, double seconds);

/* Does all parts, which follow what was given to the device before, and returns when they are done.
   A failure here or on another rank, or a rank that does not come, gives STATUS_PARALLEL with the
   communicator aborted. Collective. */
status comm_nccl_run(comm_nccl *n, int n_parts, const comm_part *parts, comm_type type);

#endif
