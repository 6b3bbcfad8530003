/* nufft_cpu_tile.c: spreading into and interpolating from the buffer of a task.

   Compiled for each precision and instruction set; CPU_VECTOR is the vector's size in bytes and
   CPU_ISA the name.  The rows of a window are whole vectors, so the inner loops have constant
   trip counts: one instance for each number of vectors in a row and of points taken together.
   Points of one window share the loads and stores of its rows. */
#include "nufft/nufft_cpu.h"

#include <string.h>

#define JOIN_(a, b) a##_##b
#define JOIN(a, b)  JOIN_(a, b)
#define TEXT_(a)    #a
#define TEXT(a)     TEXT_(a)

enum { LANES = CPU_VECTOR / (int)sizeof(real), TOGETHER = 4 };
/* A row of a window has at most 2 * 16 reals. */
enum { MAX_VECTORS = 32 / LANES < 1 ? 1 : 32 / LANES };

typedef real vec __attribute__((vector_size(CPU_VECTOR)));
typedef real loose __attribute__((vector_size(CPU_VECTOR), aligned(4), may_alias));

#ifdef MTIP_SINGLE
typedef int32_t lane_index;
#else
typedef int64_t lane_index;
#endif
typedef lane_index mask __attribute__((vector_size(CPU_VECTOR)));

static inline vec load(const real *p)
{
    return *(const loose *)p;
}

static inline void store(real *p, vec v)
{
    *(loose *)p = v;
}

/* Kernel values of the points taken together: y and z as numbers, x as the window's vectors. */
typedef struct weights {
    vec x[TOGETHER][MAX_VECTORS];
    real y[TOGETHER][CPU_COLUMNS + LANES];
    real z[TOGETHER][CPU_COLUMNS + LANES];
} weights;

/* Horner's rule for the three coordinates of a point at once; columns are the cells. */
static inline void evaluate(const cpu_layout *l, const cpu_points *p, int64_t j, real *x, real *y,
                            real *z)
{
    real tx = p->t[0][j], ty = l->dim > 1 ? p->t[1][j] : 0, tz = l->dim > 2 ? p->t[2][j] : 0;
    const real *last = l->coefficient + (l->n_terms - 1) * CPU_COLUMNS;
    for (int i = 0; i < l->width; i += LANES) {
        vec c = load(last + i), kx = c, ky = c, kz = c;
        for (int m = l->n_terms - 2; m >= 0; m--) {
            c = load(l->coefficient + m * CPU_COLUMNS + i);
            kx = kx * tx + c;
            ky = ky * ty + c;
            kz = kz * tz + c;
        }
        store(x + i, kx);
        store(y + i, ky);
        store(z + i, kz);
    }
}

static inline mask doubling_mask(void)
{
    mask m;
    for (int i = 0; i < LANES; i++)
        m[i] = i / 2;
    return m;
}

/* Puts the kernel's values at their place in the window, twice each for complex numbers. */
static inline __attribute__((always_inline)) void make_weights(const int n_vectors, const int n,
                                                               const cpu_layout *l,
                                                               const cpu_points *p, int64_t j,
                                                               weights *w)
{
    real x[TOGETHER][4 * CPU_COLUMNS];
    for (int i = 0; i < n; i++) {
        uint32_t key = p->key[j + i];
        memset(x[i], 0, sizeof x[i]);
        w->y[i][0] = 0;
        w->y[i][l->rows - 1] = 0;
        evaluate(l, p, j + i, x[i] + key_dx(key), w->y[i] + key_dy(key), w->z[i]);
        if (l->dim < 2) w->y[i][0] = 1;
        if (l->dim < 3) w->z[i][0] = 1;
    }
    const mask twice = doubling_mask();
    for (int i = 0; i < n; i++)
#pragma GCC unroll 16
        for (int v = 0; v < n_vectors; v++) {
            if (l->parts == 1)
                w->x[i][v] = load(x[i] + v * LANES);
            else
                w->x[i][v] = __builtin_shuffle(load(x[i] + v * (LANES / 2)), twice);
        }
}

/* The value of a point as a vector: (re, im, re, im, ..) or all the same. */
static inline vec get_value(const cpu_layout *l, const real *values, int64_t j, real *check)
{
    vec v;
    if (l->parts == 1) {
        *check += 0 * values[j];
        v = values[j] - (vec){0};
        return v;
    }
    real re = values[2 * j], im = values[2 * j + 1];
    *check += 0 * re + 0 * im;
    for (int i = 0; i < LANES; i += 2) {
        v[i] = re;
        v[i + 1] = im;
    }
    return v;
}

