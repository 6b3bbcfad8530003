/* run_check.h: a run's numbers against what they must be (run.check_invariants): for run*.c only.

   A device that computes wrongly without a fault says so by nothing else.  What is tested of every
   generation, on every rank that computes it:

     slices     samples of every batch are the direct sum over the model
     scores     samples of every batch, recomputed from the slice and the counts
     posterior  of every image sums to 1 (2 %: its norm is interpolated, ladder.h), and the weights of
                the references to what the posteriors and the fluences give
     tomograms  hold as many photons as the images, shared out by the posteriors
     merge      the kernel's value at 0 is the sum of weights, the data's that of the tomograms; both,
                and the solution, obey Friedel's law; the solution solves the normal equations as well
                as was said
     phasing    a density of every rank has the R factor that was said, by FFTs on the host; the model
                is even, and at 0 the sum of the density's squares (Parseval)

   Samples are named by the seed and the generation.  Functions take a run without checks, and then do
   nothing; what differs is STATUS_NUMERIC, with both numbers.  Nothing that they test is changed. */
#ifndef RUN_CHECK_H
#define RUN_CHECK_H

#include "mtip/match.h"
#include "mtip/merge.h"
#include "run.h"

/* Makes the run's checks if the config asks for them.  What the match was made of: of the images
   samples are copied, and the whitening. */
status run_check_create(run *r, const match_options *options, const double *whitening);
void run_check_destroy(run *r);

/* At the beginning of generation `number`. */
status run_check_begin(run *r, int number);
/* The model that the next slices are of. */
status run_check_model(run *r);
/* Slices of these rotations, device [count][n_used]; one of them is kept for the scores. */
status run_check_slices(run *r, int64_t count, const double *quaternions, const void *slices);
/* Before and after match_add of the batch that begins at `first`. */
status run_check_keep_slice(run *r, int64_t count, const void *slices);
status run_check_scores(run *r, int64_t first);

/* After match_weights; after a batch's tomograms; and of the rows [count][n_used] that are to be
   merged, before and after they are divided by the detector factor. */
status run_check_posterior(run *r);
status run_check_tomograms(run *r, int64_t n_active);
status run_check_photons(run *r, int64_t count, const void *rows);
status run_check_rows(run *r, int64_t count, const void *rows, const double *weights);
/* When all are merged: total_weight is of all references, on all ranks. Collective. */
status run_check_second_pass(run *r, double total_weight);

/* On the rank that solves: before and after. */
status run_check_sums(run *r);
status run_check_solution(run *r, const merge_report *report);

/* This rank's phased densities, device [count][n]^3, and their R factors. */
status run_check_phasing(run *r, int64_t count, const double *densities, const double *r_factors);
/* The new model against the density. */
status run_check_density(run *r);

#endif
