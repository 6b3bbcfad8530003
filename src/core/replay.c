#include "core/replay_impl.h"

#include <stdlib.h>

struct replay {
    const device *dev;
    status (*work)(void *context);
    void *context;
    bool begun;
    void *recording;
};

status replay_create(const device *dev, status (*work)(void *context), void *context,
                     replay **created)
{
    *created = malloc(sizeof **created);
    if (!*created) FAIL(STATUS_RESOURCE, "out of host memory");
    **created = (replay){.dev = dev, .work = work, .context = context};
    return STATUS_OK;
}

status replay_run(replay *r)
{
    if (device_kind_of(r->dev) == DEVICE_CPU || !r->begun) {
        r->begun = true;
        return r->work(r->context);
    }
    if (!r->recording) TRY(recording_make(r->dev, r->work, r->context, &r->recording));
    return recording_launch(r->dev, r->recording);
}

void replay_destroy(replay *r)
{
    if (!r) return;
    recording_destroy(r->dev, r->recording);
    free(r);
}