static inline void put_value(const cpu_layout *l, real *values, int64_t j, vec sum)
{
    real re = 0, im = 0;
    for (int i = 0; i < LANES; i += 2) {
        re += sum[i];
        im += sum[i + 1];
    }
    if (l->parts == 1) {
        values[j] = re + im;
    } else {
        values[2 * j] = re;
        values[2 * j + 1] = im;
    }
}

/* Where the window of a key begins in the buffer's slot 0. */
static inline int64_t window_offset(const cpu_layout *l, const cpu_task *t, const cpu_buffer *b,
                                    uint32_t key)
{
    return (int64_t)(key_x(key) - t->x0) * l->unit_x * l->parts +
           (int64_t)(key_y(key) - t->y0) * l->unit_y * b->pitch;
}

typedef struct job {
    const cpu_layout *l;
    const cpu_points *p;
    const cpu_task *task;
    const cpu_buffer *b;
    const real *in; /* values or NULL */
    real *out;      /* values or NULL */
    real *check;
} job;

static inline __attribute__((always_inline)) void spread_window(const int n_vectors, const int n,
                                                                const weights *w,
                                                                const vec value[TOGETHER],
                                                                const job *a, real *corner,
                                                                int slot)
{
    for (int z = 0; z < a->l->planes; z++) {
        real *row = corner + slot * a->b->plane;
        slot = slot + 1 == a->b->slots ? 0 : slot + 1;
        vec c[TOGETHER][MAX_VECTORS];
#pragma GCC unroll 4
        for (int i = 0; i < n; i++)
#pragma GCC unroll 16
            for (int v = 0; v < n_vectors; v++)
                c[i][v] = w->x[i][v] * (value[i] * w->z[i][z]);
        for (int y = 0; y < a->l->rows; y++, row += a->b->pitch) {
#pragma GCC unroll 16
            for (int v = 0; v < n_vectors; v++) {
                vec sum = load(row + v * LANES);
#pragma GCC unroll 4
                for (int i = 0; i < n; i++)
                    sum += c[i][v] * w->y[i][y];
                store(row + v * LANES, sum);
            }
        }
    }
}

static inline __attribute__((always_inline)) void interpolate_window(const int n_vectors,
                                                                     const int n, const weights *w,
                                                                     const job *a,
                                                                     const real *corner, int slot,
                                                                     vec result[TOGETHER])
{
    vec total[TOGETHER][MAX_VECTORS] = {{{0}}};
    for (int z = 0; z < a->l->planes; z++) {
        const real *row = corner + slot * a->b->plane;
        slot = slot + 1 == a->b->slots ? 0 : slot + 1;
        vec sum[TOGETHER][MAX_VECTORS];
#pragma GCC unroll 4
        for (int i = 0; i < n; i++)
#pragma GCC unroll 16
            for (int v = 0; v < n_vectors; v++)
                sum[i][v] = (vec){0};
        for (int y = 0; y < a->l->rows; y++, row += a->b->pitch) {
#pragma GCC unroll 16
            for (int v = 0; v < n_vectors; v++) {
                vec c = load(row + v * LANES);
#pragma GCC unroll 4
                for (int i = 0; i < n; i++)
                    sum[i][v] += c * w->y[i][y];
            }
        }
#pragma GCC unroll 4
        for (int i = 0; i < n; i++)
#pragma GCC unroll 16
            for (int v = 0; v < n_vectors; v++)
                total[i][v] += sum[i][v] * w->z[i][z];
    }
#pragma GCC unroll 4
    for (int i = 0; i < n; i++) {
        result[i] = (vec){0};
#pragma GCC unroll 16
        for (int v = 0; v < n_vectors; v++)
            result[i] += total[i][v] * w->x[i][v];
    }
}

