#include "stage_timer.h"

#include "core/clock.h"

const char *stage_name(stage s)
{
    static const char *const names[] = {
        [STAGE_SLICE] = "slice",        [STAGE_MATCH] = "match", [STAGE_MERGE] = "merge",
        [STAGE_SOLVE] = "solve",        [STAGE_PHASE] = "phase", [STAGE_EXCHANGE] = "exchange",
        [STAGE_NONE] = "between stages"};
    return names[s];
}

static stage_cost reading(const stage_timer *t)
{
    return (stage_cost){clock_seconds(), device_traffic(t->dev), comm_device_traffic(t->devices)};
}

void stage_timer_reset(stage_timer *t, const device *dev, comm *c, const comm_device *devices)
{
    *t = (stage_timer){.dev = dev, .comm = c, .devices = devices, .now = STAGE_NONE};
    t->before = reading(t);
}

void stage_enter(stage_timer *t, stage s)
{
    const status done = device_synchronize(t->dev);
    const stage_cost now = reading(t);
    stage_cost *sum = &t->costs[t->now];
    sum->seconds += now.seconds - t->before.seconds;
    sum->host_bytes += now.host_bytes - t->before.host_bytes;
    sum->rank_bytes += now.rank_bytes - t->before.rank_bytes;
    if (t->now != STAGE_NONE) device_end_range(t->dev);
    if (s != STAGE_NONE) device_begin_range(t->dev, stage_name(s));
    if (done == STATUS_OK) comm_set_stage(t->comm, s == STAGE_NONE ? NULL : stage_name(s));
    t->now = s;
    t->before = now;
}
