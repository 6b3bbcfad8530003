/* match_rows.h: the images of a match in the memory of its device; for match.c. */
#ifndef MTIP_MATCH_ROWS_H
#define MTIP_MATCH_ROWS_H

#include "mtip/match.h"

/* Images of counts as n_rows rows of the format, those past options->n_images empty; with weights
   [n_pixels] (on the device; ROWS_REAL) each is multiplied and divided by its norm. */
status match_rows_create(const device *dev, const match_options *options,
                         const match_source *counts, row_format format, int64_t n_rows,
                         const void *weights, image_rows *rows);
/* Frees what it has, which may be nothing. */
void match_rows_free(const device *dev, image_rows *rows);

int64_t match_rows_bytes(const image_rows *rows, precision p);

/* Whether all counts are whole numbers that halves hold. */
bool match_rows_fit_halves(const device *dev, const match_options *options,
                           const match_source *counts);

#endif
