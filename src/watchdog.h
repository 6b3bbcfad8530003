/* watchdog.h: ends a run that makes no progress any more.

   A thread looks at a count that the ranks' meetings raise.  When it has stood still for the time
   given, the rank says what it was doing and for whom it waits, the stack of its main thread is
   printed, and all ranks are ended with the code of STATUS_PARALLEL.  A rank that computes speaks 5
   seconds before those that wait for it, so that the culprit is heard first; one that cannot speak
   (stopped, or gone) is named by the others of its node. */
#ifndef MTIP_WATCHDOG_H
#define MTIP_WATCHDOG_H

#include "comm.h"

typedef struct watchdog watchdog;

/* seconds 0: never. Collective; the comm must outlive it. */
status watchdog_create(comm *world, double seconds, watchdog **created);
/* Accepts NULL. Not collective. */
void watchdog_destroy(watchdog *w);

/* Progress: this rank waits for others at this stage (kept; NULL: none); it has met them. */
void watchdog_wait(watchdog *w, const char *stage);
void watchdog_go(watchdog *w);

#endif
