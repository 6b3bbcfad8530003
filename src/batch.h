/* batch.h: what the batch system, Slurm or LSF, has told this process. */
#ifndef MTIP_BATCH_H
#define MTIP_BATCH_H

#include <stddef.h>

enum { BATCH_NAME_SIZE = 64 };

/* This node, by the name that the batch system knows it by, else the host's; "?" if it has none. */
void batch_node(char name[BATCH_NAME_SIZE]);

/* The job: "Slurm job 12, restart 1, on n[0-1]"; "" outside of one. */
void batch_job(char *text, size_t size);

/* Logs "node fault: NAME" of this node, the line by which job scripts (mtip jobscript) know what to avoid
   when they queue the job again. */
void batch_node_fault(void);

#endif
