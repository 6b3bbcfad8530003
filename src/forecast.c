#include "forecast.h"

#include "core/host_memory.h"
#include "core/integer.h"
#include "core/log.h"
#include "image_lists.h"
#include "mtip/average.h"
#include "mtip/phase.h"
#include "nufft/nufft_sorting.h"
#include "run_options.h"
#include "schedule.h"

#include <math.h>
#include <stdio.h>

/* What libraries and what is too small to be listed take of a GPU; what a process has on the host once it
   uses one. */
static const int64_t gpu_rest = 1 << 27, gpu_process = 440 << 20;

static int64_t divide_up(int64_t n, int64_t by)
{
    return (n + by - 1) / by;
}

int64_t forecast_score_bytes(const config *cfg, device_kind kind, int64_t free_bytes)
{
    if (cfg->match.memory > 0) return (int64_t)(cfg->match.memory * 1e6);
    return kind == DEVICE_CUDA && free_bytes > 0 ? free_bytes / 4 : 1000000000;
}

int64_t forecast_passes(const config *cfg, device_kind kind, int64_t n_images, int64_t n_references,
                        int64_t n_pixels, int64_t free_bytes)
{
    const match_options compare =
        run_match_options(cfg, forecast_score_bytes(cfg, kind, free_bytes), n_images, n_pixels);
    const photon_means none = {0, 0};
    match_memory matching;
    match_forecast(kind, &compare, &none, n_references, 1, &matching);
    return matching.scores >= real_bytes(run_precision(cfg), n_images * n_references) ? 1 : 2;
}

status forecast_data_of(const catalogue *k, forecast_data *data)
{
    *data = (forecast_data){.n_images = k->n_usable, .n_pixels = k->n_pixels};
    return image_lists_means(k, &data->lists);
}

/* A kind of generation, or the last phasing: what of the images and the ranks takes part. */
typedef struct regime {
    run_step step;
    int ranks;
    int64_t n_images, starts;
    bool sorts; /* points, while memory for so many starts is there */
} regime;

/* Rows that are merged at once, those of a batch joining them together. */
static int64_t merged_rows(const regime *p, int64_t waiting, int64_t batch)
{
    const double all = (double)schedule_active(&p->step, p->n_images) / p->ranks;
    const double each = fmax(1, all * (double)batch / (double)p->step.n_references);
    if (all <= (double)waiting) return (int64_t)ceil(all);
    return (int64_t)fmax(each, floor((double)waiting / each) * each);
}

static status add_transforms(const config *cfg, const regime *g, int64_t batch, int64_t n_pixels,
                             forecast *f)
{
    const precision p = run_precision(cfg);
    const slice_options slice = run_slice_options(cfg);
    const merge_options merge = run_merge_options(cfg, 1);
    const int64_t waiting = run_waiting_rows(batch, n_pixels);
    const int64_t rows = merged_rows(g, waiting, batch);
    const int64_t sliced = divide_up(batch, g->ranks) * n_pixels, merged = rows * n_pixels;
    TRY(slicer_forecast(f->kind, &slice, sliced, &f->slicing));
    TRY(merger_forecast(f->kind, &merge, merged, &f->merging));
    if (g->sorts) f->merging += nufft_sorting_bytes(f->kind, p, larger(sliced, merged));
    /* a host's memory is taken when it is used */
    f->merging += real_bytes(p, (f->kind == DEVICE_CPU ? rows : waiting) * n_pixels);
    return STATUS_OK;
}

/* What phases this rank's starts, the densities of all ranks, and what averages them. */
static int64_t phasing_bytes(const config *cfg, device_kind kind, const regime *g)
{
    const phase_options mine = {.precision = run_precision(cfg),
                                .size = cfg->grid.size,
                                .starts = divide_up(g->starts, g->ranks)};
    return phaser_forecast(kind, &mine) + averager_forecast(cfg->grid.size, g->starts) +
           g->starts * cube(cfg->grid.size) * (int64_t)sizeof(double);
}

/* This rank's images as they are read: lists, or rows and the store of them (image_store.h) at a byte a
   pixel. */
static int64_t read_bytes(const forecast_data *data, int ranks, int64_t mine)
{
    const int64_t entry = 2 * (int64_t)sizeof(int32_t);
    if (data->lists.pixels > 0) return (int64_t)((double)mine * data->lists.pixels) * entry;
    return (mine * (int64_t)sizeof(float) + divide_up(data->n_images, ranks)) * data->n_pixels;
}

/* Images and their results; volumes of the run and the states of two more (run_state.h). */
static int64_t host_bytes(const config *cfg, const regime *g, int64_t mine,
                          const forecast_data *data)
{
    const int64_t volume = cube(cfg->grid.size) * (int64_t)sizeof(double);
    const int64_t checks = cfg->run.check_invariants ? 46 * volume : 0; /* recompute.h, on rank 0 */
    return read_bytes(data, g->ranks, mine) + data->n_images * 16 * (int64_t)sizeof(double) +
           (8 + 2 * 3) * volume + checks;
}

static status forecast_regime(const config *cfg, device_kind kind, const regime *g,
                              const forecast_data *data, int64_t score_bytes, forecast *f)
{
    const int64_t n_pixels = data->n_pixels;
    const precision p = run_precision(cfg);
    const int64_t blocks = divide_up(g->n_images, MATCH_BLOCK);
    const int64_t mine = divide_up(blocks, g->ranks) * MATCH_BLOCK;
    const int64_t batch = run_batch(cfg, kind, n_pixels, g->step.n_references);
    const match_options compare = run_match_options(cfg, score_bytes, mine, n_pixels);
    match_memory matching;
    *f = (forecast){.kind = kind};
    match_forecast(kind, &compare, &data->lists, g->step.n_references, batch, &matching);
    f->images = matching.images;
    f->scores = matching.scores;
    f->batches = matching.batches + real_bytes(p, batch * n_pixels);
    TRY(add_transforms(cfg, g, batch, n_pixels, f));
    f->phasing = phasing_bytes(cfg, kind, g);
    const int64_t sum = f->images + f->scores + f->batches + f->slicing + f->merging + f->phasing;
    f->host = host_bytes(cfg, g, mine, data);
    f->host += kind == DEVICE_CUDA ? gpu_process : host_memory_resident() + sum;
    if (kind == DEVICE_CUDA) f->device = gpu_rest + sum;
    return STATUS_OK;
}

