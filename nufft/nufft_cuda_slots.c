/* nufft_cuda_slots.c: the points of a plan on a GPU: memory, and the choice of a sort. */
#include "nufft/nufft_cuda_state.h"
#include "nufft/nufft_sorting.h"

#include <math.h>

/* Points that are parted before they are sorted: a second array of slots. */
static bool wants_parts(const gpu *g, int64_t n)
{
    return g->may_part && (double)n >= GPU_PART_FROM;
}

static void *piece(char *memory, int64_t *at, int64_t bytes)
{
    void *result = memory && bytes ? memory + *at : NULL;
    *at += gpu_rounded(bytes);
    return result;
}

static int64_t slots_for(const gpu_grid *g, int64_t n)
{
    return n + (n < g->n_bins ? n : g->n_bins) * (g->pad - 1); /* empty ones at the bins' ends */
}

/* Shares out memory (NULL: none yet) for n points; returns the bytes it takes. */
static int64_t lay_out(gpu *g, int64_t n, char *memory)
{
    gpu_points *p = &g->points;
    const gpu_grid *grid = &g->task.g;
    int64_t size = (int64_t)sizeof(gpu_slot), at = 0, blocks = n < grid->n_bins ? n : grid->n_bins;
    int64_t pairs = p->stable ? 4 * n : 0;
    p->slots = piece(memory, &at, slots_for(grid, n) * size);
    g->parted = piece(memory, &at, wants_parts(g, n) ? n * size : 0);
    p->firsts = piece(memory, &at, grid->block_y ? 4 * (n / GPU_SM_POINTS + blocks) : 0);
    for (int i = 0; i < 2; i++) {
        p->pairs.keys[i] = piece(memory, &at, pairs);
        p->pairs.values[i] = piece(memory, &at, pairs);
    }
    p->heads = piece(memory, &at, p->stable ? 4 * grid->n_bins : 0);
    p->pairs.scratch = piece(memory, &at, (int64_t)p->pairs.scratch_bytes);
    return at;
}

static status reserve(gpu *g, int64_t n)
{
    if (slots_for(&g->task.g, n) > INT32_MAX - 64)
        FAIL(STATUS_RESOURCE, "%lld points are above the 2^31 slots of a GPU's plan", (long long)n);
    if (n <= g->capacity && g->slot_memory) return STATUS_OK;
    device_free(g->dev, g->slot_memory);
    g->slot_memory = NULL;
    g->capacity = g->slot_bytes = 0;
    if (g->points.stable) CUDA_TRY(gpu_sort_pairs_scratch(n, &g->points.pairs.scratch_bytes));
    int64_t bytes = lay_out(g, n, NULL);
    TRY(device_alloc(g->dev, bytes, &g->slot_memory));
    (void)lay_out(g, n, g->slot_memory);
    g->slot_bytes = bytes;
    g->capacity = n;
    g->task.slots = g->points.slots;
    g->task.firsts = g->points.firsts;
    return STATUS_OK;
}

static int64_t parts_of(int64_t bins, int shift)
{
    return ((bins - 1) >> shift) + 1;
}

/* As many bins to a part as leave its block room for more points than there are on average. */
static void choose_parts(gpu *g, int64_t n)
{
    enum { POINTS = 9500 };
    int64_t bins = g->task.g.n_bins;
    int shift = 0;
    while (parts_of(bins, shift) > GPU_PARTS ||
           (2 << shift <= GPU_PART_BINS && n / parts_of(bins, shift + 1) < POINTS))
        shift++;
    g->points.part_shift = shift;
    g->points.n_parts = (int)parts_of(bins, shift);
}

/* Where a thread for each point beats tiles, whose windows few points do not fill: below `always`
   points a fine cell, and below `if_few` where there are fewer than `few` of them. */
typedef struct limit {
    double always, if_few, few;
} limit;

/* 2D and 3D, spreading and interpolation, by width: measured (nufft/NOTES.md). */
static const limit limits[2][2][9] = {{{[2] = {1.2},
                                        [3] = {0.15, 0.4, 1e5},
                                        [4] = {0.06, 0.15, 3e4},
                                        [5] = {0.03, 0.12, 3e4},
                                        [6] = {0.025, 0.12, 2e4},
                                        [7] = {0.012, 0.06, 3.5e4},
                                        [8] = {0.012, 0.06, 3.5e4}},
                                       {[2] = {0.8, 4, 2.9e6},
                                        [3] = {0.5, 4, 2e6},
                                        [4] = {0.4, 4, 1.1e6},
                                        [5] = {0.4, 2, 1.1e6},
                                        [6] = {0.4, 1.5, 1e5},
                                        [7] = {0.4},
                                        [8] = {0.4}}},
                                      {{[2] = {0.2, 0.3, 2e4},
                                        [3] = {0.045, 0.12, 1.5e4},
                                        [4] = {0.015, 0.04, 8e3},
                                        [5] = {0, 0.025, 8e3},
                                        [6] = {0, 0.025, 8e3}},
                                       {[2] = {INFINITY},
                                        [3] = {0.15, INFINITY, 5e6},
                                        [4] = {0.05, 0.15, 3e4},
                                        [5] = {0.025, 0.06, 2e4},
                                        [6] = {0.025, 0.06, 2e4},
                                        [7] = {0.025, 0.06, 1.5e4},
                                        [8] = {0.025, 0.06, 1.5e4}}}};

static bool are_few(const gpu_grid *g, int64_t n, bool spread)
{
    double density = (double)n / (double)g->n_cells;
    if (g->width > 8) return false;
    const limit *l = &limits[g->dim == 3][!spread][g->width];
    return density < l->always || (density < l->if_few && (double)n < l->few);
}

static status sort(gpu *g, int64_t n, const void *const coordinates[])
{
    g->points.n = n;
    g->points.parted = wants_parts(g, n) ? g->parted : NULL;
    if (g->points.parted) choose_parts(g, n);
    for (int d = 0; d < 3; d++)
        g->points.x[d] = d < g->task.g.dim ? coordinates[d] : NULL;
    CUDA_TRY(PRECISE(gpu_sort)(&g->points, g->stream));
    g->n_points = g->task.n_points = n;
    g->spreads_few = g->spread_few.blocks && are_few(&g->task.g, n, true);
    g->interpolates_few = g->interpolate_few.blocks && are_few(&g->task.g, n, false);
    return STATUS_OK;
}

status PRECISE(gpu_set_points)(void *state, int64_t n, const void *const coordinates[])
{
    gpu *g = state;
    int before;
    TRY(cuda_enter(g->ordinal, &before));
    status result = reserve(g, n);
    if (result == STATUS_OK) result = sort(g, n, coordinates);
    cuda_leave(g->ordinal, before);
    return result;
}
