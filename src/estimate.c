#include "estimate.h"

#include "core/clock.h"
#include "core/host_memory.h"
#include "core/integer.h"
#include "core/log.h"
#include "estimate_data.h"
#include "estimate_time.h"
#include "text.h"

#include <math.h>

/* Nothing is asked of GPUs where none is used: their libraries would come into memory. */
static int64_t bytes_of_gpu(int gpus)
{
    device_facts gpu;
    if (gpus == 0 || device_count_cuda() == 0 || device_facts_cuda(0, &gpu) != STATUS_OK) return -1;
    return gpu.bytes;
}

estimate_place estimate_here(const config *cfg, int ranks, int gpus)
{
    const bool may = cfg->parallel.backend != CONFIG_BACKEND_CPU && !cfg->run.deterministic;
    const double start = clock_seconds();
    if (gpus < 0) gpus = may ? (int)smaller(device_count_cuda(), ranks) : 0;
    const int64_t gpu_bytes = bytes_of_gpu(gpus);
    return (estimate_place){.ranks = ranks,
                            .nodes = 1,
                            .gpus = gpus,
                            .host_bytes = host_memory_free(""),
                            .gpu_bytes = gpu_bytes,
                            .look_seconds = clock_seconds() - start};
}

static status check_place(const estimate_place *p)
{
    if (p->ranks < 1 || p->nodes < 1 || p->nodes > p->ranks)
        FAIL(STATUS_RESOURCE, "%d rank%s on %d node%s; every node needs a rank", p->ranks,
             text_plural(p->ranks), p->nodes, text_plural(p->nodes));
    if (p->gpus > p->ranks)
        FAIL(STATUS_RESOURCE, "%d GPUs for %d rank%s, which can use one each", p->gpus, p->ranks,
             text_plural(p->ranks));
    return STATUS_OK;
}

/* Of n things, at most how many are together in one of so many places. */
static int at_most(int n, int places)
{
    return (n + places - 1) / places;
}

/* Of its GPU, for a rank. */
static int64_t gpu_share(const estimate_place *p)
{
    return p->gpus == 0 || p->gpu_bytes < 0 ? -1 : p->gpu_bytes / at_most(p->ranks, p->gpus);
}

/* The times, where the machine is like the one that is meant: it has a GPU, or none is asked for. */
static status measure(const config *cfg, comm *alone, const catalogue *k, estimate *e)
{
    const calibration_plan plan = estimate_plan(cfg, &e->place, e->n_images);
    calibration rates;
    const double start = clock_seconds();
    if (plan.kind == DEVICE_CUDA && device_count_cuda() == 0) {
        log_warning("the time is not known: there is no GPU here to measure it on");
        return STATUS_OK;
    }
    const double look_seconds = clock_seconds() - start + e->place.look_seconds;
    log_info(
        "measuring how fast this machine is, by a few small generations: some seconds, a minute or "
        "two where generations are long");
    TRY(calibrate(cfg, alone, k, &plan, &rates));
    rates.begin += look_seconds;
    estimate_time(cfg, k, &rates, e);
    return STATUS_OK;
}

status estimate_make(const config *cfg, comm *alone, const estimate_place *place, estimate *e)
{
    const device_kind kind = place->gpus > 0 ? DEVICE_CUDA : DEVICE_CPU;
    const int64_t score_bytes = forecast_score_bytes(cfg, kind, gpu_share(place));
    catalogue *k = NULL;
    *e = (estimate){
        .place = *place, .other_seconds = NAN, .generation_seconds = NAN, .seconds = NAN};
    TRY(check_place(place));
    TRY(estimate_data_open(cfg, &k));
    forecast_data data;
    e->n_images = k->n_usable;
    e->n_pixels = k->n_pixels;
    status result = forecast_data_of(k, &data);
    if (result == STATUS_OK)
        result = forecast_make(cfg, kind, place->ranks, &data, score_bytes, &e->memory);
    if (result == STATUS_OK && alone) result = measure(cfg, alone, k, e);
    catalogue_destroy(k);
    return result;
}

status estimate_check(const estimate *e, double seconds)
{
    const estimate_place *p = &e->place;
    const int64_t on_host = p->host_bytes < 0 ? -1 : p->host_bytes / at_most(p->ranks, p->nodes);
    TRY(forecast_fits(&e->memory, gpu_share(p), on_host));
    if (e->seconds > seconds)
        FAIL(
            STATUS_RESOURCE,
            "the run takes about %.0f s, the limit is %.0f s; use more ranks or GPUs, fewer "
            "run.generations, images or references, or run it again after exit code 85: it goes on "
            "from its checkpoint",
            e->seconds, seconds);
    return STATUS_OK;
}
