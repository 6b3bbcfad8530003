/* nufft_cpu_points.c: folding and sorting the points.

   static status create(cpu *c)         tiles
   static status set(cpu *c, ...)
       static void find_tiles(...)      tile of every point, counted per block of points
       static void order_by_tile(...)   stable, so that the order does not depend on the threads
       static void sort_tile(...)       within a tile: by plane, window in x, window in y
       static status make_tasks(...)    runs of points, grouped by colour of their tiles */
#include "nufft/nufft_cpu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "nufft/fold.h"

/* The first cell the kernel touches and the argument of its polynomials, of n coordinates: cell 0 and
   NaN where x is not finite or too large to have a place in a period; false if there is any. */
WIDEST_VECTORS
static bool locate(int64_t n, const real *x, int64_t fine_cells, int width, int32_t *start, real *t)
{
    const double fine = (double)fine_cells, half = 0.5 * width;
    int32_t n_bad = 0;
#pragma omp simd reduction(+ : n_bad)
    for (int64_t j = 0; j < n; j++) {
        double high, low;
        turns_of((double)x[j], &high, &low);
        double cells = high * fine, rest = fma(high, fine, -cells) + low * fine;
        double whole = rint(cells), u = (cells - whole) + rest - half;
        double first = ceil(u), argument = 2 * (first - u) - 1, s = whole + first;
        s = s < 0 ? s + fine : s;
        s = s < 0 ? s + fine : s;
        s = s >= fine ? s - fine : s;
        bool good = argument >= -1 && argument <= 1;
        n_bad += !good;
        start[j] = (int32_t)(good ? s : 0);
        t[j] = (real)(good ? argument : (double)NAN);
    }
    return n_bad == 0;
}

static int64_t n_tiles(const cpu *c)
{
    return (int64_t)c->n_tiles[0] * c->n_tiles[1] * c->n_tiles[2];
}

/* About how many cells a tile should have along dimension d: the planes in use fit the cache, and
   there are a few tiles to share out. */
static int64_t tile_size(const cpu *c, int d)
{
    const cpu_layout *l = &c->layout;
    double cell = (double)l->parts * sizeof(real) * (double)l->batch;
    double size = 4000;
    if (l->dim == 2) size = sqrt(0x1p18 / cell) - l->width;
    if (l->dim == 3) size = sqrt(0x1p19 / (cell * l->width)) - l->width;
    double share = (double)l->fine[d] / 4;
    if (size > share && l->dim > 1) size = share;
    if (size < 24) size = 24;
    double most = d == 0 ? 1000.0 * l->unit_x : d == 1 ? 250.0 * l->unit_y : 250;
    return (int64_t)(size < most ? size : most);
}

/* Tiles of two colours must not reach each other over the tile between them. */
static int count_tiles(const cpu *c, int d)
{
    int64_t fine = c->layout.fine[d], size = tile_size(c, d);
    int64_t n = (fine + size - 1) / size;
    if (n > 1 && n % 2) n++;
    while (n > 2 && fine / n < c->layout.width - 1)
        n -= 2;
    return (int)n;
}

static status make_tiles(cpu *c, int d)
{
    int64_t fine = c->layout.fine[d];
    c->n_tiles[d] = d < c->layout.dim ? count_tiles(c, d) : 1;
    c->edges[d] = malloc(sizeof(int64_t) * (size_t)(c->n_tiles[d] + 1));
    c->tile_of[d] = malloc(sizeof(int32_t) * (size_t)fine);
    if (!c->edges[d] || !c->tile_of[d]) FAIL(STATUS_RESOURCE, "out of host memory");
    for (int i = 0; i <= c->n_tiles[d]; i++)
        c->edges[d][i] = i * fine / c->n_tiles[d];
    for (int i = 0; i < c->n_tiles[d]; i++)
        for (int64_t s = c->edges[d][i]; s < c->edges[d][i + 1]; s++)
            c->tile_of[d][s] = i;
    return STATUS_OK;
}

static status create(cpu *c)
{
    for (int d = 0; d < 3; d++)
        TRY(make_tiles(c, d));
    c->turns = calloc((size_t)n_tiles(c), sizeof *c->turns);
    if (!c->turns) FAIL(STATUS_RESOURCE, "out of host memory");
    return STATUS_OK;
}

static void free_points(cpu *c)
{
    for (int d = 0; d < 3; d++) {
        free(c->points.t[d]);
        c->points.t[d] = NULL;
    }
    free(c->points.key);
    free(c->points.order);
    c->points.key = NULL;
    c->points.order = NULL;
    c->capacity = 0;
}

