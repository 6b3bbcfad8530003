#include "run_options.h"

enum { BATCH_POINTS = 1 << 20, GPU_BATCH_POINTS = 1 << 22, MERGE_POINTS = 1 << 22, LEAST = 64 };

precision run_precision(const config *cfg)
{
    return cfg->run.precision == CONFIG_PRECISION_SINGLE ? PRECISION_SINGLE : PRECISION_DOUBLE;
}

slice_options run_slice_options(const config *cfg)
{
    return (slice_options){run_precision(cfg), cfg->grid.size, cfg->nufft.tolerance,
                           cfg->nufft.upsampling};
}

merge_options run_merge_options(const config *cfg, double voxel)
{
    return (merge_options){.precision = run_precision(cfg),
                           .size = cfg->grid.size,
                           .radius = cfg->grid.diameter / voxel,
                           .tolerance = cfg->nufft.tolerance,
                           .upsampling = cfg->nufft.upsampling,
                           .lambda = cfg->merge.lambda,
                           .iterations = (int)cfg->merge.iterations,
                           .residual = cfg->merge.tolerance,
                           .deterministic = cfg->run.deterministic};
}

match_options run_match_options(const config *cfg, int64_t score_bytes, int64_t n_images,
                                int64_t n_pixels)
{
    static const match_method methods[] = {[CONFIG_METHOD_EMC] = MATCH_EMC,
                                           [CONFIG_METHOD_NCC] = MATCH_NCC,
                                           [CONFIG_METHOD_L2] = MATCH_L2};
    return (match_options){.precision = run_precision(cfg),
                           .method = methods[cfg->match.method],
                           .memory = score_bytes,
                           .n_images = n_images,
                           .n_pixels = n_pixels,
                           .halves = cfg->match.tensor_cores};
}

int64_t run_batch(const config *cfg, device_kind kind, int64_t n_pixels, int64_t n_references)
{
    int64_t batch = (kind == DEVICE_CUDA ? GPU_BATCH_POINTS : BATCH_POINTS) / n_pixels;
    if (batch < LEAST) batch = LEAST;
    if (cfg->slice.batch > 0) batch = cfg->slice.batch;
    return batch < n_references ? batch : n_references;
}

int64_t run_waiting_rows(int64_t batch, int64_t n_pixels)
{
    const int64_t rows = MERGE_POINTS / n_pixels;
    return rows > batch ? rows : batch;
}
