#include "progress.h"

#include <stdlib.h>

status progress_create(int64_t size, int64_t room, progress *p)
{
    *p = (progress){.size = size, .room = room};
    for (int h = 0; h < 2; h++) {
        p->half[h] = calloc((size_t)room, sizeof *p->half[h]);
        if (!p->half[h]) FAIL(STATUS_RESOURCE, "out of host memory");
    }
    return STATUS_OK;
}

status progress_grow(progress *p)
{
    for (int h = 0; h < 2; h++)
        if (!(p->half[h][p->attempts] = calloc((size_t)cube(p->size), sizeof(double))))
            FAIL(STATUS_RESOURCE, "out of host memory for the halves of attempt %lld",
                 (long long)p->attempts + 1);
    return STATUS_OK;
}

void progress_forget(progress *p)
{
    for (int h = 0; h < 2; h++)
        for (int64_t i = 0; p->half[h] && i < p->room; i++) {
            free(p->half[h][i]);
            p->half[h][i] = NULL;
        }
}

void progress_free(progress *p)
{
    progress_forget(p);
    for (int h = 0; h < 2; h++)
        free(p->half[h]);
    for (int i = 0; i < N_RUNS; i++)
        run_state_clear(&p->runs[i]);
}
