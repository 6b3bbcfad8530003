/* nufft_cuda_plan.c: what a plan on a GPU decides and allocates when it is made.

   status gpu_create(...)
       static status choose_method(...)       kernels, bins, launches
       static status allocate(...), make_factors(...), make_transforms(...) */
#include "nufft/nufft_cuda_state.h"

#include <stdlib.h>

void PRECISE(gpu_destroy)(void *state)
{
    gpu *g = state;
    if (!g) return;
    device_free(g->dev, g->grid);
    device_free(g->dev, g->half);
    device_free(g->dev, g->factors);
    device_free(g->dev, g->sort_memory);
    device_free(g->dev, g->exact_memory);
    device_free(g->dev, g->slot_memory);
    fft_destroy(g->adjoint);
    fft_destroy(g->forward);
    free(g);
}

/* The kernel of a method for this case; NULL if there is none. */
static const void *kernel_for(const gpu *g, nufft_method method, bool spread, size_t *shared)
{
    const gpu_grid *grid = &g->task.g;
    *shared = 0;
    if (method == NUFFT_TILE)
        return PRECISE(gpu_tile_kernel)(grid->dim, grid->width, g->real_path, spread,
                                        g->deterministic);
    if (method == NUFFT_SM && (grid->dim == 1 || g->deterministic)) return NULL;
    if (method == NUFFT_SM && spread) return PRECISE(gpu_sm_kernel)(grid, g->real_path, shared);
    if (method != NUFFT_TENSOR) return PRECISE(gpu_global_kernel)(grid->dim, g->real_path, spread);
    bool small = grid->nx < 16 || grid->ny < 16 || grid->nz < 16; /* than a window */
    if (REAL_PRECISION == PRECISION_SINGLE || grid->dim < 3 || small || g->major < 9) return NULL;
    return spread ? gpu_tensor_spread_kernel(grid->width, g->real_path, g->deterministic)
                  : gpu_tensor_interpolate_kernel(grid->width, g->real_path);
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

static gpu_divisor divisor(int n)
{
    return (gpu_divisor){(uint32_t)n, UINT32_MAX / (uint32_t)n};
}

/* A window holds a bin and the kernel's reach beyond it. */
static void choose_bins(gpu *g)
{
    gpu_grid *grid = &g->task.g;
    int w = grid->width, dim = grid->dim;
    grid->pad = 1;
    grid->bin_x = grid->bin_z = 4;
    if (dim < 3) grid->bin_x = dim == 1 ? 64 : w <= 8 ? 17 - w : 33 - w;
    if (dim < 3) grid->bin_z = 1;
    if (g->method == NUFFT_TILE && dim == 3) grid->bin_x = grid->bin_z = w < 9 ? 9 - w : 1;
    if (g->method == NUFFT_TENSOR) {
        grid->bin_x = grid->bin_z = w <= 8 ? least(8, 17 - w) : least(4, 17 - w);
        grid->pad = 8;
    }
    if (g->method == NUFFT_SM) { /* as in the paper: 32 x 32, 16 x 16 x 2 */
        grid->bin_x = grid->block_y = dim == 3 ? 16 : 32;
        grid->bin_z = dim == 3 ? 2 : 1;
    }
    grid->bins_x = (grid->nx + grid->bin_x - 1) / grid->bin_x;
    grid->bins_z = (grid->nz + grid->bin_z - 1) / grid->bin_z;
    grid->n_bins = (int64_t)grid->bins_x * grid->bins_z * grid->ny;
    grid->n_bins_padded = (grid->n_bins + GPU_SCAN - 1) / GPU_SCAN * GPU_SCAN;
    grid->by_bin_x = divisor(grid->bin_x);
    grid->by_bin_z = divisor(grid->bin_z);
    grid->by_bin = divisor(grid->bin_x * grid->bin_z);
    grid->by_ny = divisor(grid->ny);
    grid->by_bins_x = divisor(grid->bins_x);
}

/* Enough blocks to fill the GPU once: they take tasks until none is left. No blocks without a
   kernel, or with one that takes more shared memory than there is. */
static status make_launch(const gpu *g, nufft_method method, bool spread, launch *made)
{
    int per_processor = 0, processors = 0, available = 0;
    *made = (launch){.threads = GPU_THREADS};
    made->kernel = kernel_for(g, method, spread, &made->shared);
    if (method == NUFFT_TILE) made->threads = 32 * GPU_TILE_WARPS;
    if (made->shared) made->threads = GPU_SM_THREADS;
    CUDA_TRY(
        cudaDeviceGetAttribute(&available, cudaDevAttrMaxSharedMemoryPerBlockOptin, g->ordinal));
    if (!made->kernel || made->shared > (size_t)available) return STATUS_OK;
    if (made->shared)
        CUDA_TRY(cudaFuncSetAttribute(made->kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                      (int)made->shared));
    CUDA_TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_processor, made->kernel,
                                                           (int)made->threads, made->shared));
    CUDA_TRY(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, g->ordinal));
    if (method <= NUFFT_SM && !made->shared) per_processor *= 8;
    made->blocks = (unsigned)(per_processor * processors);
    return STATUS_OK;
}

