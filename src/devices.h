/* devices.h: the device each rank computes on. */
#ifndef MTIP_DEVICES_H
#define MTIP_DEVICES_H

#include "comm.h"
#include "config.h"
#include "core/device.h"

/* Threads of a rank: those asked for (parallel.threads), or 0: OMP_NUM_THREADS, or unset: the cores that
   this process may run on, and its share of the node's where `ranks` of them on a node see the same. */
int devices_threads(int64_t asked, int ranks);

/* What parallel.backend says: the CPU with this many threads, or GPU number (rank within its node)
   modulo (visible GPUs).  `auto` takes the GPUs if every rank can use one, and warns where there is
   a GPU that is not used; `cuda` fails with STATUS_RESOURCE and the cause; run.deterministic takes
   the CPU.  Logs which rank is where, and warns where ranks share a GPU.  All ranks get the same
   kind of device.  Collective. */
status devices_choose(const config *cfg, comm *world, int threads, device **chosen);

/* Tells the device how many ranks of c are on it (device_users), and counts their GPUs (0 on the CPU).
   For a part of the ranks that computes while the others do not.  Collective. */
status devices_count_users(comm *c, device *dev, int *n_gpus);

#endif
