/* bench_link.h: how fast arrays on devices are summed over ranks that do nothing else. */
#ifndef MTIP_BENCH_LINK_H
#define MTIP_BENCH_LINK_H

#include "comm_device.h"

typedef struct link_rates {
    double bytes;   /* of a large array, a second */
    double latency; /* seconds of a sum of one number */
} link_rates;

/* The best of a few, of the slowest rank; one rank alone: zeros.  Takes 64 MB of a GPU, 16 of a
   CPU.
   Collective. */
status link_measure(comm *c, const device *dev, comm_path path, link_rates *rates);

#endif
