/* forecast.h: the memory that a rank of a reconstruction needs, before any of it is allocated. */
#ifndef FORECAST_H
#define FORECAST_H

#include "comm.h"
#include "config.h"
#include "core/device.h"

/* Bytes of the final generations, which need most; on the CPU the device's are host memory too. */
typedef struct forecast {
    int64_t images, scores, batches, slicing, merging, phasing; /* on the device */
    int64_t device;                                             /* their sum */
    int64_t host;                                               /* beside that */
} forecast;

/* For n_images of n_pixels dealt to `ranks`, with score_bytes for scores. */
status forecast_make(const config *cfg, device_kind kind, int ranks, int64_t n_images,
                     int64_t n_pixels, int64_t score_bytes, forecast *f);

/* What scores may take where `free_bytes` of the device are there for a rank (-1: not known). */
int64_t forecast_score_bytes(const config *cfg, device_kind kind, int64_t free_bytes);

/* Prints what a run on one rank needs, on a CPU and on a GPU like the first one here. */
status forecast_print(const config *cfg, int64_t n_images, int64_t n_pixels);

/* Says what a rank needs for this many images of all ranks; STATUS_RESOURCE where a rank has less than
   that. Collective. */
status forecast_check(const config *cfg, const device *dev, comm *world, int64_t n_images,
                      int64_t n_pixels);

#endif
