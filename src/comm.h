/* comm.h: what the ranks of a run say to each other.

   Every function is collective over the comm unless it says otherwise, and returns the same code on
   all ranks or STATUS_PARALLEL, which only an abort ends.  So that no rank is left waiting, whatever
   can fail on one rank alone is agreed on (comm_agree) before the next exchange.  Counts are 64-bit;
   messages longer than MPI's int counts are cut into chunks.  Buffers are host memory; those of a
   device are comm_device.h's. */
#ifndef MTIP_COMM_H
#define MTIP_COMM_H

#include "core/status.h"
#include "core/types.h"

typedef struct comm comm;

typedef enum comm_type { COMM_BYTE, COMM_INT64, COMM_SINGLE, COMM_DOUBLE } comm_type;

/* Bytes of an element. */
int64_t comm_type_size(comm_type type);

/* MPI_Init and the world; the arguments are main's. comm_finish also ends MPI. */
status comm_start(int *argc, char ***argv, comm **world);
void comm_finish(comm *world);

/* Ends every rank at once with this exit code; for failures inside a collective. Not collective. */
void comm_abort(comm *c, int exit_code);

/* A comm of the ranks that give the same color, in the order of their ranks. */
status comm_split(comm *c, int color, comm **part);
void comm_destroy(comm *part);

int comm_rank(const comm *c);
int comm_size(const comm *c);
/* This process's rank in the world, whatever comm it is seen from: what messages call it. */
int comm_world_rank(const comm *c);
/* Ranks of this comm on the same node, and this rank's number among them. */
int comm_node_rank(const comm *c);
int comm_node_size(const comm *c);

/* Makes messages of at most n elements, for tests of the chunking. */
void comm_limit_chunk(comm *c, int64_t n);

/* Where this rank computes ("GPU-.. on host"; copied) and what it is doing (kept; NULL: nothing that
   has a name), for messages.  The parts that are split off later know the place too. Not collective. */
void comm_set_place(comm *c, const char *place);
void comm_set_stage(comm *c, const char *stage);

/* Puts "rank N (place, stage): " before the message of a failure, unless that has been done (N of the
   world; no more than is known; nothing for a single rank without a place). Not collective. */
status comm_blame(const comm *c, status mine);

/* Who is told when this rank begins to wait for the others in comm_agree, at which stage (NULL: none),
   and when it has met them. A failure of begin counts as this rank's.  Comms that are split off later
   are watched alike. NULL: nobody. Not collective. */
typedef struct comm_watch {
    status (*begin)(void *context, const char *stage);
    void (*end)(void *context);
    void *context;
} comm_watch;
void comm_set_watch(comm *c, const comm_watch *watch);

/* OK if every rank is OK; else, on all ranks, the code of the first rank that is not and its message,
   with its blame.  STATUS_PARALLEL comes back at once without a word to the others: only an abort
   ends it. */
status comm_agree_all(comm *c, status mine);
/* The same, so that compilers and analysers see that who failed does not go on. */
static inline status comm_agree(comm *c, status mine)
{
    const status all = comm_agree_all(c, mine);
    return mine != STATUS_OK && all == STATUS_OK ? mine : all;
}

status comm_barrier(comm *c);
status comm_broadcast(comm *c, void *data, int64_t count, comm_type type, int root);
/* In-place elementwise sum over ranks, the result on all. */
status comm_sum(comm *c, void *data, int64_t count, comm_type type);
/* The same with the result on root; the others' data are left with anything. */
status comm_sum_to(comm *c, void *data, int64_t count, comm_type type, int root);
status comm_max(comm *c, void *data, int64_t count, comm_type type);
/* Rank r contributes counts[r] elements from its own part of `data`, which starts at
   sum(counts[0..r-1]); afterwards every rank has all of it. */
status comm_share(comm *c, void *data, const int64_t counts[], comm_type type);
/* Like comm_share, on root only. */
status comm_gather(comm *c, void *data, const int64_t counts[], comm_type type, int root);
/* Moves count elements from rank `from`'s data to rank `to`'s. Only those two need to call it. */
status comm_send(comm *c, void *data, int64_t count, comm_type type, int from, int to);
#endif