/* n points of one window from point j on; the kernel is evaluated once for all vectors. */
static inline __attribute__((always_inline)) void spread_points(const int n_vectors, const int n,
                                                                const job *a, int64_t j)
{
    weights w;
    make_weights(n_vectors, n, a->l, a->p, j, &w);
    int64_t offset = window_offset(a->l, a->task, a->b, a->p->key[j]);
    int slot = (key_z(a->p->key[j]) - a->task->z0) % a->b->slots;
    for (int64_t k = 0; k < a->l->batch; k++) {
        vec value[TOGETHER];
        for (int i = 0; i < n; i++)
            value[i] = get_value(a->l, a->in + k * a->l->n_points * a->l->parts, a->p->order[j + i],
                                 &a->check[k]);
        spread_window(n_vectors, n, &w, value, a, a->b->memory + k * a->b->volume + offset, slot);
    }
}

static inline __attribute__((always_inline)) void interpolate_points(const int n_vectors,
                                                                     const int n, const job *a,
                                                                     int64_t j)
{
    weights w;
    make_weights(n_vectors, n, a->l, a->p, j, &w);
    int64_t offset = window_offset(a->l, a->task, a->b, a->p->key[j]);
    int slot = (key_z(a->p->key[j]) - a->task->z0) % a->b->slots;
    for (int64_t k = 0; k < a->l->batch; k++) {
        vec result[TOGETHER];
        interpolate_window(n_vectors, n, &w, a, a->b->memory + k * a->b->volume + offset, slot,
                           result);
        for (int i = 0; i < n; i++)
            put_value(a->l, a->out + k * a->l->n_points * a->l->parts, a->p->order[j + i],
                      result[i]);
    }
}

/* How many points from j on, at most TOGETHER, are in the same window. */
static inline int count_together(const cpu_points *p, int64_t j, int64_t end)
{
    uint32_t here = p->key[j] >> KEY_WINDOW_SHIFT;
    int n = 1;
    while (n < TOGETHER && j + n < end && p->key[j + n] >> KEY_WINDOW_SHIFT == here)
        n++;
    return n;
}

typedef void layer_function(const job *a, int64_t j, int64_t end);

/* All points [j, end) of one plane. */
#define LAYER(what, n_vectors)                                                 \
    static void what##_layer_##n_vectors(const job *a, int64_t j, int64_t end) \
    {                                                                          \
        while (j < end) {                                                      \
            int n = count_together(a->p, j, end);                              \
            switch (n) {                                                       \
            case 1:                                                            \
                what##_points(n_vectors, 1, a, j);                             \
                break;                                                         \
            case 2:                                                            \
                what##_points(n_vectors, 2, a, j);                             \
                break;                                                         \
            case 3:                                                            \
                what##_points(n_vectors, 3, a, j);                             \
                break;                                                         \
            default:                                                           \
                what##_points(n_vectors, 4, a, j);                             \
                break;                                                         \
            }                                                                  \
            j += n;                                                            \
        }                                                                      \
    }

#define LAYERS(n_vectors) LAYER(spread, n_vectors) LAYER(interpolate, n_vectors)

LAYERS(1)
LAYERS(2)
#if CPU_VECTOR < 64 || !defined(MTIP_SINGLE)
LAYERS(3)
LAYERS(4)
#endif
#if CPU_VECTOR < 32 || (CPU_VECTOR < 64 && !defined(MTIP_SINGLE))
LAYERS(5)
LAYERS(6)
LAYERS(7)
LAYERS(8)
#endif
#if CPU_VECTOR < 32 && !defined(MTIP_SINGLE)
LAYERS(9)
LAYERS(10)
LAYERS(11)
LAYERS(12)
LAYERS(13)
LAYERS(14)
LAYERS(15)
LAYERS(16)
#endif

#define ONE(what, n) what##_layer_##n
#define TWO(what)    ONE(what, 1), ONE(what, 2)
#define FOUR(what)   TWO(what), ONE(what, 3), ONE(what, 4)
#define EIGHT(what)  FOUR(what), ONE(what, 5), ONE(what, 6), ONE(what, 7), ONE(what, 8)
#define SIXTEEN(what)                                                                      \
    EIGHT(what), ONE(what, 9), ONE(what, 10), ONE(what, 11), ONE(what, 12), ONE(what, 13), \
        ONE(what, 14), ONE(what, 15), ONE(what, 16)

#if CPU_VECTOR == 64 && defined(MTIP_SINGLE)
#define ALL(what) TWO(what)
#elif CPU_VECTOR == 64 || (CPU_VECTOR == 32 && defined(MTIP_SINGLE))
#define ALL(what) FOUR(what)
#elif CPU_VECTOR == 32 || defined(MTIP_SINGLE)
#define ALL(what) EIGHT(what)
#else
#define ALL(what) SIXTEEN(what)
#endif

