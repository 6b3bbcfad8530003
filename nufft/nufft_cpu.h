/* nufft_cpu.h: what the CPU backend's files share; for nufft/nufft_cpu*.c only.

   The points are sorted into tiles of the fine grid, and within a tile by plane, then by window:
   all points of a window touch the same rows of vectors.  A task is a run of points of one tile.
   It works in a buffer of its own that holds the planes around the current one, so that the inner
   loops stay in the cache whatever the size of the grid.

   nufft_cpu.c        the backend's table, the loops over tasks
   nufft_cpu_points.c set_points: folding, sorting, tasks
   nufft_cpu_modes.c  transforms of the fine grid, deconvolution
   nufft_cpu_tile.c   the inner loops; compiled for every instruction set and precision
   nufft_cpu_isa_*.c  which of those this machine can run */
#ifndef NUFFT_CPU_H
#define NUFFT_CPU_H

#include <stdatomic.h>

#include "nufft/fft_lines.h"
#include "nufft/nufft_impl.h"

enum { CPU_COLUMNS = 16, CPU_MAX_COLOURS = 27 };

/* What a point's key holds, from the most significant bits: plane (8 bits) and window in x (10) and
   in y (8) within the tile, and the point's first cell within the window in x (4) and y (2). */
enum { KEY_DY_BITS = 2, KEY_DX_BITS = 4, KEY_Y_BITS = 8, KEY_X_BITS = 10, KEY_Z_BITS = 8 };
enum { KEY_WINDOW_SHIFT = KEY_DY_BITS + KEY_DX_BITS };

static inline int key_dy(uint32_t key)
{
    return (int)(key & ((1u << KEY_DY_BITS) - 1));
}

static inline int key_dx(uint32_t key)
{
    return (int)(key >> KEY_DY_BITS & ((1u << KEY_DX_BITS) - 1));
}

static inline int key_y(uint32_t key)
{
    return (int)(key >> KEY_WINDOW_SHIFT & ((1u << KEY_Y_BITS) - 1));
}

static inline int key_x(uint32_t key)
{
    return (int)(key >> (KEY_WINDOW_SHIFT + KEY_Y_BITS) & ((1u << KEY_X_BITS) - 1));
}

static inline int key_z(uint32_t key)
{
    return (int)(key >> (KEY_WINDOW_SHIFT + KEY_Y_BITS + KEY_X_BITS));
}

/* Geometry of the kernel's footprint and of the fine grid. */
typedef struct cpu_layout {
    int dim, width, n_terms;
    int parts;          /* reals per number on the fine grid: 2 complex, 1 real path */
    int unit_x, unit_y; /* cells by which windows are apart */
    int n_vectors;      /* vectors in a row of a window */
    int window_cells;   /* their cells */
    int rows, planes;   /* of a window */
    int64_t batch, n_points;
    int64_t fine[3];
    int64_t pitch, plane, grid; /* reals from one row, plane and vector to the next */
    real *coefficient;          /* [term][CPU_COLUMNS], 0 beyond the width */
} cpu_layout;

/* Sorted points. */
typedef struct cpu_points {
    real *t[3]; /* arguments of the polynomials, NaN if the coordinate is not finite */
    uint32_t *key;
    int64_t *order; /* the caller's index */
} cpu_points;

typedef struct cpu_task {
    int64_t first, n;
    int64_t origin[3], size[3]; /* of the tile, in cells */
    int x0, x1, y0, y1, z0, z1; /* first and last window in x and y, and plane */
    bool shared; /* the tile has several tasks: they add to the grid one after the other */
    int turn;    /* of those, this is number turn */
    int tile;
} cpu_task;

/* A task's buffer: slots of planes, slot of plane z = (z - z0) % slots. */
typedef struct cpu_buffer {
    real *memory;
    int64_t pitch, plane, volume; /* reals from row to row, plane to plane, vector to vector */
    int slots, n_rows, n_cells;   /* n_cells: of a row that are to be added to the grid */
    int next, end;                /* planes [next, end) are in use */
} cpu_buffer;

