/* nufft_cpu.c: the CPU's backend: its layout, and the loops over tasks. */
#include "nufft/nufft_cpu.h"

#include <math.h>
#include <omp.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

static void destroy(void *state)
{
    cpu *c = state;
    if (!c) return;
    PRECISE(cpu_points_table).destroy(c);
    PRECISE(cpu_modes_table).destroy(c);
    for (int d = 0; d < 3; d++)
        free(c->factors[d]);
    device_free(c->s.dev, c->grid);
    device_free(c->s.dev, c->scratch);
    device_free(c->s.dev, c->layout.coefficient);
    free(c->check);
    free(c->bad_values);
    free(c);
}

/* The fewest vectors that hold a row of the kernel and leave room to move it by a few cells, so
   that several points share a window. */
static void choose_window(cpu_layout *l, int lanes)
{
    int least = (l->parts * l->width + lanes - 1) / lanes, most = 32 / lanes;
    for (l->n_vectors = least; l->n_vectors <= most; l->n_vectors++) {
        l->window_cells = l->n_vectors * lanes / l->parts;
        l->unit_x = l->window_cells - l->width + 1;
        if (l->unit_x >= 2 || l->n_vectors == most) break;
    }
    int aligned = lanes / l->parts;
    if (l->unit_x > aligned) l->unit_x -= l->unit_x % aligned;
    if (l->unit_x > 15) l->unit_x = 15;
}

static status make_layout(cpu *c)
{
    cpu_layout *l = &c->layout;
    const nufft_setup *s = &c->s;
    *l = (cpu_layout){.dim = s->dim,
                      .width = s->window.width,
                      .n_terms = s->window.n_terms,
                      .parts = s->real ? 1 : 2,
                      .unit_y = 1,
                      .batch = s->batch,
                      .fine = {s->fine[0], s->fine[1], s->fine[2]}};
    choose_window(l, c->tiles->vector_bytes / (int)sizeof(real));
    l->rows = s->dim > 1 ? l->width + l->unit_y - 1 : 1;
    l->planes = s->dim > 2 ? l->width : 1;
    l->pitch = nufft_cpu_pitch(s->real, s->fine[0], (int64_t)sizeof(real));
    l->plane = l->pitch * s->fine[1];
    l->grid = l->plane * s->fine[2];
    TRY(device_alloc(s->dev, CPU_COLUMNS * l->n_terms * (int64_t)sizeof(real),
                     (void **)&l->coefficient));
    for (int m = 0; m < l->n_terms; m++)
        for (int i = 0; i < CPU_COLUMNS; i++)
            l->coefficient[m * CPU_COLUMNS + i] =
                i < l->width ? (real)s->window.coefficient[m][i] : 0;
    return device_alloc(s->dev, l->grid * l->batch * (int64_t)sizeof(real), (void **)&c->grid);
}

static status make_factors(cpu *c, int d)
{
    int64_t n = c->s.modes[d];
    c->factors[d] = malloc(sizeof(real) * (size_t)n);
    if (!c->factors[d]) FAIL(STATUS_RESOURCE, "out of host memory");
    for (int64_t i = 0; i < n; i++) {
        int64_t k = i - n / 2;
        c->factors[d][i] = d < c->s.dim ? (real)c->s.factors[d][k < 0 ? -k : k] : 1;
    }
    return STATUS_OK;
}

/* Reals from one thread's sums of checks to the next: threads must not write to common lines. */
static int64_t check_stride(const cpu *c)
{
    return c->layout.batch + 256 / (int64_t)sizeof(real);
}

static status create(const nufft_setup *setup, void **state)
{
    status result = STATUS_OK;
    *state = NULL;
    if (setup->method != NUFFT_DEFAULT)
        FAIL(STATUS_UNSUPPORTED, "the method %s is for GPUs; the CPU has its own only",
             nufft_method_name(setup->method));
    cpu *c = calloc(1, sizeof *c);
    if (!c) FAIL(STATUS_RESOURCE, "out of host memory");
    c->s = *setup;
    c->n_threads = device_threads(setup->dev);
    c->tiles = PRECISE(cpu_choose_tiles)();
    TRY_OR(fail, make_layout(c));
    for (int d = 0; d < 3; d++)
        TRY_OR(fail, make_factors(c, d));
    TRY_OR(fail, PRECISE(cpu_points_table).create(c));
    TRY_OR(fail, PRECISE(cpu_modes_table).create(c));
    c->check = calloc((size_t)(c->n_threads * check_stride(c)), sizeof *c->check);
    c->bad_values = calloc((size_t)setup->batch, sizeof *c->bad_values);
    if (!c->check || !c->bad_values) {
        destroy(c);
        FAIL(STATUS_RESOURCE, "out of host memory");
    }
    *state = c;
    return STATUS_OK;
fail:
    destroy(c);
    return result;
}

