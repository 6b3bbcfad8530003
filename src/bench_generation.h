/* bench_generation.h: a generation of the program itself (run.h) on photons of a synthetic particle
   (trial.h), at the perplexity of late generations. */
#ifndef MTIP_BENCH_GENERATION_H
#define MTIP_BENCH_GENERATION_H

#include "bench_iteration.h"

typedef struct generation generation;

/* Of the options, references and images are those of all ranks together, merged is not used, and
   phasing is `starts` starts dealt to ranks, as in a generation of mtip reconstruct.  memory: MB of a
   rank for kept scores.  setup: seconds of run_create.  Collective. */
status generation_create(const device *dev, comm *c, const iteration_options *options,
                         int64_t starts, double memory, double *setup, generation **created);
void generation_destroy(generation *g);

/* The same generation each time, costs[N_STAGES] of this rank. Collective. */
status generation_run(generation *g, stage_cost *costs);
/* References that carried weight in the last one. */
int64_t generation_active(const generation *g);

#endif
