/* run.h: a reconstruction in progress: one set of images on the ranks of one comm.

   A generation is slice -> match -> merge -> phase.  All communication of a generation stands in
   run_generation (run.c). */
#ifndef MTIP_RUN_H
#define MTIP_RUN_H

#include "comm.h"
#include "config.h"
#include "images.h"
#include "mtip/average.h"
#include "stage_floor.h"
#include "stage_timer.h"

typedef struct run run;

/* One generation's settings. */
typedef struct run_step {
    double resolution; /* fraction of the largest |s| that is used */
    int64_t n_references;
    double perplexity;
    bool feedback; /* the next model is the phased density's autocorrelation */
} run_step;

/* What a generation came to, the same on all ranks of the run but for the costs. */
typedef struct run_record {
    int attempt, run, generation; /* of a reconstruction: which it is (history.h), from 1, 0, 1 */
    int rank;                     /* of the world, whose costs these are; -1: of a process before */
    run_step step;
    double perplexity; /* reached: exp of the mean entropy */
    double score;      /* mean of the best references' scores (match.h) */
    double moved;      /* median change of the orientations, degrees */
    double r_factor;   /* of the phased density */
    int64_t n_active;  /* references that carry weight */
    int cg_iterations;
    stage_cost costs[N_STAGES]; /* of a rank */
    stage_work works[N_STAGES]; /* that it had to do, the exchanges aside */
} run_record;

/* seed names the random numbers of this run. The arguments must outlive the run. Collective. */
status run_create(const config *cfg, const device *dev, comm *c, const catalogue *k,
                  const images *set, uint64_t seed, run **created);
void run_destroy(run *r);

/* The generation numbered `number`.  Without a model yet the orientations are random. Collective. */
status run_generation(run *r, int number, const run_step *step, run_record *record);

/* Merges all images at these orientations, host [n][4] for all images of the set, at full
   resolution: the new model. Collective. */
status run_merge_at(run *r, const double *orientations);

/* The next model is the autocorrelation of this density, host [size]^3. Collective. */
status run_set_density(run *r, const double *density);

/* Phases the merged autocorrelation of the last generation from `starts` random starts dealt to the
   ranks; the density becomes the average of the consistent ones, the record's r_factor the smallest
   of all starts. The report is the same on all ranks. Collective. */
status run_phase_final(run *r, int64_t starts, int loops, average_report *report,
                       run_record *record);

/* Host arrays owned by the run, the same on all ranks. */
const double *run_density(const run *r);      /* [size]^3 */
const double *run_prtf(const run *r);         /* [size / 2 + 1], of run_phase_final (mtip/prtf.h) */
const double *run_orientations(const run *r); /* [n][4] */
const double *run_fluence(const run *r);      /* [n] */
const double *run_scores(const run *r);       /* [n] */
/* The merged autocorrelation, host doubles [size]^3 to be filled. Not collective. */
status run_autocorrelation(const run *r, double *out);
double run_voxel(const run *r); /* Angstrom */
double run_s_max(const run *r); /* 1/Angstrom */

#endif
