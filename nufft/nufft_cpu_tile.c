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
typedef real loose __attribute__((vector_size(CPU_VECTOR), aligned(4)));

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

/* Element i of the result is v[m[i]]. */
static inline vec shuffle(vec v, mask m)
{
#ifdef __clang__ /* has this with constant indices only */
    vec result;
    for (int i = 0; i < LANES; i++)
        result[i] = v[m[i]];
    return result;
#else
    return __builtin_shuffle(v, m);
#endif
}

/* Keeps the compiler from holding values across the inner loops, which need all registers. */
#define KEEP_IN_MEMORY __asm__ volatile("" ::: "memory")

/* Kernel values of the points taken together: y and z as numbers, x as the row's vectors. */
typedef struct weights {
    vec x[TOGETHER][MAX_VECTORS];
    real y[TOGETHER][CPU_COLUMNS + LANES];
    real z[TOGETHER][CPU_COLUMNS + LANES];
} weights;

typedef struct job {
    const cpu_layout *l;
    const cpu_points *p;
    const cpu_task *task;
    const cpu_buffer *b;
    int slot;       /* of the current plane */
    const real *in; /* values or NULL */
    real *out;      /* values or NULL */
    real *check;
} job;

/* Horner's rule for the three coordinates of a point at once; columns are the cells. */
static inline void evaluate(const cpu_layout *l, const real t[3], real *x, real *y, real *z)
{
    const int width = l->width, n_terms = l->n_terms;
    const real *coefficient = l->coefficient, tx = t[0], ty = t[1], tz = t[2];
    for (int i = 0; i < width; i += LANES) {
        const real *at = coefficient + (n_terms - 1) * CPU_COLUMNS + i;
        vec c = load(at), kx = c, ky = c, kz = c;
        for (int m = n_terms - 2; m >= 0; m--) {
            at -= CPU_COLUMNS;
            c = load(at);
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
                                                               const job *a, int64_t j, weights *w)
{
    /* The farthest a value can be stored, and the last vector that can be loaded. */
    enum { ROOM = (MAX_VECTORS + 1) * LANES + CPU_COLUMNS };
    real x[TOGETHER][ROOM];
    const int dim = a->l->dim, rows = a->l->rows;
    for (int i = 0; i < n; i++) {
        uint32_t key = a->p->key[j + i];
        const real t[3] = {a->p->t[0][j + i], dim > 1 ? a->p->t[1][j + i] : 0,
                           dim > 2 ? a->p->t[2][j + i] : 0};
        for (int v = 0; v < n_vectors + 1; v++)
            store(x[i] + v * LANES, (vec){0});
        w->y[i][0] = 0;
        w->y[i][rows - 1] = 0;
        evaluate(a->l, t, x[i] + key_dx(key), w->y[i] + key_dy(key), w->z[i]);
        if (dim < 2) w->y[i][0] = 1;
        if (dim < 3) w->z[i][0] = 1;
    }
    const mask twice = doubling_mask();
    if (a->l->parts == 1) {
        for (int i = 0; i < n; i++)
#pragma GCC unroll 16
            for (int v = 0; v < n_vectors; v++)
                w->x[i][v] = load(x[i] + v * LANES);
    } else {
        for (int i = 0; i < n; i++)
#pragma GCC unroll 16
            for (int v = 0; v < n_vectors; v++)
                w->x[i][v] = shuffle(load(x[i] + v * (LANES / 2)), twice);
    }
}

/* The value of a point as a vector: (re, im, re, im, ..) or all the same. */
static inline vec get_value(int parts, const real *values, int64_t j, real *check)
{
    if (parts == 1) {
        *check += 0 * values[j];
        return values[j] - (vec){0};
    }
    real re = values[2 * j], im = values[2 * j + 1];
    *check += 0 * re + 0 * im;
    vec v = {re, im};
    mask repeat;
    for (int i = 0; i < LANES; i++)
        repeat[i] = i % 2;
    return shuffle(v, repeat);
}

static inline void put_value(int parts, real *values, int64_t j, vec sum)
{
    real lane[LANES], re = 0, im = 0;
    store(lane, sum);
    for (int i = 0; i < LANES; i += 2) {
        re += lane[i];
        im += lane[i + 1];
    }
    if (parts == 1) {
        values[j] = re + im;
    } else {
        values[2 * j] = re;
        values[2 * j + 1] = im;
    }
}

/* Where the window of a key begins in the buffer's slot 0. */
static inline int64_t window_offset(const job *a, uint32_t key)
{
    return (int64_t)(key_x(key) - a->task->x0) * a->l->unit_x * a->l->parts +
           (int64_t)(key_y(key) - a->task->y0) * a->l->unit_y * a->b->pitch;
}

static inline __attribute__((always_inline)) void spread_window(const int n_vectors, const int n,
                                                                const weights *w,
                                                                const vec value[TOGETHER],
                                                                const job *a, real *corner)
{
    const int planes = a->l->planes, rows = a->l->rows, slots = a->b->slots;
    const int64_t pitch = a->b->pitch, plane = a->b->plane;
    int slot = a->slot;
    for (int z = 0; z < planes; z++) {
        real *row = corner + slot * plane;
        slot = slot + 1 == slots ? 0 : slot + 1;
        vec c[TOGETHER][MAX_VECTORS];
#pragma GCC unroll 4
        for (int i = 0; i < n; i++)
#pragma GCC unroll 16
            for (int v = 0; v < n_vectors; v++)
                c[i][v] = w->x[i][v] * (value[i] * w->z[i][z]);
        for (int y = 0; y < rows; y++, row += pitch) {
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
                                                                     const real *corner,
                                                                     vec result[TOGETHER])
{
    const int planes = a->l->planes, rows = a->l->rows, slots = a->b->slots;
    const int64_t pitch = a->b->pitch, plane = a->b->plane;
    int slot = a->slot;
    vec total[TOGETHER][MAX_VECTORS] = {{{0}}};
    for (int z = 0; z < planes; z++) {
        const real *row = corner + slot * plane;
        slot = slot + 1 == slots ? 0 : slot + 1;
        vec sum[TOGETHER][MAX_VECTORS];
#pragma GCC unroll 4
        for (int i = 0; i < n; i++)
#pragma GCC unroll 16
            for (int v = 0; v < n_vectors; v++)
                sum[i][v] = (vec){0};
        for (int y = 0; y < rows; y++, row += pitch) {
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
    KEEP_IN_MEMORY;
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
    make_weights(n_vectors, n, a, j, &w);
    const int parts = a->l->parts;
    int64_t offset = window_offset(a, a->p->key[j]);
    for (int64_t k = 0; k < a->l->batch; k++) {
        vec value[TOGETHER];
        const real *in = a->in + k * a->l->n_points * parts;
        for (int i = 0; i < n; i++)
            value[i] = get_value(parts, in, a->p->order[j + i], &a->check[k]);
        spread_window(n_vectors, n, &w, value, a, a->b->memory + k * a->b->volume + offset);
    }
}

static inline __attribute__((always_inline)) void interpolate_points(const int n_vectors,
                                                                     const int n, const job *a,
                                                                     int64_t j)
{
    weights w;
    make_weights(n_vectors, n, a, j, &w);
    const int parts = a->l->parts;
    int64_t offset = window_offset(a, a->p->key[j]);
    for (int64_t k = 0; k < a->l->batch; k++) {
        vec result[TOGETHER];
        real *out = a->out + k * a->l->n_points * parts;
        interpolate_window(n_vectors, n, &w, a, a->b->memory + k * a->b->volume + offset, result);
        for (int i = 0; i < n; i++)
            put_value(parts, out, a->p->order[j + i], result[i]);
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

/* One function for each number of points keeps the register allocation of each simple. */
#define POINTS(what, n_vectors, n)                                                          \
    static __attribute__((noinline)) void what##_##n_vectors##_##n(const job *a, int64_t j) \
    {                                                                                       \
        what##_points(n_vectors, n, a, j);                                                  \
    }

/* The values of the points to come are all over the caller's array. Always inline: gcc drops calls
   of a function that does nothing but prefetch. */
static inline __attribute__((always_inline)) void prefetch_values(const job *a, int64_t j, int n,
                                                                  int64_t end)
{
    enum { AHEAD = 24 };
    const real *values = a->in ? a->in : a->out;
    const int64_t batch = a->l->batch, step = a->l->n_points * a->l->parts;
    for (int64_t i = j + AHEAD; i < j + AHEAD + n && i < end; i++)
        for (int64_t k = 0; k < batch; k++)
            __builtin_prefetch(values + k * step + a->p->order[i] * a->l->parts);
}

/* All points [j, end) of one plane. */
#define LAYER(what, n_vectors)                                                 \
    POINTS(what, n_vectors, 1)                                                 \
    POINTS(what, n_vectors, 2)                                                 \
    POINTS(what, n_vectors, 3)                                                 \
    POINTS(what, n_vectors, 4)                                                 \
    static void what##_layer_##n_vectors(const job *a, int64_t j, int64_t end) \
    {                                                                          \
        int64_t last = a->task->first + a->task->n;                            \
        while (j < end) {                                                      \
            int n = count_together(a->p, j, end);                              \
            prefetch_values(a, j, n, last);                                    \
            switch (n) {                                                       \
            case 1:                                                            \
                what##_##n_vectors##_1(a, j);                                  \
                break;                                                         \
            case 2:                                                            \
                what##_##n_vectors##_2(a, j);                                  \
                break;                                                         \
            case 3:                                                            \
                what##_##n_vectors##_3(a, j);                                  \
                break;                                                         \
            default:                                                           \
                what##_##n_vectors##_4(a, j);                                  \
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
                   const real *values, real *grid, real *check) /* NOLINT: of a table */
{
    memset(b->memory, 0, sizeof(real) * (size_t)(b->volume * l->batch));
    job a = {l, p, task, b, 0, values, NULL, check};
    for (int64_t j = task->first, next; j < task->first + task->n; j = next) {
        int z = key_z(p->key[j]);
        next = layer_end(p, j, task->first + task->n);
        if (!task->shared) {
            for (; b->next < z && b->next < b->end; b->next++)
                move_plane(l, task, b, b->next, grid, true);
            b->next = z;
        }
        b->end = z + l->planes;
        a.slot = (z - task->z0) % b->slots;
        spread_layers[l->n_vectors - 1](&a, j, next);
    }
}

static void interpolate(const cpu_layout *l, const cpu_points *p, const cpu_task *task,
                        cpu_buffer *b, const real *grid, real *values) /* NOLINT: of a table */
{
    /* Cells beyond n_cells meet zero weights: they must be numbers. */
    memset(b->memory, 0, sizeof(real) * (size_t)(b->volume * l->batch));
    job a = {l, p, task, b, 0, NULL, values, NULL};
    for (int64_t j = task->first, next; j < task->first + task->n; j = next) {
        int z = key_z(p->key[j]);
        next = layer_end(p, j, task->first + task->n);
        if (b->end < z) b->end = z;
        for (; b->end < z + l->planes; b->end++)
            move_plane(l, task, b, b->end, (real *)(uintptr_t)grid, false);
        a.slot = (z - task->z0) % b->slots;
        interpolate_layers[l->n_vectors - 1](&a, j, next);
    }
}

const cpu_tiles JOIN(PRECISE(cpu_tiles), CPU_ISA) = {TEXT(CPU_ISA), CPU_VECTOR, spread, flush,
                                                     interpolate};
