/* run_options.h: what the config asks of the stages of a run. */
#ifndef RUN_OPTIONS_H
#define RUN_OPTIONS_H

#include "config.h"
#include "mtip/match.h"
#include "mtip/merge.h"
#include "mtip/slice.h"

precision run_precision(const config *cfg);
slice_options run_slice_options(const config *cfg);
/* voxel in Angstrom */
merge_options run_merge_options(const config *cfg, double voxel);
/* For n_images of a rank; the floor is left to the caller, who knows the data. */
match_options run_match_options(const config *cfg, int64_t score_bytes, int64_t n_images,
                                int64_t n_pixels);

/* References whose slices are made at once, of n_pixels each: more on a GPU. */
int64_t run_batch(const config *cfg, device_kind kind, int64_t n_pixels, int64_t n_references);
/* References that are merged at once. */
int64_t run_waiting_rows(int64_t batch, int64_t n_pixels);

#endif
