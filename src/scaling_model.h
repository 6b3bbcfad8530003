/* scaling_model.h: what R ranks take, as a formula whose constants are fitted to measured rows.

   Seconds of a stage, at most u ranks to a GPU, which take turns (1 on CPUs), S starts of phasing:

   slice, match, merge   u (dealt / R + repeated)
   solve                 repeated: rank 0's, the others wait
   phase                 u (dealt ceil(S / R) / S + repeated)
   exchange              latency log2 R + volume 2 (R - 1) / R

   dealt is what ranks share, repeated what each of them does or waits for as if it were alone.  With
   --weak every rank has its own work: nothing is dealt.  An exchange is a tree of messages whose
   arrays go once around a ring (Thakur et al., Int. J. High Perform. Comput. Appl. 19, 49, 2005):
   volume is the bytes over the link's bandwidth, and the wait for the slowest rank is in both; where
   one row alone has an exchange, all of it is volume, the least that more ranks can take.
   Constants are least squares of the relative errors, none negative, over rows of at most
   SCALING_FITTED ranks; the rows of more ranks check them. */
#ifndef MTIP_SCALING_MODEL_H
#define MTIP_SCALING_MODEL_H

#include "scaling_rows.h"
#include "stage_lines.h"

enum { SCALING_FITTED = 4 };

typedef struct scaling_model {
    bool strong;
    int64_t starts;              /* of phasing */
    stage_line stages[N_STAGES]; /* fixed: repeated, or latency; growing: dealt, or volume */
} scaling_model;

/* STATUS_INPUT for fewer than two rows of up to SCALING_FITTED ranks. */
status scaling_model_fit(int n, const scaling_row rows[], bool strong, int64_t starts,
                         scaling_model *fitted);

/* Stages, total, and efficiency against one rank of the model; of the rest nothing.  gpus 0: CPUs. */
scaling_row scaling_model_row(const scaling_model *m, int ranks, int gpus);

#endif