static status set_points(void *state, int64_t n, const void *const coordinates[])
{
    cpu *c = state;
    int64_t before = c->scratch_size;
    TRY(PRECISE(cpu_points_table).set(c, n, coordinates));
    if (c->scratch && c->scratch_size == before) return STATUS_OK;
    device_free(c->s.dev, c->scratch);
    c->scratch = NULL;
    int64_t bytes = c->scratch_size * c->n_threads * (int64_t)sizeof(real);
    return device_alloc(c->s.dev, bytes, (void **)&c->scratch);
}

/* Tasks of a tile add to the grid in a fixed order. Earlier ones have been started before, so
   this ends. */
static void wait_for_turn(cpu *c, const cpu_task *t)
{
    while (atomic_load_explicit(&c->turns[t->tile], memory_order_acquire) != t->turn)
        sched_yield();
}

static void spread_task(cpu *c, const cpu_task *t, const real *values)
{
    int thread = omp_get_thread_num();
    cpu_buffer b;
    cpu_buffer_shape(&c->layout, t, t->shared, &b);
    b.memory = c->scratch + thread * c->scratch_size;
    c->tiles->spread(&c->layout, &c->points, t, &b, values, c->grid,
                     c->check + thread * check_stride(c));
    if (t->shared) wait_for_turn(c, t);
    c->tiles->flush(&c->layout, t, &b, c->grid);
    atomic_store_explicit(&c->turns[t->tile], t->turn + 1, memory_order_release);
}

static void clear_grid(cpu *c)
{
    const cpu_layout *l = &c->layout;
    int64_t rows = l->fine[1] * l->fine[2] * l->batch;
#pragma omp parallel for num_threads(c->n_threads) schedule(static)
    for (int64_t i = 0; i < rows; i++)
        memset(c->grid + i * l->pitch, 0, sizeof(real) * (size_t)l->pitch);
}

static status spread(void *state, const void *values)
{
    cpu *c = state;
    clear_grid(c);
    for (int64_t i = 0; i < c->n_threads * check_stride(c); i++)
        c->check[i] = 0;
    for (int64_t i = 0; i < c->n_tasks; i++)
        atomic_store(&c->turns[c->tasks[i].tile], 0);
    for (int colour = 0; colour < CPU_MAX_COLOURS; colour++) {
        int64_t begin = c->colour_begin[colour], end = c->colour_begin[colour + 1];
        if (begin == end) continue;
#pragma omp parallel for num_threads(c->n_threads) schedule(monotonic : dynamic, 1)
        for (int64_t i = begin; i < end; i++)
            spread_task(c, &c->tasks[i], values);
    }
    for (int64_t v = 0; v < c->layout.batch; v++) {
        real sum = 0;
        for (int t = 0; t < c->n_threads; t++)
            sum += c->check[t * check_stride(c) + v];
        c->bad_values[v] = isnan(sum);
    }
    return STATUS_OK;
}

static status interpolate(void *state, void *values)
{
    cpu *c = state;
#pragma omp parallel for num_threads(c->n_threads) schedule(dynamic, 1)
    for (int64_t i = 0; i < c->n_tasks; i++) {
        cpu_buffer b;
        cpu_buffer_shape(&c->layout, &c->tasks[i], false, &b);
        b.memory = c->scratch + omp_get_thread_num() * c->scratch_size;
        c->tiles->interpolate(&c->layout, &c->points, &c->tasks[i], &b, c->grid, values);
    }
    return STATUS_OK;
}

static status transform(void *state, bool adjoint)
{
    return PRECISE(cpu_modes_table).transform(state, adjoint);
}

static status extract(void *state, void *modes)
{
    PRECISE(cpu_modes_table).extract(state, modes);
    return STATUS_OK;
}

static status insert(void *state, const void *modes)
{
    PRECISE(cpu_modes_table).insert(state, modes);
    return STATUS_OK;
}

static void describe(const void *state, nufft_info *info)
{
    const cpu *c = state;
    int64_t point = (int64_t)sizeof(real) * c->layout.dim + 12;
    int64_t reals = c->layout.grid * c->layout.batch + c->scratch_size * c->n_threads;
    info->point_bytes = point * c->capacity;
    info->bytes = reals * (int64_t)sizeof(real) + info->point_bytes;
    info->method = NUFFT_DEFAULT;
}

const nufft_backend PRECISE(nufft_cpu) = {create,    destroy, set_points, spread,  interpolate,
                                          transform, extract, insert,     describe};
