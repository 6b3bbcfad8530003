/* nufft_suite.h: the tests every backend of the NUFFT has to pass. */
#ifndef NUFFT_SUITE_H
#define NUFFT_SUITE_H

#include "core/device.h"

/* Runs them on the device and returns 0, or 1 if any failed. */
int nufft_suite(const device *dev, const char *name);

#endif
