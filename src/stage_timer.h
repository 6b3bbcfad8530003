/* stage_timer.h: where this rank's time goes, stage by stage.

   A timer is in one stage at a time.  It charges it with the seconds and the bytes copied since
   then, tells the comm its name, for messages, and profilers, for their ranges (NVTX). */
#ifndef MTIP_STAGE_TIMER_H
#define MTIP_STAGE_TIMER_H

#include "comm_device.h"

/* EXCHANGE: arrays between the devices of ranks, and the wait for them.  NONE: anything else. */
typedef enum stage {
    STAGE_SLICE,
    STAGE_MATCH,
    STAGE_MERGE,
    STAGE_SOLVE,
    STAGE_PHASE,
    STAGE_EXCHANGE,
    STAGE_NONE,
    N_STAGES = STAGE_NONE
} stage;

typedef struct stage_cost {
    double seconds;
    int64_t host_bytes; /* copied between host and device memory */
    int64_t rank_bytes; /* of arrays exchanged between the devices of ranks */
} stage_cost;

typedef struct stage_timer {
    const device *dev;
    comm *comm;
    const comm_device *devices;
    stage now;
    stage_cost before;              /* when it began */
    stage_cost costs[N_STAGES + 1]; /* so far */
} stage_timer;

/* A timer at STAGE_NONE with no costs, of things that outlive it. */
void stage_timer_reset(stage_timer *t, const device *dev, comm *c, const comm_device *devices);

/* Ends the stage it is in, when the device has done what it was given, and begins another.  Failures
   of the device are reported by the next call that gives it work, under the stage they happened in:
   the comm is told no other name any more. */
void stage_enter(stage_timer *t, stage s);

/* "slice" */
const char *stage_name(stage s);

#endif
