/* machines.h: the machines that mtip jobscript knows. To add one: a row in machines.c. */
#ifndef MTIP_MACHINES_H
#define MTIP_MACHINES_H

#include <stdbool.h>

typedef enum scheduler { SCHEDULER_SLURM, SCHEDULER_LSF } scheduler;

typedef struct machine {
    const char *name;    /* of --system */
    const char *meaning; /* "Perlmutter, NERSC: .." */
    scheduler scheduler;
    int cores, gpus;                /* of a node, for jobs; cores 0: not known, to be given */
    int memory, gpu_memory;         /* GiB of a node, of a GPU; 0: not known */
    int cpus;                       /* that the scheduler counts for a core: hardware threads */
    bool whole_nodes;               /* jobs have nodes for themselves */
    bool needs_account;             /* a project that pays has to be named */
    const char *queue_option;       /* what takes --queue: "--qos" */
    const char *queue, *constraint; /* where none is given; NULL: none */
    const char *mpi;                /* of srun --mpi; NULL: srun's default is right */
} machine;

/* All of them, ended by a NULL name. */
extern const machine machines[];

/* The machine of that name, NULL if there is none. */
const machine *machine_find(const char *name);

#endif