static layer_function *const spread_layers[MAX_VECTORS] = {ALL(spread)};
static layer_function *const interpolate_layers[MAX_VECTORS] = {ALL(interpolate)};

/* One row of the buffer and the grid's row, which wraps around: adds to the grid and clears, or
   copies from the grid. */
static void add_row(real *restrict grid, real *restrict row, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        grid[i] += row[i];
        row[i] = 0;
    }
}

static inline int64_t wrapped(int64_t i, int64_t n)
{
    return i < n ? i : i % n;
}

/* Plane z of the buffer to the grid, or the other way. */
static void move_plane(const cpu_layout *l, const cpu_task *t, const cpu_buffer *b, int z,
                       real *grid, bool to_grid)
{
    int64_t x0 = t->origin[0] + (int64_t)t->x0 * l->unit_x;
    int64_t y0 = t->origin[1] + (int64_t)t->y0 * l->unit_y;
    int64_t gz = wrapped(t->origin[2] + z, l->fine[2]);
    real *plane = b->memory + (z - t->z0) % b->slots * b->plane;
    for (int64_t k = 0; k < l->batch; k++)
        for (int y = 0; y < b->n_rows; y++) {
            real *row = plane + k * b->volume + y * b->pitch;
            real *line =
                grid + k * l->grid + gz * l->plane + wrapped(y0 + y, l->fine[1]) * l->pitch;
            for (int64_t done = 0; done < b->n_cells;) {
                int64_t gx = wrapped(x0 + done, l->fine[0]), n = l->fine[0] - gx;
                if (n > b->n_cells - done) n = b->n_cells - done;
                if (to_grid)
                    add_row(line + gx * l->parts, row + done * l->parts, n * l->parts);
                else
                    memcpy(row + done * l->parts, line + gx * l->parts,
                           sizeof(real) * (size_t)(n * l->parts));
                done += n;
            }
        }
}

static void flush(const cpu_layout *l, const cpu_task *task, cpu_buffer *b, real *grid)
{
    for (; b->next < b->end; b->next++)
        move_plane(l, task, b, b->next, grid, true);
}

/* The end of the run of points with the plane of point j. */
static int64_t layer_end(const cpu_points *p, int64_t j, int64_t end)
{
    int z = key_z(p->key[j]);
    while (j < end && key_z(p->key[j]) == z)
        j++;
    return j;
}

static void spread(const cpu_layout *l, const cpu_points *p, const cpu_task *task, cpu_buffer *b,
                   const real *values, real *grid, real *check)
{
    memset(b->memory, 0, sizeof(real) * (size_t)(b->volume * l->batch));
    job a = {l, p, task, b, values, NULL, check};
    for (int64_t j = task->first, next; j < task->first + task->n; j = next) {
        int z = key_z(p->key[j]);
        next = layer_end(p, j, task->first + task->n);
        if (!task->shared) {
            for (; b->next < z && b->next < b->end; b->next++)
                move_plane(l, task, b, b->next, grid, true);
            b->next = z;
        }
        b->end = z + l->planes;
        spread_layers[l->n_vectors - 1](&a, j, next);
    }
}

static void interpolate(const cpu_layout *l, const cpu_points *p, const cpu_task *task,
                        cpu_buffer *b, const real *grid, real *values)
{
    /* Cells beyond n_cells meet zero weights: they must be numbers. */
    memset(b->memory, 0, sizeof(real) * (size_t)(b->volume * l->batch));
    job a = {l, p, task, b, NULL, values, NULL};
    for (int64_t j = task->first, next; j < task->first + task->n; j = next) {
        int z = key_z(p->key[j]);
        next = layer_end(p, j, task->first + task->n);
        if (b->end < z) b->end = z;
        for (; b->end < z + l->planes; b->end++)
            move_plane(l, task, b, b->end, (real *)(uintptr_t)grid, false);
        interpolate_layers[l->n_vectors - 1](&a, j, next);
    }
}

const cpu_tiles JOIN(PRECISE(cpu_tiles), CPU_ISA) = {TEXT(CPU_ISA), CPU_VECTOR, spread, flush,
                                                     interpolate};
