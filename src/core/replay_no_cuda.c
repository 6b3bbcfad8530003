#include "core/replay_impl.h"

status recording_make(const device *dev, status (*work)(void *context), void *context,
                      void **recording)
{
    (void)dev, (void)work, (void)context, (void)recording;
    FAIL(STATUS_UNSUPPORTED, "this build has no GPU support");
}

status recording_launch(const device *dev, void *recording)
{
    (void)dev, (void)recording;
    FAIL(STATUS_UNSUPPORTED, "this build has no GPU support");
}

void recording_destroy(const device *dev, void *recording)
{
    (void)dev, (void)recording;
}
