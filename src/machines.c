#include "machines.h"

#include <stddef.h>
#include <string.h>

/* clang-format off */
const machine machines[] = {
    {.name = "slurm", .meaning = "Any cluster with Slurm", .scheduler = SCHEDULER_SLURM,
     .cpus = 1, .queue_option = "--partition", .mpi = "pmix"},
    {.name = "perlmutter", .meaning = "Perlmutter (NERSC), GPU nodes: 64 cores, 4 A100",
     .scheduler = SCHEDULER_SLURM, .cores = 64, .gpus = 4, .memory = 256,
     .gpu_memory = 40, .cpus = 2, .whole_nodes = true,
     .needs_account = true, .queue_option = "--qos", .queue = "regular", .constraint = "gpu"},
    {.name = "perlmutter-cpu", .meaning = "Perlmutter (NERSC), CPU nodes: 128 cores",
     .scheduler = SCHEDULER_SLURM, .cores = 128, .memory = 512, .cpus = 2, .whole_nodes = true,
     .needs_account = true, .queue_option = "--qos", .queue = "regular", .constraint = "cpu"},
    {.name = "cori-gpu", .meaning = "Cori GPU (NERSC): 40 cores, 8 V100",
     .scheduler = SCHEDULER_SLURM, .cores = 40, .gpus = 8, .memory = 384,
     .gpu_memory = 16, .cpus = 2, .whole_nodes = true,
     .needs_account = true, .queue_option = "--qos", .constraint = "gpu", .mpi = "pmi2"},
    {.name = "summit", .meaning = "Summit (OLCF): 42 cores for jobs, 6 V100",
     .scheduler = SCHEDULER_LSF, .cores = 42, .gpus = 6, .memory = 512,
     .gpu_memory = 16, .cpus = 1, .whole_nodes = true,
     .needs_account = true, .queue_option = "-q", .queue = "batch"},
    {.name = NULL},
};
/* clang-format on */

const machine *machine_find(const char *name)
{
    for (const machine *m = machines; m->name; m++)
        if (strcmp(m->name, name) == 0) return m;
    return NULL;
}
