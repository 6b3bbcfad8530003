/* bench_iteration.h: one iteration of M-TIP as the paper times it (Chang et al., arXiv 2102.08463,
   sections V and VI), on synthetic slices.

   Every rank slices all references, gives each of its own images the best one, merges its slices,
   adds its sums to those of the others, and phases; the solve is rank 0's.  The work of a rank does
   not depend on the number of ranks. */
#ifndef MTIP_BENCH_ITERATION_H
#define MTIP_BENCH_ITERATION_H

#include "comm_device.h"
#include "stage_floor.h"
#include "stage_timer.h"

typedef struct iteration_options {
    precision precision;
    int64_t size;               /* n: edge of the grid */
    int64_t pixels;             /* along an edge of the detector */
    int64_t references, images; /* images are matched; of every rank */
    int64_t merged;             /* slices merged, at least images, of every rank */
    double tolerance;           /* of the NUFFTs */
    int cg;                     /* iterations */
    int loops;                  /* of phasing: 125 steps each, and 50 at the end */
    comm_path path;             /* of exchanges between devices */
} iteration_options;

/* The paper's sizes of a rank. */
iteration_options iteration_paper(void);

typedef struct iteration iteration;

/* Plans, memory and images of every rank of c; setup: seconds of this rank without those for making
   the data.  Collective. */
status iteration_create(const device *dev, comm *c, const iteration_options *options, double *setup,
                        iteration **created);
void iteration_destroy(iteration *it);

/* One iteration, costs[N_STAGES] of this rank.  STATUS_NUMERIC if an image's best reference is not
   the one that it was made from.  Collective. */
status iteration_run(iteration *it, stage_cost *costs);

/* Seconds of slicing and of merging with the model or the slices copied from host memory before, and
   the slices or the sums to it behind. */
status iteration_time_copies(iteration *it, double *slicing, double *merging);

/* What the stages of this rank have to do. */
stage_work iteration_work(const iteration *it, stage s);

#endif
