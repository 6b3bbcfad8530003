/* keeper.h: keeps what a reconstruction has come to: checkpoints, early ends, signs of life.

   All ranks meet between two generations (keeper_meet); there a checkpoint is written when one is due
   or asked for, and a run that is to end early ends.  What asks for an end is also seen at every
   comm_agree inside a generation, which is then given up: its start is what is saved, and is computed
   again later.  So a run ends within one step of a generation, whatever signal came to which rank. */
#ifndef MTIP_KEEPER_H
#define MTIP_KEEPER_H

#include "reconstruct.h"
#include "run_directory.h"

typedef struct keeper keeper;

/* data: the catalogue's checksum; directory: of rank 0; seconds: until the run has to end, INFINITY if
   ever so long, on rank 0.  All must outlive the keeper. Collective, as are all but the two below. */
status keeper_create(const config *cfg, comm *world, uint64_t data, run_directory *directory,
                     double seconds, keeper **created);
/* status.json says how it ended. Accepts NULL. */
void keeper_destroy(keeper *k, status outcome);
/* The work that follows may be ended early until the next meeting. */
void keeper_enter(keeper *k);

/* Every rank takes up what the newest good checkpoint holds, if there is one. */
status keeper_resume(keeper *k, reconstruction *made);

/* What this rank came to since keeper_enter, and the generation's record (generation 0: none), which
   is overwritten: rank 0 gets to know that of the other half.  A failure of one rank is everybody's;
   STATUS_STOPPED, with a checkpoint, if the run is to end early. */
status keeper_meet(keeper *k, status mine, run_record *record, reconstruction *made);

#endif
