/* svg_plot.h: lines over a common abscissa, as an SVG file. */
#ifndef MTIP_SVG_PLOT_H
#define MTIP_SVG_PLOT_H

#include "core/status.h"

enum { SVG_PLOT_MAX_LINES = 8 };

typedef struct svg_line {
    const char *name;
    const double *y; /* [n] of the plot; y <= 0 is left out */
} svg_line;

typedef struct svg_plot {
    const char *title, *x_label, *y_label;
    int n;           /* places */
    const double *x; /* [n], ascending, > 0 */
    int n_lines;
    svg_line lines[SVG_PLOT_MAX_LINES];
} svg_plot;

/* Both axes are logarithmic, the x axis with a mark at every place.  STATUS_OUTPUT with the path. */
status svg_plot_write(const svg_plot *plot, const char *path);

#endif