/* The tensor kernels do two real vectors as one complex one in three quarters of the time. */
static void pair(gpu *g, const nufft_setup *s)
{
    bool paired = s->real && s->batch > 1 && g->method == NUFFT_TENSOR;
    g->batch = paired ? (s->batch + 1) / 2 : s->batch;
    g->real_path = s->real && !paired;
    g->task.batch = (int)g->batch;
    g->task.n_paired = paired ? (int)s->batch : 0;
    g->modes.paired = paired;
    g->modes.real_path = g->real_path;
}

/* Prepares a method: its bins and launches. */
static status try_method(gpu *g, const nufft_setup *s, nufft_method method)
{
    g->method = method;
    pair(g, s);
    choose_bins(g);
    TRY(make_launch(g, method, true, &g->spread));
    return make_launch(g, method, false, &g->interpolate);
}

/* Measured (nufft/NOTES.md): register tiles wherever there is a kernel of the width, tensor cores
   for wider ones in double precision; instead of tiles a thread for each of few points. */
static status choose_method(gpu *g, const nufft_setup *s)
{
    const nufft_method order[] = {NUFFT_TENSOR, NUFFT_TILE, NUFFT_GM_SORT};
    CUDA_TRY(cudaDeviceGetAttribute(&g->major, cudaDevAttrComputeCapabilityMajor, g->ordinal));
    if (s->method != NUFFT_DEFAULT) TRY(try_method(g, s, s->method));
    for (int i = g->task.g.width <= 8; s->method == NUFFT_DEFAULT && !g->spread.blocks; i++)
        TRY(try_method(g, s, order[i]));
    if (s->method == NUFFT_DEFAULT && g->method == NUFFT_TILE && !g->deterministic) {
        TRY(make_launch(g, NUFFT_GM_SORT, true, &g->spread_few));
        TRY(make_launch(g, NUFFT_GM_SORT, false, &g->interpolate_few));
    }
    if (g->spread.blocks && g->interpolate.blocks) return STATUS_OK;
    FAIL(STATUS_UNSUPPORTED,
         "the method %s does not fit %d dimensions with a kernel of %d cells on this GPU",
         nufft_method_name(s->method), g->task.g.dim, g->task.g.width);
}

static status check_limits(const gpu_grid *g)
{
    double cells = (double)g->n_bins * g->bin_x * g->bin_z;
    if (cells >= GPU_MOST_CELLS || (double)g->n_cells >= GPU_MOST_CELLS)
        FAIL(STATUS_RESOURCE, "a fine grid of %d x %d x %d cells is above the %.0f of a GPU's plan",
             g->nx, g->ny, g->nz, GPU_MOST_CELLS);
    return STATUS_OK;
}

