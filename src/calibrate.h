/* calibrate.h: how fast this machine does the stages of a run, from a few small generations. */
#ifndef MTIP_CALIBRATE_H
#define MTIP_CALIBRATE_H

#include "images.h"
#include "stage_lines.h"

/* What to sample: shares of a rank. */
typedef struct calibration_plan {
    device_kind kind;
    int threads;
    int64_t images;                    /* of the search, at most so many are sampled */
    int64_t generation_starts, starts; /* of phasing, in a generation and at the end */
} calibration_plan;

typedef struct calibration {
    stage_line stages[N_STAGES];   /* seconds an operation, at the generations' number of starts */
    stage_line last_phasing;       /* the same of phasing, at the final number of starts */
    double between;                /* seconds of a generation outside of its stages */
    double begin;                  /* seconds of the device, its first use and the run's files */
    double setup, setup_image;     /* seconds of a run's beginning, and for each image of a rank */
    double look_image, load_image; /* seconds for an image of the file, of a set; 0: no file */
    double compare;                /* seconds to align two maps and correlate them */
} calibration;

/* The catalogue is of estimate_data_open.  Takes seconds and, beside the forecast's (forecast.h), no
   memory.  `alone` is a comm of this process. STATUS_RESOURCE without such a device. */
status calibrate(const config *cfg, comm *alone, const catalogue *k, const calibration_plan *plan,
                 calibration *made);

#endif