static void destroy(cpu *c)
{
    free_points(c);
    for (int d = 0; d < 3; d++) {
        free(c->edges[d]);
        free(c->tile_of[d]);
    }
    free(c->tasks);
    free(c->turns);
}

static status reserve(cpu *c, int64_t n)
{
    if (n <= c->capacity && n >= c->capacity / 4) return STATUS_OK;
    free_points(c);
    size_t size = (size_t)n + 1;
    for (int d = 0; d < c->layout.dim; d++) {
        c->points.t[d] = malloc(sizeof(real) * size);
        if (!c->points.t[d]) FAIL(STATUS_RESOURCE, "no memory for %lld points", (long long)n);
    }
    c->points.key = malloc(sizeof(uint32_t) * size);
    c->points.order = malloc(sizeof(int64_t) * size);
    if (!c->points.key || !c->points.order)
        FAIL(STATUS_RESOURCE, "no memory for %lld points", (long long)n);
    c->capacity = n;
    return STATUS_OK;
}

/* What set() needs while it runs. */
typedef struct sorting {
    int64_t n, blocks;
    int32_t *start[3]; /* [n] each */
    real *t[3];        /* [n] each */
    int32_t *tile;     /* [n] */
    int64_t *by_tile;  /* [n] indices ordered by tile */
    int64_t *counts;   /* [blocks][tiles], then the places where a block's points go */
    int64_t *begin;    /* [tiles + 1] */
} sorting;

static void block_of(const sorting *s, int64_t block, int64_t *begin, int64_t *end)
{
    *begin = s->n / s->blocks * block + s->n % s->blocks * block / s->blocks;
    *end = s->n / s->blocks * (block + 1) + s->n % s->blocks * (block + 1) / s->blocks;
}

/* Places and tiles of points begin .. end-1, and how many each tile has; false if a point has no
   place. */
static bool find_block(const cpu *c, sorting *s, const void *const coordinates[], int64_t begin,
                       int64_t end, int64_t *count)
{
    bool good = true;
    for (int d = 0; d < c->layout.dim; d++)
        good &= locate(end - begin, (const real *)coordinates[d] + begin, c->layout.fine[d],
                       c->layout.width, s->start[d] + begin, s->t[d] + begin);
    for (int64_t j = begin; j < end; j++) {
        int32_t tile = 0;
        for (int d = c->layout.dim - 1; d >= 0; d--)
            tile = tile * c->n_tiles[d] + c->tile_of[d][s->start[d][j]];
        s->tile[j] = tile;
        count[tile]++;
    }
    return good;
}

static void find_tiles(cpu *c, sorting *s, const void *const coordinates[])
{
    bool bad = false;
    int64_t tiles = n_tiles(c);
#pragma omp parallel for num_threads(c->n_threads) schedule(static, 1) reduction(|| : bad)
    for (int64_t b = 0; b < s->blocks; b++) {
        int64_t begin, end, *count = s->counts + b * tiles;
        block_of(s, b, &begin, &end);
        memset(count, 0, sizeof *count * (size_t)tiles);
        bool good = find_block(c, s, coordinates, begin, end, count);
        bad = bad || !good;
    }
    c->bad_points = bad;
}

static void order_by_tile(const cpu *c, sorting *s)
{
    int64_t tiles = n_tiles(c), sum = 0;
    for (int64_t t = 0; t < tiles; t++) {
        s->begin[t] = sum;
        for (int64_t b = 0; b < s->blocks; b++) {
            int64_t here = s->counts[b * tiles + t];
            s->counts[b * tiles + t] = sum;
            sum += here;
        }
    }
    s->begin[tiles] = sum;
#pragma omp parallel for num_threads(c->n_threads) schedule(static, 1)
    for (int64_t b = 0; b < s->blocks; b++) {
        int64_t begin, end, *next = s->counts + b * tiles;
        block_of(s, b, &begin, &end);
        for (int64_t j = begin; j < end; j++)
            s->by_tile[next[s->tile[j]]++] = j;
    }
}

static void tile_box(const cpu *c, int64_t tile, int64_t origin[3], int64_t size[3])
{
    for (int d = 0; d < 3; d++) {
        int64_t i = tile % c->n_tiles[d];
        tile /= c->n_tiles[d];
        origin[d] = c->edges[d][i];
        size[d] = c->edges[d][i + 1] - c->edges[d][i];
    }
}

