/* estimate_time.h: the time of a reconstruction from the rates of the machine and its schedule. */
#ifndef MTIP_ESTIMATE_TIME_H
#define MTIP_ESTIMATE_TIME_H

#include "calibrate.h"
#include "estimate.h"

/* What calibrate is to sample for this place. */
calibration_plan estimate_plan(const config *cfg, const estimate_place *place, int64_t n_images);

/* Fills in the times of the estimate: of the longest generation and the run.  The way between ranks is
   not measured: host memory is taken to pass 2 GB/s, NCCL 100 GB/s. */
void estimate_time(const config *cfg, const catalogue *k, const calibration *rates, estimate *e);

#endif
