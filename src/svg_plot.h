/* svg_plot.h: lines and points over two axes as SVG, alone in a file or within a page.

   Colours are those of Okabe and Ito, told apart by all eyes.  Texts are UTF-8 and may hold any
   character. */
#ifndef MTIP_SVG_PLOT_H
#define MTIP_SVG_PLOT_H

#include <stdio.h>

#include "core/status.h"
#include "core/types.h"

typedef struct svg_axis {
    const char *label;
    bool log;         /* values <= 0 are left out */
    bool each;        /* a mark at every x of the first line, and no others */
    bool periods;     /* marks in 1/A have their period in A below */
    double low, high; /* the ends; equal: from the data */
} svg_axis;

typedef enum svg_style { SVG_LINE, SVG_DOTTED_LINE, SVG_FAINT_LINE, SVG_LINE_AND_DOTS } svg_style;

typedef struct svg_line {
    const char *name;    /* in the legend; NULL: not there */
    int n;               /* points */
    const double *x, *y; /* [n]; a point that is not finite interrupts the line */
    int colour;          /* of SVG_COLOURS */
    svg_style style;
} svg_line;

/* A horizontal line with a few words. */
typedef struct svg_level {
    double y;
    const char *text;
} svg_level;

enum { SVG_COLOURS = 8 };
extern const char *const svg_colours[SVG_COLOURS];

typedef struct svg_plot {
    const char *title;
    svg_axis x, y;
    int n_lines;
    const svg_line *lines;
    int n_levels;
    const svg_level *levels;
} svg_plot;

/* An <svg> element, as wide as the page lets it be. */
void svg_plot_print(const svg_plot *plot, FILE *file);
/* The same as a file. STATUS_OUTPUT with the path. */
status svg_plot_write(const svg_plot *plot, const char *path);

#endif
