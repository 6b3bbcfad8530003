/* progress.h: how far a reconstruction has come: what a checkpoint holds. */
#ifndef MTIP_PROGRESS_H
#define MTIP_PROGRESS_H

#include "mtip/pointwise.h"
#include "run_state.h"

/* The runs that a reconstruction has at a time. */
typedef enum progress_run { RUN_HALF_1, RUN_HALF_2, RUN_ALL, N_RUNS } progress_run;

typedef struct progress {
    int64_t size;     /* n */
    int64_t attempts; /* whose halves have been compared */
    int64_t searched; /* there will be no more attempts, and their halves are forgotten */
    double **half[2]; /* [attempts] [n]^3 each, those of the attempts; room for `room` */
    int64_t room;
    run_state runs[N_RUNS]; /* the halves of the next attempt, and the final generations */
    int owners[N_RUNS];     /* ranks of the world that hold the values of these */
} progress;

/* For grids of `size` and so many attempts. STATUS_RESOURCE. */
status progress_create(int64_t size, int64_t room, progress *p);
void progress_free(progress *p);

/* Room for the halves of attempt number `attempts`, which count when attempts is raised. */
status progress_grow(progress *p);
/* Forgets the halves. */
void progress_forget(progress *p);

#endif