/* The inner loops for one instruction set; grid, values: the arrays of all vectors. */
typedef struct cpu_tiles {
    const char *name;
    int vector_bytes;
    /* Adds the task's points to the buffer, and finished planes to the grid unless shared.
       check[v] becomes NaN if a value of vector v is not finite. */
    void (*spread)(const cpu_layout *l, const cpu_points *p, const cpu_task *task, cpu_buffer *b,
                   const real *values, real *grid, real *check);
    /* Adds the planes in use to the grid. */
    void (*flush)(const cpu_layout *l, const cpu_task *task, cpu_buffer *b, real *grid);
    void (*interpolate)(const cpu_layout *l, const cpu_points *p, const cpu_task *task,
                        cpu_buffer *b, const real *grid, real *values);
} cpu_tiles;

#ifdef MTIP_SINGLE
#define CPU_TILES(isa) cpu_tiles_single_##isa
#else
#define CPU_TILES(isa) cpu_tiles_double_##isa
#endif

/* The best table of this machine, or the one that the environment's MTIP_CPU_KERNELS names. */
const cpu_tiles *PRECISE(cpu_choose_tiles)(void);

typedef struct cpu_passes cpu_passes;

typedef struct cpu {
    nufft_setup s;
    int n_threads;
    const cpu_tiles *tiles;
    cpu_layout layout;
    cpu_points points;
    cpu_passes *passes;
    real *factors[3]; /* [modes], in their order */
    real *grid;
    /* Tiles: their number and edges per dimension; tile_of[d][cell]. */
    int n_tiles[3];
    int64_t *edges[3];
    int32_t *tile_of[3];
    int64_t capacity; /* points there is memory for */
    int64_t n_tasks;
    cpu_task *tasks;                           /* sorted by colour */
    int64_t colour_begin[CPU_MAX_COLOURS + 1]; /* tasks of a colour never touch each other */
    atomic_int *turns;                         /* per tile: tasks done */
    int64_t scratch_size;                      /* reals a thread needs */
    real *scratch;
    real *check; /* [thread][batch and some room] */
    bool bad_points;
    bool *bad_values; /* [batch] */
} cpu;

typedef struct cpu_points_table {
    status (*create)(cpu *c);
    void (*destroy)(cpu *c);
    status (*set)(cpu *c, int64_t n, const void *const coordinates[]);
} cpu_points_table;

typedef struct cpu_modes_table {
    status (*create)(cpu *c);
    void (*destroy)(cpu *c);
    status (*transform)(cpu *c, bool adjoint);
    void (*extract)(cpu *c, real *modes);
    void (*insert)(cpu *c, const real *modes);
} cpu_modes_table;

extern const cpu_points_table PRECISE(cpu_points_table);
extern const cpu_modes_table PRECISE(cpu_modes_table);

/* Sets the buffer up for a task, but for its memory; returns the reals it needs. `deep` holds all
   planes of the task at once. Rows and cells beyond the reach of the tile's points belong to other
   tiles and are not moved. */
static inline int64_t cpu_buffer_shape(const cpu_layout *l, const cpu_task *t, bool deep,
                                       cpu_buffer *b)
{
    int64_t line = 64 / (int64_t)sizeof(real);
    int64_t cells = (int64_t)(t->x1 - t->x0) * l->unit_x + l->window_cells;
    int64_t rows = (int64_t)(t->y1 - t->y0) * l->unit_y + l->rows;
    int64_t reach_x = t->size[0] - (int64_t)t->x0 * l->unit_x + l->width - 1;
    int64_t reach_y = t->size[1] - (int64_t)t->y0 * l->unit_y + (l->dim > 1 ? l->width - 1 : 0);
    b->n_cells = (int)(cells < reach_x ? cells : reach_x);
    b->n_rows = (int)(rows < reach_y ? rows : reach_y);
    b->slots = deep ? t->z1 - t->z0 + l->planes : l->planes;
    b->pitch = (cells * l->parts + line - 1) / line * line;
    b->plane = b->pitch * rows;
    b->volume = b->plane * b->slots;
    b->next = b->end = t->z0;
    return b->volume * l->batch;
}

#endif