static inline uint32_t make_key(const cpu *c, const sorting *s, int64_t j, const int64_t origin[3])
{
    const cpu_layout *l = &c->layout;
    uint32_t at[3] = {0, 0, 0};
    for (int d = 0; d < l->dim; d++)
        at[d] = (uint32_t)(s->start[d][j] - (int32_t)origin[d]); /* NOLINT: dim is at most 3 */
    uint32_t ux = (uint32_t)l->unit_x, uy = (uint32_t)l->unit_y;
    uint32_t place = (at[2] << KEY_X_BITS | at[0] / ux) << KEY_Y_BITS | at[1] / uy;
    return (place << KEY_DX_BITS | at[0] % ux) << KEY_DY_BITS | at[1] % uy;
}

/* A thread's memory for sorting one tile. */
typedef struct tile_scratch {
    int64_t n_counts, n_places;
    int64_t *counts;
    uint32_t *keys;
    int64_t *by_tile;
} tile_scratch;

/* The index of a window among those of the tile. */
static inline int64_t window_index(uint32_t key, int64_t nx, int64_t ny)
{
    return (key_z(key) * nx + key_x(key)) * ny + key_y(key);
}

static void sort_tile(cpu *c, const sorting *s, int64_t tile, tile_scratch *w)
{
    const cpu_layout *l = &c->layout;
    int64_t origin[3], size[3], first = s->begin[tile], n = s->begin[tile + 1] - first;
    if (n == 0) return;
    tile_box(c, tile, origin, size);
    int64_t nx = (size[0] + l->unit_x - 1) / l->unit_x, ny = (size[1] + l->unit_y - 1) / l->unit_y;
    const int64_t *by_tile = s->by_tile + first;
    memset(w->counts, 0, sizeof *w->counts * (size_t)(nx * ny * size[2]));
    for (int64_t i = 0; i < n; i++) {
        w->keys[i] = make_key(c, s, by_tile[i], origin);
        w->counts[window_index(w->keys[i], nx, ny)]++;
    }
    for (int64_t i = 0, sum = first; i < nx * ny * size[2]; i++) {
        int64_t here = w->counts[i];
        w->counts[i] = sum;
        sum += here;
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t to = w->counts[window_index(w->keys[i], nx, ny)]++;
        for (int d = 0; d < l->dim; d++)
            c->points.t[d][to] = s->t[d][by_tile[i]];
        c->points.key[to] = w->keys[i];
        c->points.order[to] = by_tile[i];
    }
}

static void free_scratch(tile_scratch *w)
{
    free(w->counts);
    free(w->keys);
}

static bool make_scratch(const cpu *c, const sorting *s, tile_scratch *w)
{
    int64_t most = 0, windows = 1;
    for (int64_t t = 0; t < n_tiles(c); t++) {
        int64_t n = s->begin[t + 1] - s->begin[t];
        if (n > most) most = n;
    }
    for (int d = 0; d < 3; d++)
        windows *= c->layout.fine[d] / c->n_tiles[d] + 2;
    w->counts = malloc(sizeof *w->counts * (size_t)windows);
    w->keys = malloc(sizeof *w->keys * (size_t)(most + 1));
    return w->counts && w->keys;
}

static status sort_tiles(cpu *c, const sorting *s)
{
    bool failed = false;
    int64_t tiles = n_tiles(c);
#pragma omp parallel num_threads(c->n_threads) reduction(|| : failed)
    {
        tile_scratch w = {0};
        failed = !make_scratch(c, s, &w);
#pragma omp for schedule(dynamic, 1)
        for (int64_t t = 0; t < tiles; t++)
            if (!failed) sort_tile(c, s, t, &w);
        free_scratch(&w);
    }
    if (failed) FAIL(STATUS_RESOURCE, "no memory to sort %lld points", (long long)s->n);
    return STATUS_OK;
}

/* Points of a task at most; fixed by the problem alone, so that the result is. */
static int64_t task_limit(int64_t n)
{
    int64_t limit = n / 64;
    return limit < 4096 ? 4096 : limit > 32768 ? 32768 : limit;
}

static int colour_of(const cpu *c, int64_t tile)
{
    int colour = 0, weight = 1;
    for (int d = 0; d < 3; d++, weight *= 3) {
        int i = (int)(tile % c->n_tiles[d]);
        tile /= c->n_tiles[d];
        bool odd_one = c->n_tiles[d] > 1 && c->n_tiles[d] % 2 && i == c->n_tiles[d] - 1;
        colour += weight * (odd_one ? 2 : i % 2);
    }
    return colour;
}

