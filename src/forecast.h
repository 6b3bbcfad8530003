/* forecast.h: the memory that a rank of a reconstruction needs, before any of it is allocated. */
#ifndef FORECAST_H
#define FORECAST_H

#include "core/device.h"
#include "images.h"

/* Bytes when a rank needs most: in the search, the final generations, or the last phasing. */
typedef struct forecast {
    device_kind kind;
    int64_t images, scores, batches, slicing, merging, phasing; /* on the device */
    int64_t device; /* of a GPU: their sum; 0 on the CPU, where they are host memory */
    int64_t host;
} forecast;

/* What is reconstructed. */
typedef struct forecast_data {
    int64_t n_images, n_pixels; /* used */
    photon_means lists;         /* of images that are read as lists of photons; 0: as rows */
} forecast_data;

status forecast_data_of(const catalogue *k, forecast_data *data);

/* For data dealt to `ranks`, with score_bytes for scores. */
status forecast_make(const config *cfg, device_kind kind, int ranks, const forecast_data *data,
                     int64_t score_bytes, forecast *f);

/* What scores may take where `free_bytes` of the device are there for a rank (-1: not known). */
int64_t forecast_score_bytes(const config *cfg, device_kind kind, int64_t free_bytes);

/* Times that the references are compared with n_images of a rank: 1 if the scores are kept, else 2. */
int64_t forecast_passes(const config *cfg, device_kind kind, int64_t n_images, int64_t n_references,
                        int64_t n_pixels, int64_t free_bytes);

/* STATUS_RESOURCE, with parts and cures, if a rank needs more than this much of its GPU or of the host
   (-1: not known). */
status forecast_fits(const forecast *f, int64_t on_device, int64_t on_host);

/* One line on what a rank needs; returns text. */
enum { FORECAST_TEXT = 256 };
const char *forecast_text(const forecast *f, char text[FORECAST_TEXT]);

/* Prints what a run on one rank needs, on a CPU and on a GPU like the first one here. */
status forecast_print(const config *cfg, const catalogue *k);

/* Says what a rank needs for these images of all ranks; STATUS_RESOURCE where a rank has less than that.
   Collective. */
status forecast_check(const config *cfg, const device *dev, comm *world, const catalogue *k);

#endif
