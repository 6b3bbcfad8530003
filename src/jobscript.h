/* jobscript.h: batch scripts for Slurm and LSF. */
#ifndef MTIP_JOBSCRIPT_H
#define MTIP_JOBSCRIPT_H

#include <stdio.h>

#include "core/types.h"
#include "machines.h"

/* What a script asks for and runs; texts are the caller's, NULL where not given. */
typedef struct job {
    const machine *machine;
    int nodes, ranks, gpus, cores; /* the last three of a node; ranks divide no more than cores */
    int64_t seconds;               /* its time limit */
    int memory;                    /* GiB of a node; 0: what the batch system gives */
    bool mps;                      /* ranks share GPUs through NVIDIA's MPS */
    const char *account, *queue, *constraint, *mpi;
    const char *array;      /* "1-4": the same for each number, which is the seed */
    const char *directory;  /* run.directory of a reconstruction; NULL: something else is run */
    const char *written_by; /* this program's command line, fit for a comment */
    const char *command;    /* what follows the program's name, quoted for the shell */
} job;

/* Whole scripts, for bash; both say in a comment what they are and what wrote them.  An error of the
   stream is the caller's to notice. */
void jobscript_slurm(const job *j, FILE *out);
void jobscript_lsf(const job *j, FILE *out);

#endif
