/* replay_impl.h: recordings of a GPU's work; for core/ only. */
#ifndef MTIP_REPLAY_IMPL_H
#define MTIP_REPLAY_IMPL_H

#include "core/replay.h"

/* What `work` gives the device, not done. */
status recording_make(const device *dev, status (*work)(void *context), void *context,
                      void **recording);
status recording_launch(const device *dev, void *recording);
/* Accepts NULL. */
void recording_destroy(const device *dev, void *recording);

#endif
