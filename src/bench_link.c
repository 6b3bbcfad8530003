#include "bench_link.h"

#include "core/clock.h"

#include <math.h>

enum { LARGE = 1 << 22, GPU_LARGE = 1 << 24, REPEATS = 4 };

/* Seconds of a sum of n floats: the best, of the slowest rank. Collective. */
static status time_sum(comm *c, const device *dev, comm_device *devices, void *data, int64_t n,
                       double *best)
{
    *best = INFINITY;
    for (int i = 0; i < REPEATS; i++) {
        TRY(comm_barrier(c));
        const double start = clock_seconds();
        TRY(comm_device_sum(devices, data, n, COMM_SINGLE));
        TRY(comm_agree(c, device_synchronize(dev)));
        double seconds = clock_seconds() - start;
        TRY(comm_max(c, &seconds, 1, COMM_DOUBLE));
        *best = fmin(*best, seconds);
    }
    return STATUS_OK;
}

status link_measure(comm *c, const device *dev, comm_path path, link_rates *rates)
{
    const int64_t large = device_kind_of(dev) == DEVICE_CPU ? LARGE : GPU_LARGE;
    const int64_t bytes = large * (int64_t)sizeof(float);
    comm_device *devices = NULL;
    void *data = NULL;
    double seconds = 0;
    *rates = (link_rates){0, 0};
    if (comm_size(c) == 1) return STATUS_OK;
    TRY(comm_device_create(c, dev, path, &devices));
    status result = device_alloc(dev, bytes, &data);
    if (result == STATUS_OK) result = device_zero(dev, data, bytes);
    TRY_OR(done, comm_agree(c, result));
    TRY_OR(done, time_sum(c, dev, devices, data, 1, &rates->latency));
    TRY_OR(done, time_sum(c, dev, devices, data, large, &seconds));
    rates->bytes = (double)bytes / seconds;
done:
    device_free(dev, data);
    comm_device_destroy(devices);
    return result;
}
