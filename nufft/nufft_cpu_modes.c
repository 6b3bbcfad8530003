/* nufft_cpu_modes.c: from the fine grid to the modes and back.

   Only the lines that hold or need low frequencies are transformed: all in x, those of the kept
   columns in y, those of the kept columns and rows in z.  On the real path the fine grid is real,
   its transform keeps kx >= 0, and the other modes follow from F(-k) = conj F(k). */
#include "nufft/nufft_cpu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Indices of low frequencies along a dimension of the fine grid: [0, high) and [low, fine). */
typedef struct band {
    int64_t high, low, fine;
} band;

/* Plans for the columns [begin, begin + n) in chunks. */
typedef struct columns {
    int64_t begin, n, chunk;
    void *plan, *rest;
} columns;

/* The passes of one direction. */
typedef struct direction {
    fft_kind x_kind, kind; /* of the pass along x, and of those along y and z */
    void *x;               /* one row, or all rows of a plane in 3D */
    columns y[2], z[2];
} direction;

struct cpu_passes {
    const fft_lines_table *lines;
    band band[3];
    direction adjoint, forward;
};

static void destroy_direction(const fft_lines_table *lines, direction *d)
{
    lines->destroy(d->x);
    for (int i = 0; i < 2; i++) {
        lines->destroy(d->y[i].plan);
        lines->destroy(d->y[i].rest);
        lines->destroy(d->z[i].plan);
        lines->destroy(d->z[i].rest);
    }
}

static void destroy(cpu *c)
{
    if (!c->passes) return;
    destroy_direction(c->passes->lines, &c->passes->adjoint);
    destroy_direction(c->passes->lines, &c->passes->forward);
    free(c->passes);
}

static status make_columns(const cpu_passes *p, fft_kind kind, int64_t n, int64_t stride,
                           columns *made)
{
    fft_lines_shape shape = {1, {n, 1, 1}, {stride, 1, 1}, {stride, 1, 1}, made->chunk, 1, 1};
    if (made->n == 0) return STATUS_OK;
    made->plan = p->lines->create(kind, &shape, true, true);
    if (!made->plan) FAIL(STATUS_INTERNAL, "FFTW cannot plan this transform");
    shape.count = made->n % made->chunk;
    if (!shape.count) return STATUS_OK;
    made->rest = p->lines->create(kind, &shape, true, true);
    if (!made->rest) FAIL(STATUS_INTERNAL, "FFTW cannot plan this transform");
    return STATUS_OK;
}

static status make_direction(const cpu *c, cpu_passes *p, direction *d)
{
    const cpu_layout *l = &c->layout;
    int64_t row = l->pitch / 2, count = l->dim == 3 ? l->fine[1] : 1;
    int64_t in_step = d->x_kind == FFT_REAL_FORWARD ? l->pitch : row;
    int64_t out_step = d->x_kind == FFT_REAL_BACKWARD ? l->pitch : row;
    fft_lines_shape x = {1, {l->fine[0], 1, 1}, {1, 1, 1}, {1, 1, 1}, count, in_step, out_step};
    d->x = p->lines->create(d->x_kind, &x, true, true);
    if (!d->x) FAIL(STATUS_INTERNAL, "FFTW cannot plan this transform");
    /* The second range begins at an even column, which keeps the alignment. */
    int64_t low = p->band[0].low & ~(int64_t)1;
    columns ranges[2] = {{.begin = 0, .n = p->band[0].high}, {.begin = low, .n = l->fine[0] - low}};
    if (c->s.real) ranges[1].n = 0;
    for (int i = 0; i < 2; i++) {
        d->y[i] = d->z[i] = ranges[i];
        d->y[i].chunk = l->dim == 2 ? 16 : ranges[i].n;
        d->z[i].chunk = ranges[i].n;
        if (l->dim > 1) TRY(make_columns(p, d->kind, l->fine[1], row, &d->y[i]));
        if (l->dim > 2) TRY(make_columns(p, d->kind, l->fine[2], l->plane / 2, &d->z[i]));
    }
    return STATUS_OK;
}

static status create(cpu *c)
{
    cpu_passes *p = calloc(1, sizeof *p);
    if (!p) FAIL(STATUS_RESOURCE, "out of host memory");
    c->passes = p;
    p->lines = fft_lines_for(REAL_PRECISION);
    for (int d = 0; d < 3; d++) {
        int64_t n = c->s.modes[d], fine = c->layout.fine[d];
        p->band[d] = (band){(n + 1) / 2, fine - n / 2, fine};
        if (c->s.real && n > 1) p->band[d].high = n / 2 + 1;
    }
    p->adjoint.kind = p->adjoint.x_kind = c->s.sign > 0 ? FFT_FORWARD : FFT_BACKWARD;
    p->forward.kind = p->forward.x_kind = c->s.sign > 0 ? FFT_BACKWARD : FFT_FORWARD;
    if (c->s.real) { /* the other sign is left to extract and insert */
        p->adjoint.x_kind = FFT_REAL_FORWARD, p->adjoint.kind = FFT_FORWARD;
        p->forward.x_kind = FFT_REAL_BACKWARD, p->forward.kind = FFT_BACKWARD;
    }
    TRY(make_direction(c, p, &p->adjoint));
    return make_direction(c, p, &p->forward);
}

