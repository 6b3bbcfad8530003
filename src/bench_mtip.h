/* bench_mtip.h: times the stages together: the paper's Table II, weak and strong scaling. */
#ifndef MTIP_BENCH_MTIP_H
#define MTIP_BENCH_MTIP_H

#include "comm.h"

/* argv[1..argc-1] are options (--help lists them); tables go to stdout.  Collective. */
status bench_mtip(int argc, char *const argv[], comm *world);

#endif