static status allocate(gpu *g, const nufft_setup *s)
{
    const gpu_grid *grid = &g->task.g;
    int64_t size = (int64_t)sizeof(real), half = (s->fine[0] / 2 + 1) * s->fine[1] * s->fine[2];
    int64_t reals = grid->n_cells * (g->real_path ? 1 : 2) * g->batch;
    g->grid_bytes = gpu_rounded(reals * size) + (s->batch + 1) * 4;
    TRY(device_alloc(s->dev, g->grid_bytes, (void **)&g->grid));
    if (g->real_path) {
        g->half_bytes = 2 * half * g->batch * size;
        TRY(device_alloc(s->dev, g->half_bytes, (void **)&g->half));
    }
    int64_t sums = grid->n_bins_padded / GPU_SCAN;
    g->sort_bytes = (grid->n_bins_padded + sums + GPU_PARTS + GPU_GROUPS + 3) * 4;
    TRY(device_alloc(s->dev, g->sort_bytes, &g->sort_memory));
    g->points.bins = g->sort_memory;
    g->points.sums = g->points.bins + grid->n_bins_padded;
    g->points.parts = g->points.sums + sums;
    g->points.groups = g->points.parts + GPU_PARTS;
    g->points.n_slots = g->points.groups + GPU_GROUPS;
    g->points.n_subproblems = g->points.n_slots + 1;
    g->points.bad = (int32_t *)(g->points.n_slots + 2);
    TRY(device_zero(s->dev, g->sort_memory, g->sort_bytes));
    g->task.grid = g->grid;
    g->task.grid_step = reals / g->batch;
    g->task.bad = (int32_t *)((char *)g->grid + gpu_rounded(reals * size));
    g->task.counter = (uint32_t *)(g->task.bad + s->batch);
    g->task.n_slots = g->points.n_slots;
    g->task.n_subproblems = g->points.n_subproblems;
    g->task.ends = g->points.bins;
    return STATUS_OK;
}

/* The sums of a deterministic plan, behind what their units are found with. */
static status allocate_exact(gpu *g)
{
    int64_t reals = g->task.grid_step * g->batch, head = gpu_rounded(8 * g->batch * (GPU_SUMS + 2));
    if (!g->deterministic) return STATUS_OK;
    g->exact_bytes = head + 8 * GPU_EXACT_WORDS * reals;
    TRY(device_alloc(g->dev, g->exact_bytes, &g->exact_memory));
    g->task.sums = g->exact_memory;
    g->task.rounding = g->task.sums + GPU_SUMS * g->batch;
    g->task.exact = g->task.sums + head / 8;
    return STATUS_OK;
}

static status make_factors(gpu *g, const nufft_setup *s)
{
    int64_t n = s->modes[0] + s->modes[1] + s->modes[2];
    real *host = malloc(sizeof(real) * (size_t)n), *at = host;
    if (!host) FAIL(STATUS_RESOURCE, "out of host memory");
    status result = device_alloc(s->dev, n * (int64_t)sizeof(real), &g->factors);
    for (int d = 0; d < 3; d++) {
        g->modes.factors[d] = (real *)g->factors + (at - host);
        for (int64_t i = 0; i < s->modes[d]; i++) {
            int64_t k = i - s->modes[d] / 2;
            *at++ = d < s->dim ? (real)s->factors[d][k < 0 ? -k : k] : 1;
        }
    }
    if (result == STATUS_OK)
        result = device_from_host(s->dev, g->factors, host, n * (int64_t)sizeof(real));
    if (result == STATUS_OK) result = device_synchronize(s->dev);
    free(host);
    return result;
}