static void run_columns(const cpu_passes *p, const direction *d, const columns *k, real *base)
{
    for (int64_t done = 0; done < k->n; done += k->chunk) {
        real *at = base + 2 * (k->begin + done);
        p->lines->run(k->n - done < k->chunk ? k->rest : k->plan, d->kind, at, at);
    }
}

/* One plane: x lines and y columns, in the order of the direction. */
static void run_plane(const cpu_passes *p, const direction *d, bool adjoint, real *plane)
{
    if (adjoint) p->lines->run(d->x, d->x_kind, plane, plane);
    run_columns(p, d, &d->y[0], plane);
    run_columns(p, d, &d->y[1], plane);
    if (!adjoint) p->lines->run(d->x, d->x_kind, plane, plane);
}

static void run_planes(cpu *c, const direction *d, bool adjoint)
{
    const cpu_layout *l = &c->layout;
#pragma omp parallel for num_threads(c->n_threads) schedule(static)
    for (int64_t i = 0; i < l->batch * l->fine[2]; i++)
        run_plane(c->passes, d, adjoint,
                  c->grid + i / l->fine[2] * l->grid + i % l->fine[2] * l->plane);
}

/* The z lines of the kept rows. */
static void run_z(cpu *c, const direction *d)
{
    const cpu_layout *l = &c->layout;
    const band *b = &c->passes->band[1];
    int64_t kept = b->high + b->fine - b->low;
#pragma omp parallel for num_threads(c->n_threads) schedule(static)
    for (int64_t i = 0; i < l->batch * kept; i++) {
        int64_t y = i % kept < b->high ? i % kept : i % kept - b->high + b->low;
        real *row = c->grid + i / kept * l->grid + y * l->pitch;
        run_columns(c->passes, d, &d->z[0], row);
        run_columns(c->passes, d, &d->z[1], row);
    }
}

/* In one and two dimensions rows are shared out in x, chunks of columns in y. */
static void run_rows(cpu *c, const direction *d)
{
    const cpu_layout *l = &c->layout;
#pragma omp parallel for num_threads(c->n_threads) schedule(static)
    for (int64_t i = 0; i < l->batch * l->fine[1]; i++) {
        real *row = c->grid + i / l->fine[1] * l->grid + i % l->fine[1] * l->pitch;
        c->passes->lines->run(d->x, d->x_kind, row, row);
    }
}

static void run_chunks(cpu *c, const direction *d)
{
    const cpu_layout *l = &c->layout;
    for (int r = 0; r < 2 && l->dim == 2; r++) {
        const columns *k = &d->y[r];
        int64_t chunks = (k->n + k->chunk - 1) / (k->chunk ? k->chunk : 1);
#pragma omp parallel for num_threads(c->n_threads) schedule(static)
        for (int64_t i = 0; i < l->batch * chunks; i++) {
            columns one = *k;
            one.begin += i % chunks * k->chunk;
            one.n = k->n - i % chunks * k->chunk;
            if (one.n > k->chunk) one.n = k->chunk;
            run_columns(c->passes, d, &one, c->grid + i / chunks * l->grid);
        }
    }
}

static status transform(cpu *c, bool adjoint)
{
    const direction *d = adjoint ? &c->passes->adjoint : &c->passes->forward;
    if (c->layout.dim == 3) {
        if (!adjoint) run_z(c, d);
        run_planes(c, d, adjoint);
        if (adjoint) run_z(c, d);
    } else {
        if (!adjoint) run_chunks(c, d);
        run_rows(c, d);
        if (adjoint) run_chunks(c, d);
    }
    return STATUS_OK;
}

static inline int64_t fine_index(int64_t k, int64_t fine)
{
    return k < 0 ? k + fine : k;
}

static inline real *grid_row(const cpu *c, int64_t v, int64_t ky, int64_t kz)
{
    const cpu_layout *l = &c->layout;
    return c->grid + v * l->grid + fine_index(kz, l->fine[2]) * l->plane +
           fine_index(ky, l->fine[1]) * l->pitch;
}

/* Mode indices of one row of one vector. */
typedef struct row_place {
    int64_t v, y, z, ky, kz;
} row_place;

static row_place row_at(const cpu *c, int64_t i)
{
    int64_t ny = c->s.modes[1], nz = c->s.modes[2];
    row_place r = {i / (ny * nz), i % ny, i / ny % nz, 0, 0};
    r.ky = r.y - ny / 2;
    r.kz = r.z - nz / 2;
    return r;
}

