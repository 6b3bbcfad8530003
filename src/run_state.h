/* run_state.h: a run between two generations, on the host: all that the next one starts from.

   Random numbers belong to places (mtip/random.h), so that the number of the generation is all that
   they need.  Doubles hold reals of either precision as they are: a state goes from one device,
   precision's library or number of ranks to another without a changed bit. */
#ifndef MTIP_RUN_STATE_H
#define MTIP_RUN_STATE_H

#include "run.h"

/* What a state holds, one after the other: three [size]^3, then [n_images] of each but the last,
   which is [n_images][4]. */
typedef enum state_part {
    STATE_DENSITY,
    STATE_MODEL,  /* the autocorrelation that is sliced */
    STATE_MERGED, /* the one that the data gave */
    STATE_FLUENCES,
    STATE_SCORES,
    STATE_ORIENTATIONS,
    N_STATE_PARTS
} state_part;

typedef struct run_state {
    int64_t generation; /* generations done; 0: nothing is saved */
    int64_t has_model;
    int64_t size, n_images;
    double *values; /* NULL where another rank has them */
} run_state;

const char *state_name(state_part part);
int64_t state_count(const run_state *s, state_part part);
double *state_part_of(const run_state *s, state_part part);

/* Room for what the fields before `values` say. */
status run_state_reserve(run_state *s);
/* Frees the values and forgets the generations. */
void run_state_clear(run_state *s);

/* The state after `generation` generations. STATUS_NUMERIC, and the state before, if a value is not
   finite; the message says which, how many and the first. Not collective. */
status run_save(const run *r, int64_t generation, run_state *s);
/* The run goes on from a state that every rank has. Collective. */
status run_restore(run *r, const run_state *s);

/* Rank `from`'s state to rank `to`, or to all ranks. Collective. */
status run_state_send(comm *c, run_state *s, int from, int to);
status run_state_broadcast(comm *c, run_state *s, int root);

#endif
