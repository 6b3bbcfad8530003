#include "batch.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/log.h"

void batch_node(char name[BATCH_NAME_SIZE])
{
    const char *of_slurm = getenv("SLURMD_NODENAME");
    snprintf(name, BATCH_NAME_SIZE, "%s", of_slurm && *of_slurm ? of_slurm : "?");
    if (*name != '?') return;
    if (gethostname(name, BATCH_NAME_SIZE - 1) != 0) snprintf(name, BATCH_NAME_SIZE, "?");
}

static const char *variable(const char *name, const char *otherwise)
{
    const char *value = getenv(name);
    return value && *value ? value : otherwise;
}

void batch_job(char *text, size_t size)
{
    const char *slurm = variable("SLURM_JOB_ID", NULL), *lsf = variable("LSB_JOBID", NULL);
    *text = 0;
    if (slurm)
        snprintf(text, size, "Slurm job %s, restart %s, on %s", slurm,
                 variable("SLURM_RESTART_COUNT", "0"), variable("SLURM_JOB_NODELIST", "?"));
    else if (lsf)
        snprintf(text, size, "LSF job %s, restarted: %s", lsf, variable("LSB_RESTART", "N"));
}

void batch_node_fault(void)
{
    char node[BATCH_NAME_SIZE];
    batch_node(node);
    log_error("node fault: %s", node);
}