static status make_transforms(gpu *g, const nufft_setup *s)
{
    const fft_kind kinds[2] = {FFT_FORWARD, FFT_BACKWARD}; /* of the adjoint with sign 1, -1 */
    fft_kind adjoint = kinds[s->sign < 0], forward = kinds[s->sign > 0];
    if (g->real_path) {
        TRY(fft_create(s->dev, REAL_PRECISION, FFT_REAL_FORWARD, s->dim, s->fine, g->batch, false,
                       &g->adjoint));
        return fft_create(s->dev, REAL_PRECISION, FFT_REAL_BACKWARD, s->dim, s->fine, g->batch,
                          false, &g->forward);
    }
    if (s->dim < 3) {
        TRY(fft_create(s->dev, REAL_PRECISION, adjoint, s->dim, s->fine, g->batch, true,
                       &g->adjoint));
        return fft_create(s->dev, REAL_PRECISION, forward, s->dim, s->fine, g->batch, true,
                          &g->forward);
    }
    int64_t modes = s->modes[2];
    TRY(fft_create_central(s->dev, REAL_PRECISION, adjoint, s->fine, g->batch, modes, false,
                           &g->adjoint));
    return fft_create_central(s->dev, REAL_PRECISION, forward, s->fine, g->batch, modes, true,
                              &g->forward);
}

static void take_setup(gpu *g, const nufft_setup *s)
{
    gpu_grid *grid = &g->task.g;
    *grid = (gpu_grid){.dim = s->dim,
                       .width = s->window.width,
                       .nx = (int)s->fine[0],
                       .ny = (int)s->fine[1],
                       .nz = (int)s->fine[2],
                       .n_cells = s->fine[0] * s->fine[1] * s->fine[2]};
    grid->is_near = true;
    for (int d = 0; d < 3; d++) {
        grid->sizes[d] = (real)s->fine[d];
        grid->is_near = grid->is_near && s->fine[d] <= 1 << 18;
    }
    g->task.n_terms = s->window.n_terms;
    for (int m = 0; m < WINDOW_MAX_TERMS; m++)
        for (int i = 0; i < WINDOW_MAX_WIDTH; i++)
            g->task.coefficient[m][i] = (real)s->window.coefficient[m][i];
    for (int d = 0; d < 3; d++) {
        g->modes.modes[d] = s->modes[d];
        g->modes.fine[d] = s->fine[d];
    }
    g->modes.batch = (int)s->batch;
    g->modes.sign = s->sign;
}

/* Sorting by parts; in single precision no bin has empty slots. */
static status check_parts(gpu *g)
{
    int available = 0;
    bool small = g->task.g.n_bins <= (int64_t)GPU_PARTS * GPU_PART_BINS;
    if (REAL_PRECISION == PRECISION_DOUBLE || !small || !g->points.sorted || g->points.stable)
        return STATUS_OK;
    CUDA_TRY(
        cudaDeviceGetAttribute(&available, cudaDevAttrMaxSharedMemoryPerBlockOptin, g->ordinal));
    CUDA_TRY(gpu_prepare_parts(available, &g->may_part));
    return STATUS_OK;
}

static status make(gpu *g, const nufft_setup *s)
{
    take_setup(g, s);
    TRY(choose_method(g, s));
    TRY(check_limits(&g->task.g));
    TRY(allocate(g, s));
    TRY(allocate_exact(g));
    TRY(make_factors(g, s));
    TRY(make_transforms(g, s));
    g->modes.grid = g->real_path ? g->half : g->grid;
    g->modes.bad_points = g->points.bad;
    g->modes.bad = g->task.bad;
    g->modes.counter = g->task.counter;
    g->points.g = g->task.g;
    g->points.sorted = g->method != NUFFT_GM;
    g->points.stable = g->deterministic && g->method >= NUFFT_TILE;
    return check_parts(g);
}

status PRECISE(gpu_create)(const nufft_setup *setup, void **state)
{
    *state = NULL;
    gpu *g = calloc(1, sizeof *g);
    if (!g) FAIL(STATUS_RESOURCE, "out of host memory");
    g->dev = setup->dev;
    g->ordinal = device_ordinal(setup->dev);
    g->stream = (cudaStream_t)device_stream(setup->dev);
    g->deterministic = setup->deterministic;
    int before;
    status result = cuda_enter(g->ordinal, &before);
    if (result == STATUS_OK) {
        result = make(g, setup);
        cuda_leave(g->ordinal, before);
    }
    if (result != STATUS_OK) {
        PRECISE(gpu_destroy)(g);
        return result;
    }
    *state = g;
    return STATUS_OK;
}
