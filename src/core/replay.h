/* replay.h: work that a device is given again and again, on a GPU as one launch. */
#ifndef MTIP_REPLAY_H
#define MTIP_REPLAY_H

#include "core/device.h"

typedef struct replay replay;

/* `work` must make the same calls with the same arguments whenever it is called, and after its first
   call neither allocate nor wait nor move data between host and device.  dev and context must
   outlive the replay. */
status replay_create(const device *dev, status (*work)(void *context), void *context,
                     replay **created);
/* Does the work.  On a GPU the first time as it stands, then from a recording of its kernels. */
status replay_run(replay *r);
/* Accepts NULL. */
void replay_destroy(replay *r);

#endif
