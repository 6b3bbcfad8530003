/* schedule.h: what each generation of a reconstruction does, and what it costs. */
#ifndef MTIP_SCHEDULE_H
#define MTIP_SCHEDULE_H

#include "config.h"
#include "run.h"

/* Generation g of the search: resolution, references and perplexity march together. */
run_step schedule_search(const config *cfg, int g);
/* Steps of a phasing of so many loops. */
int64_t schedule_phase_steps(const config *cfg, int64_t loops);
/* First generation of the search: the last one when the orientations are given. */
int schedule_first(const config *cfg);
/* Final generation g: full resolution; the last one is not fed back. */
run_step schedule_final(const config *cfg, int g);

/* References that come to carry weight when so many images are matched, about: posteriors reach further
   than their perplexity says. */
int64_t schedule_active(const run_step *step, int64_t n_images);

/* What a generation costs, in slices of all pixels; phasing costs about as much as 2,000 of them. */
double schedule_work(const run_step *step);
/* All the work if the first attempt succeeds; side by side, two halves take the time of one. */
double schedule_all(const config *cfg, int ranks);

#endif
