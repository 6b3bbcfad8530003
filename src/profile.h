/* profile.h: what mtip reconstruct --profile prints. */
#ifndef MTIP_PROFILE_H
#define MTIP_PROFILE_H

#include "reconstruct.h"

/* A table to stdout on rank 0: seconds of every stage on every rank over the whole run, what part of
   them the stage's floor is (stage_floor.h), and megabytes copied between host and device and between
   devices.  Measures the machine first, with memory of the device. Collective. */
status profile_print(const config *cfg, const device *dev, comm *world, const reconstruction *made);

#endif
