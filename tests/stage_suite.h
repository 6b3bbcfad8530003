/* stage_suite.h: the tests every backend of the reconstruction stages has to pass.

   Each suite runs on a device in one precision and returns 0, or 1 if a test failed. */
#ifndef STAGE_SUITE_H
#define STAGE_SUITE_H

#include "core/device.h"

int slice_suite(const device *dev, precision p);
int match_suite(const device *dev, precision p);
int merge_suite(const device *dev, precision p);
int phase_suite(const device *dev, precision p);
/* On the host, in double precision; the device computes the transforms. */
int average_suite(const device *dev, precision p);

#endif
