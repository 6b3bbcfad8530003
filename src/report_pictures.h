/* report_pictures.h: the maps of a report as pictures. */
#ifndef MTIP_REPORT_PICTURES_H
#define MTIP_REPORT_PICTURES_H

#include "report_samples.h"

/* <figure> elements: planes through the centre and projections. STATUS_RESOURCE, STATUS_NUMERIC. */
status report_print_density(const report_data *r, FILE *file);
status report_print_intensity(const device *dev, const report_data *r, FILE *file);
/* Images beside what is expected of them. */
status report_print_samples(const report_samples *samples, FILE *file);

#endif
