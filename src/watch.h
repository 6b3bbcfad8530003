/* watch.h: a run on a terminal: how far it is, and curves of what its generations came to. */
#ifndef MTIP_WATCH_H
#define MTIP_WATCH_H

#include "report_data.h"

/* Without a sign of life (lock, log, history, status.json) for so long a run is said to be silent. */
enum { WATCH_SILENT = 300 };

typedef struct watch_style {
    int width; /* columns */
    bool utf8; /* the terminal shows it */
} watch_style;

/* Seconds since the last sign of life in the directory, NAN if there is none. */
double watch_silence(const char *directory);

/* Lines on the run, none wider than the style says. */
void watch_draw(const report_data *r, double silence, watch_style style, FILE *out);

/* n values as a line of at most `width` bars, the newest at its end; the smallest is the lowest bar,
   what is not finite a blank.  Good for 3 bytes a bar. */
void watch_sparkline(int n, const double values[], watch_style style, char *line);

#endif
