/* interrupt.h: what asks a run to end early: signals, and a limit on its time. */
#ifndef MTIP_INTERRUPT_H
#define MTIP_INTERRUPT_H

#include "core/status.h"
#include "core/types.h"

/* From now on SIGINT, SIGTERM and SIGHUP, where they are not ignored, remove what is half written
   (io_atomic.h) before they end the process. */
void interrupt_clean_up(void);

/* From now on SIGTERM, SIGINT, SIGUSR1, SIGUSR2, SIGURG and SIGXCPU (the ones batch systems send) are
   noted; a second one but SIGXCPU, a second later or more, ends the process at once with code 128 + its
   number. */
void interrupt_catch(void);

/* The name of the signal that was noted, NULL if none. */
const char *interrupt_noted(void);

/* Seconds in a text: "90", "5:00", "1:30:00", "2-12:00:00" (days). STATUS_USAGE, with `what` named. */
status time_limit_parse(const char *what, const char *text, double *seconds);

/* Seconds that the batch system still gives this job: Slurm's SLURM_JOB_END_TIME, else squeue's
   answer; INFINITY where neither is known.  Starts a process: one rank, before the work. */
double time_limit_of_job(void);

#endif
