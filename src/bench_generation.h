/* bench_generation.h: a generation of the program itself (run.h) on synthetic images, whose content
   is noise: at the perplexity of late generations few references carry weight, and little is
   merged. */
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

/* One generation, costs[N_STAGES] of this rank. Collective. */
status generation_run(generation *g, stage_cost *costs);

#endif
