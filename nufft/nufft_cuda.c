/* nufft_cuda.c: the steps of the transform on a GPU. */
#include "nufft/nufft_cuda_state.h"

static status launch_on(gpu *g, const launch *l)
{
    void *arguments[] = {&g->task};
    CUDA_TRY(cudaLaunchKernel(l->kernel, (dim3){l->blocks, 1, 1}, (dim3){l->threads, 1, 1},
                              arguments, l->shared, g->stream));
    return STATUS_OK;
}

static status spread_now(gpu *g, const void *values)
{
    g->task.values = (real *)(uintptr_t)values;
    CUDA_TRY(cudaMemsetAsync(g->grid, 0, (size_t)g->grid_bytes, g->stream));
    if (g->n_points == 0) return STATUS_OK;
    if (g->deterministic) CUDA_TRY(PRECISE(gpu_begin_exact)(&g->task, g->stream));
    TRY(launch_on(g, g->spreads_few ? &g->spread_few : &g->spread));
    if (g->deterministic) CUDA_TRY(PRECISE(gpu_end_exact)(&g->task, g->stream));
    return STATUS_OK;
}

static status spread(void *state, const void *values)
{
    gpu *g = state;
    int before;
    TRY(cuda_enter(g->ordinal, &before));
    status result = spread_now(g, values);
    cuda_leave(g->ordinal, before);
    return result;
}

static status interpolate(void *state, void *values)
{
    gpu *g = state;
    int before;
    TRY(cuda_enter(g->ordinal, &before));
    g->task.values = values;
    status result = launch_on(g, g->interpolates_few ? &g->interpolate_few : &g->interpolate);
    cuda_leave(g->ordinal, before);
    return result;
}

static status run_fft(void *state, bool adjoint)
{
    gpu *g = state;
    if (!g->real_path) return fft_run(adjoint ? g->adjoint : g->forward, g->grid, g->grid);
    return adjoint ? fft_run(g->adjoint, g->grid, g->half) : fft_run(g->forward, g->half, g->grid);
}

static status run_modes(gpu *g, void *modes, bool extract)
{
    g->modes.modes_of = modes;
    CUDA_TRY(extract ? PRECISE(gpu_extract)(&g->modes, g->stream)
                     : PRECISE(gpu_insert)(&g->modes, g->stream));
    return STATUS_OK;
}

static status copy_modes(gpu *g, void *modes, bool extract)
{
    int before;
    TRY(cuda_enter(g->ordinal, &before));
    status result = run_modes(g, modes, extract);
    cuda_leave(g->ordinal, before);
    return result;
}

static status extract(void *state, void *modes)
{
    return copy_modes(state, modes, true);
}

static status insert(void *state, const void *modes)
{
    return copy_modes(state, (void *)(uintptr_t)modes, false);
}

static void describe(const void *state, nufft_info *info)
{
    const gpu *g = state;
    info->point_bytes = g->slot_bytes;
    info->bytes = g->grid_bytes + g->half_bytes + g->sort_bytes + g->exact_bytes +
                  info->point_bytes + fft_bytes(g->adjoint) + fft_bytes(g->forward);
    info->method = g->method;
}

const nufft_backend PRECISE(nufft_cuda) = {PRECISE(gpu_create),
                                           PRECISE(gpu_destroy),
                                           PRECISE(gpu_set_points),
                                           spread,
                                           interpolate,
                                           run_fft,
                                           extract,
                                           insert,
                                           describe};