static void extract_row(const cpu *c, int64_t i, real *row)
{
    row_place r = row_at(c, i);
    int64_t n = c->s.modes[0], fine = c->layout.fine[0];
    const real *at = grid_row(c, r.v, r.ky, r.kz);
    const real *mirror = c->s.real ? grid_row(c, r.v, -r.ky, -r.kz) : NULL;
    real factor = c->factors[1][r.y] * c->factors[2][r.z];
    real flip = c->s.real && c->s.sign < 0 ? -1 : 1;
    for (int64_t x = 0; x < n; x++) {
        int64_t k = x - n / 2;
        bool mirrored = c->s.real && k < 0;
        const real *from = mirrored ? mirror - 2 * k : at + 2 * fine_index(k, fine);
        real f = factor * c->factors[0][x];
        row[2 * x] = f * from[0];
        row[2 * x + 1] = (mirrored ? -f : f) * flip * from[1];
    }
}

static void extract(cpu *c, real *modes)
{
    int64_t n = c->s.modes[0], rows = c->s.modes[1] * c->s.modes[2];
#pragma omp parallel for num_threads(c->n_threads) schedule(static)
    for (int64_t i = 0; i < rows * c->layout.batch; i++) {
        real *row = modes + 2 * i * n;
        extract_row(c, i, row);
        if (c->bad_points || c->bad_values[i / rows])
            for (int64_t x = 0; x < 2 * n; x++)
                row[x] = (real)NAN;
    }
}

static void insert_row(const cpu *c, int64_t i, const real *row)
{
    row_place r = row_at(c, i);
    int64_t n = c->s.modes[0], fine = c->layout.fine[0];
    real *at = grid_row(c, r.v, r.ky, r.kz), factor = c->factors[1][r.y] * c->factors[2][r.z];
    for (int64_t x = 0; x < n; x++) {
        real f = factor * c->factors[0][x], *to = at + 2 * fine_index(x - n / 2, fine);
        to[0] = f * row[2 * x];
        to[1] = f * row[2 * x + 1];
    }
}

/* Mode k of vector v times its factor, 0 outside of the modes; the real path's kx >= 0 half needs
   (F(k) + conj F(-k)) / 2. */
static inline void add_half(const cpu *c, const real *modes, int64_t v, const int64_t k[3], real im,
                            real *to)
{
    int64_t i[3];
    for (int d = 0; d < 3; d++) {
        i[d] = k[d] + c->s.modes[d] / 2;
        if (i[d] < 0 || i[d] >= c->s.modes[d]) return;
    }
    const real *from =
        modes + 2 * (((v * c->s.modes[2] + i[2]) * c->s.modes[1] + i[1]) * c->s.modes[0] + i[0]);
    real f = (real)0.5 * c->factors[0][i[0]] * c->factors[1][i[1]] * c->factors[2][i[2]];
    to[0] += f * from[0];
    to[1] += f * im * from[1];
}

/* Row (ky, kz) of the half spectrum of vector v; `rows` counts ky and kz from -N/2 to N/2. */
static void insert_half_row(const cpu *c, int64_t i, const real *modes)
{
    int64_t hx = c->s.modes[0] / 2, hy = c->s.modes[1] / 2, hz = c->s.modes[2] / 2;
    int64_t ny = 2 * hy + 1, nz = 2 * hz + 1;
    int64_t v = i / (ny * nz), ky = i % ny - hy, kz = i / ny % nz - hz;
    real *to = grid_row(c, v, ky, kz), flip = (real)c->s.sign;
    for (int64_t kx = 0; kx <= hx; kx++) {
        int64_t k[3] = {kx, ky, kz}, opposite[3] = {-kx, -ky, -kz};
        add_half(c, modes, v, k, flip, to + 2 * kx);
        add_half(c, modes, v, opposite, -flip, to + 2 * kx);
    }
}

static void insert(cpu *c, const real *modes)
{
    const cpu_layout *l = &c->layout;
    int64_t rows = c->s.modes[1] * c->s.modes[2], half = 1;
    for (int d = 1; d < 3; d++)
        half *= 2 * (c->s.modes[d] / 2) + 1;
#pragma omp parallel num_threads(c->n_threads)
    {
#pragma omp for schedule(static)
        for (int64_t i = 0; i < l->batch * l->fine[2]; i++)
            memset(c->grid + i / l->fine[2] * l->grid + i % l->fine[2] * l->plane, 0,
                   sizeof(real) * (size_t)l->plane);
#pragma omp for schedule(static)
        for (int64_t i = 0; i < (c->s.real ? half : rows) * l->batch; i++) {
            if (c->s.real)
                insert_half_row(c, i, modes);
            else
                insert_row(c, i, modes + 2 * i * c->s.modes[0]);
        }
    }
}

const cpu_modes_table PRECISE(cpu_modes_table) = {create, destroy, transform, extract, insert};