static void find_extent(const cpu_points *p, cpu_task *t)
{
    t->x0 = t->y0 = INT32_MAX;
    t->x1 = t->y1 = 0;
    for (int64_t j = t->first; j < t->first + t->n; j++) {
        int x = key_x(p->key[j]), y = key_y(p->key[j]);
        t->x0 = x < t->x0 ? x : t->x0;
        t->x1 = x > t->x1 ? x : t->x1;
        t->y0 = y < t->y0 ? y : t->y0;
        t->y1 = y > t->y1 ? y : t->y1;
    }
    t->z0 = key_z(p->key[t->first]);
    t->z1 = key_z(p->key[t->first + t->n - 1]);
}

static void add_tasks(cpu *c, const sorting *s, int64_t tile)
{
    int64_t n = s->begin[tile + 1] - s->begin[tile], limit = task_limit(s->n);
    int64_t parts = (n + limit - 1) / limit;
    for (int64_t i = 0; i < parts; i++) {
        int64_t first = n * i / parts, end = n * (i + 1) / parts;
        cpu_task *t = &c->tasks[c->n_tasks++];
        *t = (cpu_task){.first = s->begin[tile] + first,
                        .n = end - first,
                        .shared = parts > 1,
                        .turn = (int)i,
                        .tile = (int)tile};
        tile_box(c, tile, t->origin, t->size);
    }
}

static status make_tasks(cpu *c, const sorting *s)
{
    int64_t tiles = n_tiles(c), most = tiles + s->n / task_limit(s->n) + 1;
    free(c->tasks);
    c->tasks = malloc(sizeof *c->tasks * (size_t)most);
    if (!c->tasks) FAIL(STATUS_RESOURCE, "out of host memory");
    c->n_tasks = 0;
    for (int colour = 0; colour < CPU_MAX_COLOURS; colour++) {
        c->colour_begin[colour] = c->n_tasks;
        for (int64_t t = 0; t < tiles; t++)
            if (colour_of(c, t) == colour) add_tasks(c, s, t);
    }
    c->colour_begin[CPU_MAX_COLOURS] = c->n_tasks;
    int64_t needed = 0;
#pragma omp parallel for num_threads(c->n_threads) reduction(max : needed)
    for (int64_t i = 0; i < c->n_tasks; i++) {
        cpu_buffer b;
        find_extent(&c->points, &c->tasks[i]);
        int64_t size = cpu_buffer_shape(&c->layout, &c->tasks[i], c->tasks[i].shared, &b);
        needed = size > needed ? size : needed;
    }
    c->scratch_size = (needed + 1023) / 1024 * 1024;
    return STATUS_OK;
}

static status reserve_sorting(const cpu *c, sorting *s)
{
    const int64_t tiles = n_tiles(c);
    const size_t n = (size_t)s->n + 1;
    s->tile = malloc(sizeof *s->tile * n);
    s->by_tile = malloc(sizeof *s->by_tile * n);
    s->counts = malloc(sizeof *s->counts * (size_t)(s->blocks * tiles));
    s->begin = malloc(sizeof *s->begin * (size_t)(tiles + 1));
    bool fits = s->tile && s->by_tile && s->counts && s->begin;
    for (int d = 0; d < c->layout.dim; d++) {
        s->start[d] = malloc(sizeof *s->start[d] * n);
        s->t[d] = malloc(sizeof *s->t[d] * n);
        fits = fits && s->start[d] && s->t[d];
    }
    if (!fits) FAIL(STATUS_RESOURCE, "no memory to sort %lld points", (long long)s->n);
    return STATUS_OK;
}

static void free_sorting(sorting *s)
{
    free(s->tile);
    free(s->by_tile);
    free(s->counts);
    free(s->begin);
    for (int d = 0; d < 3; d++) {
        free(s->start[d]);
        free(s->t[d]);
    }
}

static status run_sort(cpu *c, sorting *s, const void *const coordinates[])
{
    TRY(reserve_sorting(c, s));
    find_tiles(c, s, coordinates);
    order_by_tile(c, s);
    TRY(sort_tiles(c, s));
    return make_tasks(c, s);
}

static status set(cpu *c, int64_t n, const void *const coordinates[])
{
    c->layout.n_points = 0;
    c->n_tasks = 0;
    memset(c->colour_begin, 0, sizeof c->colour_begin);
    TRY(reserve(c, n));
    sorting s = {.n = n, .blocks = c->n_threads};
    status result = run_sort(c, &s, coordinates);
    free_sorting(&s);
    if (result != STATUS_OK) {
        c->n_tasks = 0;
        return result;
    }
    c->layout.n_points = n;
    return STATUS_OK;
}

const cpu_points_table PRECISE(cpu_points_table) = {create, destroy, set};
