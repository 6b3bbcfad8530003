/* estimate_data.h: what can be known of a data set without looking at its images. */
#ifndef MTIP_ESTIMATE_DATA_H
#define MTIP_ESTIMATE_DATA_H

#include "images.h"

/* The used pixels of data.file, or of the data set that mtip simulate will make by these settings, and
   n_usable as if all of the images were fit to use; nothing else of the catalogue is there, its file is
   NULL if it is yet to be made.  STATUS_CONFIG and STATUS_INPUT as for a run.  Not collective. */
status estimate_data_open(const config *cfg, catalogue **created);

#endif