static int64_t need(const forecast *f)
{
    return f->kind == DEVICE_CUDA ? f->device : f->host;
}

/* The first generation of the search at full resolution, whose posteriors are the broadest. */
static run_step broadest(const config *cfg)
{
    int g = schedule_first(cfg);
    while (g < cfg->run.generations - 1 && schedule_search(cfg, g).resolution < 1)
        g++;
    return schedule_search(cfg, g);
}

/* The search has fewer references than the final generations, but half of the ranks; the last phasing has
   more starts than theirs, when no points are sorted any more: which needs most is not said beforehand. */
status forecast_make(const config *cfg, device_kind kind, int ranks, const forecast_data *data,
                     int64_t score_bytes, forecast *f)
{
    const int64_t n_images = data->n_images;
    const int64_t few = cfg->phase.generation_starts;
    int64_t host = 0;
    const regime regimes[] = {
        {broadest(cfg), ranks > 1 ? ranks / 2 : 1, divide_up(n_images, 2), few, true},
        {schedule_final(cfg, 0), ranks, n_images, cfg->run.final_generations > 1 ? few : 1, true},
        {schedule_final(cfg, 0), ranks, n_images, cfg->phase.starts, false}};
    *f = (forecast){.kind = kind};
    for (size_t i = 0; i < sizeof regimes / sizeof *regimes; i++) {
        forecast one;
        TRY(forecast_regime(cfg, kind, &regimes[i], data, score_bytes, &one));
        host = larger(host, one.host);
        if (need(&one) > need(f)) *f = one;
    }
    f->host = host;
    return STATUS_OK;
}

static double gib(int64_t bytes)
{
    return (double)bytes / 0x1p30;
}

const char *forecast_text(const forecast *f, char text[FORECAST_TEXT])
{
    char parts[160];
    snprintf(parts, sizeof parts,
             "images %.2f, scores %.2f, batches %.2f, slicing %.2f, merging %.2f, phasing %.2f",
             gib(f->images), gib(f->scores), gib(f->batches), gib(f->slicing), gib(f->merging),
             gib(f->phasing));
    if (f->kind == DEVICE_CUDA)
        snprintf(text, FORECAST_TEXT, "%.2f GiB of its GPU (%s) and %.2f GiB of the host",
                 gib(f->device), parts, gib(f->host));
    else
        snprintf(text, FORECAST_TEXT, "%.2f GiB of the host (%s)", gib(f->host), parts);
    return text;
}

status forecast_fits(const forecast *f, int64_t on_device, int64_t on_host)
{
    static const char *const cure =
        "use more ranks or nodes, or lower match.memory, slice.batch, grid.size or phase.starts";
    char text[FORECAST_TEXT];
    if (f->kind == DEVICE_CUDA && on_device >= 0 && f->device > on_device)
        FAIL(STATUS_RESOURCE, "a rank needs %s, %.2f GiB of its GPU are free for it; %s",
             forecast_text(f, text), gib(on_device), cure);
    if (on_host >= 0 && f->host > on_host)
        FAIL(STATUS_RESOURCE, "a rank needs %s, %.2f GiB of the host are free for it; %s",
             forecast_text(f, text), gib(on_host), cure);
    return STATUS_OK;
}

status forecast_check(const config *cfg, const device *dev, comm *world, const catalogue *k)
{
    const device_kind kind = device_kind_of(dev);
    char text[FORECAST_TEXT];
    forecast_data data;
    forecast f;
    TRY(comm_agree(world, forecast_data_of(k, &data)));
    TRY(comm_barrier(world)); /* nobody allocates before all have looked */
    const int64_t on_device = device_free_bytes(dev) / device_users(dev);
    int64_t on_host = host_memory_free("");
    if (on_host > 0) on_host /= comm_node_size(world);
    const int64_t addresses = host_memory_addresses();
    if (addresses >= 0) on_host = smaller(on_host, addresses + host_memory_resident());
    TRY(comm_agree(world, forecast_make(cfg, kind, comm_size(world), &data,
                                        forecast_score_bytes(cfg, kind, on_device), &f)));
    log_info("memory of a rank, about: %s", forecast_text(&f, text));
    return comm_agree(world, forecast_fits(&f, on_device, on_host));
}

status forecast_print(const config *cfg, const catalogue *k)
{
    char text[FORECAST_TEXT];
    forecast_data data;
    device_facts gpu = {.bytes = -1};
    forecast f;
    TRY(forecast_data_of(k, &data));
    TRY(forecast_make(cfg, DEVICE_CPU, 1, &data, forecast_score_bytes(cfg, DEVICE_CPU, -1), &f));
    printf("memory, 1 rank  CPU: %s\n", forecast_text(&f, text));
    if (device_count_cuda() > 0) TRY(device_facts_cuda(0, &gpu));
    TRY(forecast_make(cfg, DEVICE_CUDA, 1, &data, forecast_score_bytes(cfg, DEVICE_CUDA, gpu.bytes),
                      &f));
    printf("                GPU: %s\n", forecast_text(&f, text));
    return STATUS_OK;
}
