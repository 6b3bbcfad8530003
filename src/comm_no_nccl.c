/* comm_no_nccl.c: the NCCL of a build without it. */
#include "comm_nccl.h"

#define NO_NCCL "this build has no NCCL"

const char *comm_nccl_version(void)
{
    return "no";
}

status comm_nccl_create(comm *c, const device *dev, comm_nccl **created)
{
    (void)c, (void)dev;
    *created = NULL;
    FAIL(STATUS_UNSUPPORTED, NO_NCCL);
}

void comm_nccl_destroy(comm_nccl *n)
{
    (void)n;
}

void comm_nccl_limit_wait(comm_nccl *n, double seconds)
{
    (void)n, (void)seconds;
}

status comm_nccl_run(comm_nccl *n, int n_parts, const comm_part *parts, comm_type type)
{
    (void)n, (void)n_parts, (void)parts, (void)type;
    FAIL(STATUS_UNSUPPORTED, NO_NCCL);
}
