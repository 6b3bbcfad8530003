#include "forecast.h"

#include "core/integer.h"
#include "core/log.h"
#include "nufft/fft.h"
#include "run_options.h"

/* Libraries, and what is too small to be listed. */
static const int64_t host_rest = INT64_C(1) << 28, gpu_rest = INT64_C(1) << 27;

static int64_t divide_up(int64_t n, int64_t by)
{
    return (n + by - 1) / by;
}

int64_t forecast_host_bytes(void)
{
    device *host = NULL;
    if (device_create_cpu(1, &host) != STATUS_OK) return -1;
    const int64_t unused = device_free_bytes(host);
    device_destroy(host);
    return unused;
}

int64_t forecast_score_bytes(const config *cfg, device_kind kind, int64_t free_bytes)
{
    if (cfg->match.memory > 0) return (int64_t)(cfg->match.memory * 1e6);
    return kind == DEVICE_CUDA && free_bytes > 0 ? free_bytes / 4 : 1000000000;
}

/* This rank's starts (density, projection, support, half volume, work space of its transform), and
   the densities of all ranks and what averages them. */
static void add_phasing(const config *cfg, precision p, int ranks, forecast *f)
{
    const int64_t starts = cfg->phase.starts, grid = cube(fft_good_size(cfg->grid.size, false));
    const int64_t volume = cube(cfg->grid.size) * (int64_t)sizeof(double);
    f->phasing = real_bytes(p, 5 * divide_up(starts, ranks) * grid) + (2 * starts + 8) * volume;
    f->host += (8 + 2 * 3) * volume; /* with the states of two runs (run_state.h) */
}

status forecast_make(const config *cfg, device_kind kind, int ranks, int64_t n_images,
                     int64_t n_pixels, int64_t score_bytes, forecast *f)
{
    const precision p = run_precision(cfg);
    const int64_t mine = divide_up(divide_up(n_images, MATCH_BLOCK), ranks) * MATCH_BLOCK;
    const int64_t references = cfg->slice.final_references;
    const int64_t batch = run_batch(cfg, kind, n_pixels, references);
    match_memory matching;
    const match_options compare = run_match_options(cfg, score_bytes, mine, n_pixels);
    const slice_options slice = run_slice_options(cfg);
    const merge_options merge = run_merge_options(cfg, 1);
    *f = (forecast){.kind = kind, .host = host_rest};
    match_forecast(kind, &compare, references, batch, &matching);
    f->images = matching.images;
    f->scores = matching.scores;
    f->batches = matching.batches + real_bytes(p, batch * n_pixels);
    TRY(slicer_forecast(kind, &slice, batch * n_pixels, &f->slicing));
    const int64_t waiting = smaller(run_waiting_rows(batch, n_pixels), references) * n_pixels;
    TRY(merger_forecast(kind, &merge, waiting, &f->merging));
    f->merging += real_bytes(p, waiting);
    add_phasing(cfg, p, ranks, f);
    const int64_t parts = f->images + f->scores + f->batches + f->slicing + f->merging + f->phasing;
    if (kind == DEVICE_CUDA) f->device = parts + gpu_rest;
    if (kind == DEVICE_CPU) f->host += parts;
    f->host += mine * n_pixels * (int64_t)sizeof(float) + n_images * 16 * (int64_t)sizeof(double);
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

status forecast_check(const config *cfg, const device *dev, comm *world, int64_t n_images,
                      int64_t n_pixels)
{
    const device_kind kind = device_kind_of(dev);
    char text[FORECAST_TEXT];
    forecast f;
    TRY(comm_barrier(world)); /* nobody allocates before all have looked */
    const int64_t on_device = device_free_bytes(dev) / device_users(dev);
    int64_t on_host = forecast_host_bytes();
    if (on_host > 0) on_host /= comm_node_size(world);
    TRY(comm_agree(world, forecast_make(cfg, kind, comm_size(world), n_images, n_pixels,
                                        forecast_score_bytes(cfg, kind, on_device), &f)));
    log_info("memory of a rank, at most: %s", forecast_text(&f, text));
    return comm_agree(world, forecast_fits(&f, on_device, on_host));
}

status forecast_print(const config *cfg, int64_t n_images, int64_t n_pixels)
{
    char text[FORECAST_TEXT];
    device_facts gpu = {.bytes = -1};
    forecast f;
    TRY(forecast_make(cfg, DEVICE_CPU, 1, n_images, n_pixels,
                      forecast_score_bytes(cfg, DEVICE_CPU, -1), &f));
    printf("memory, 1 rank  CPU: %s\n", forecast_text(&f, text));
    if (device_count_cuda() > 0) TRY(device_facts_cuda(0, &gpu));
    TRY(forecast_make(cfg, DEVICE_CUDA, 1, n_images, n_pixels,
                      forecast_score_bytes(cfg, DEVICE_CUDA, gpu.bytes), &f));
    printf("                GPU: %s\n", forecast_text(&f, text));
    return STATUS_OK;
}
