/* estimate.h: what a reconstruction will take, before it is submitted: memory of a rank, and time. */
#ifndef MTIP_ESTIMATE_H
#define MTIP_ESTIMATE_H

#include "forecast.h"
#include "stage_timer.h"

/* Where it is to run, all nodes together; ranks are dealt to nodes and GPUs evenly. */
typedef struct estimate_place {
    int ranks, nodes;
    int gpus;                      /* 0: on CPUs */
    int64_t host_bytes, gpu_bytes; /* of a node, of a GPU; -1: not known */
    double look_seconds; /* that the first look at GPUs here took, which a run takes, too */
} estimate_place;

typedef struct estimate {
    estimate_place place;
    int64_t n_images, n_pixels; /* used, of the data set */
    forecast memory;            /* of a rank, and its parts */
    double
        stages[N_STAGES]; /* seconds of a rank in them, but the exchanges; as long as seconds is */
    double other_seconds; /* between them: files, plans, comparing the halves */
    double generation_seconds; /* the longest generation; NAN: not known */
    double seconds;            /* the run, if its first attempt succeeds; NAN: not known */
} estimate;

/* This machine, with `ranks` on `gpus` of its GPUs: -1, all that parallel.backend allows and the ranks
   can use. */
estimate_place estimate_here(const config *cfg, int ranks, int gpus);

/* For the data set that the config names, or that mtip simulate will make by it.  `alone`: a comm of this
   process, to measure the time with; NULL: the times are not known.  STATUS_CONFIG and STATUS_INPUT as
   for mtip reconstruct, STATUS_RESOURCE for a place that cannot be. */
status estimate_make(const config *cfg, comm *alone, const estimate_place *place, estimate *e);

/* STATUS_RESOURCE, with the numbers and a cure, if a rank has less memory than it needs, or the run
   less time (INFINITY: ever so much). */
status estimate_check(const estimate *e, double seconds);

#endif
