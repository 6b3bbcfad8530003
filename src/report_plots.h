/* report_plots.h: the curves of a report, each with a sentence on what it shows and what is good. */
#ifndef MTIP_REPORT_PLOTS_H
#define MTIP_REPORT_PLOTS_H

#include "report_data.h"

/* <figure> elements. */
void report_print_convergence(const report_data *r, FILE *file);
void report_print_resolution(const report_data *r, FILE *file);
void report_print_orientations(const report_data *r, FILE *file);

#endif
