/* scaling_forecast.h: a table of what the model (scaling_model.h) says of ranks that were measured and
   of ranks that were not. */
#ifndef MTIP_SCALING_FORECAST_H
#define MTIP_SCALING_FORECAST_H

#include "scaling_model.h"

typedef struct scaling_line {
    scaling_row model;           /* gpus as measured, else one for each rank */
    const scaling_row *measured; /* NULL: not */
} scaling_line;

typedef struct scaling_forecast {
    scaling_model model;
    int n_lines;
    scaling_line lines[SCALING_MAX_ROWS]; /* by ranks */
} scaling_forecast;

/* With a model fitted and no lines yet: of n measured rows, which must outlive it, and the numbers of ranks in a list such as "8,64,1000".
   STATUS_USAGE for another list. */
status scaling_forecast_make(int n, const scaling_row rows[], const char *ranks,
                             scaling_forecast *f);

/* Constants and table; as CSV the table alone: off is the model's total over the measured one, less
   1, and fitted says whether the row was used for the constants. */
void scaling_forecast_print(const scaling_forecast *f, bool csv, FILE *file);

/* Lines of the model, and the measured totals. STATUS_OUTPUT with the path. */
status scaling_forecast_plot(const scaling_forecast *f, const char *path);

#endif
