/* report_page.h: a run as one HTML page that needs nothing else. */
#ifndef MTIP_REPORT_PAGE_H
#define MTIP_REPORT_PAGE_H

#include "report_samples.h"

/* Prints the page: well-formed XML as well as HTML 5, without scripts and without a reference to
   anything outside of it.  While the run works, the page asks browsers to load it again every
   REPORT_REFRESH seconds. */
status report_print(const device *dev, const report_data *r, const report_samples *samples,
                    FILE *file);

enum { REPORT_REFRESH = 30 };

#endif
