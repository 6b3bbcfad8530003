/* nufft_cpu.c: the steps of the transform in host memory. */
#include "nufft/nufft_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "nufft/fft.h"
#include "nufft/fold.h"

typedef struct cpu {
    nufft_setup s;
    int n_threads;
    int64_t n_modes, n_fine, n_points;
    real *factors[3]; /* per index of the modes */
    real *grid;       /* [batch][z][y][x] complex */
    fft *adjoint, *forward;
    int32_t *start[3];
    real *offset[3]; /* t in [-1, 1); NaN for a point that is not finite */
    bool bad_points;
} cpu;

static void destroy(void *state)
{
    cpu *c = state;
    if (!c) return;
    for (int d = 0; d < 3; d++) {
        free(c->factors[d]);
        free(c->start[d]);
        free(c->offset[d]);
    }
    device_free(c->s.dev, c->grid);
    fft_destroy(c->adjoint);
    fft_destroy(c->forward);
    free(c);
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

static status create(const nufft_setup *setup, void **state)
{
    status result = STATUS_OK;
    *state = NULL;
    cpu *c = calloc(1, sizeof *c);
    if (!c) FAIL(STATUS_RESOURCE, "out of host memory");
    c->s = *setup;
    c->n_threads = device_threads(setup->dev);
    c->n_modes = setup->modes[0] * setup->modes[1] * setup->modes[2];
    c->n_fine = setup->fine[0] * setup->fine[1] * setup->fine[2];
    for (int d = 0; d < 3; d++)
        TRY_OR(fail, make_factors(c, d));
    TRY_OR(fail, device_alloc(setup->dev, 2 * c->n_fine * setup->batch * (int64_t)sizeof(real),
                              (void **)&c->grid));
    fft_kind adjoint = setup->sign > 0 ? FFT_FORWARD : FFT_BACKWARD;
    fft_kind forward = setup->sign > 0 ? FFT_BACKWARD : FFT_FORWARD;
    TRY_OR(fail, fft_create(setup->dev, REAL_PRECISION, adjoint, setup->dim, setup->fine,
                            setup->batch, true, &c->adjoint));
    TRY_OR(fail, fft_create(setup->dev, REAL_PRECISION, forward, setup->dim, setup->fine,
                            setup->batch, true, &c->forward));
    *state = c;
    return STATUS_OK;
fail:
    destroy(c);
    return result;
}

/* The first cell the kernel touches and the argument of its polynomials. */
static bool locate(double x, int64_t fine, int width, int32_t *start, real *offset)
{
    double high, low;
    turns_of(x, &high, &low);
    double cells = high * (double)fine;
    double rest = fma(high, (double)fine, -cells) + low * (double)fine;
    double whole = rint(cells), u = (cells - whole) + rest - 0.5 * width;
    double first = ceil(u);
    double t = 2 * (first - u) - 1;
    if (!(t >= -1 && t <= 1)) {
        *start = 0;
        *offset = (real)NAN;
        return false;
    }
    int64_t s = ((int64_t)whole + (int64_t)first) % fine;
    *start = (int32_t)(s < 0 ? s + fine : s);
    *offset = (real)t;
    return true;
}

static status set_points(void *state, int64_t n, const void *const coordinates[])
{
    cpu *c = state;
    c->n_points = 0;
    c->bad_points = false;
    bool bad = false;
    for (int d = 0; d < c->s.dim; d++) {
        free(c->start[d]);
        free(c->offset[d]);
        c->start[d] = malloc(sizeof(int32_t) * (size_t)(n + 1));
        c->offset[d] = malloc(sizeof(real) * (size_t)(n + 1));
        if (!c->start[d] || !c->offset[d])
            FAIL(STATUS_RESOURCE, "no memory for %lld points", (long long)n);
        const real *x = coordinates[d];
#pragma omp parallel for num_threads(c->n_threads) reduction(|| : bad)
        for (int64_t j = 0; j < n; j++)
            if (!locate((double)x[j], c->s.fine[d], c->s.window.width, &c->start[d][j],
                        &c->offset[d][j]))
                bad = true;
    }
    c->bad_points = bad;
    c->n_points = n;
    return STATUS_OK;
}

/* Kernel values and wrapped indices of one point. */
typedef struct footprint {
    int n[3];
    real weight[3][WINDOW_MAX_WIDTH];
    int64_t index[3][WINDOW_MAX_WIDTH];
} footprint;

static void make_footprint(const cpu *c, int64_t j, footprint *f)
{
    const window *w = &c->s.window;
    for (int d = 0; d < 3; d++) {
        f->n[d] = d < c->s.dim ? w->width : 1;
        f->weight[d][0] = 1;
        f->index[d][0] = 0;
        if (d >= c->s.dim) continue;
        real t = c->offset[d][j];
        for (int i = 0; i < w->width; i++) {
            real sum = 0;
            for (int m = w->n_terms - 1; m >= 0; m--)
                sum = sum * t + (real)w->coefficient[m][i];
            f->weight[d][i] = sum;
            f->index[d][i] = (c->start[d][j] + i) % c->s.fine[d];
        }
    }
}

static void spread_point(const cpu *c, const footprint *f, const real value[2], real *grid)
{
    for (int z = 0; z < f->n[2]; z++)
        for (int y = 0; y < f->n[1]; y++) {
            real *row = grid + 2 * (f->index[2][z] * c->s.fine[1] + f->index[1][y]) * c->s.fine[0];
            real a = f->weight[2][z] * f->weight[1][y];
            for (int x = 0; x < f->n[0]; x++) {
                row[2 * f->index[0][x]] += value[0] * a * f->weight[0][x];
                row[2 * f->index[0][x] + 1] += value[1] * a * f->weight[0][x];
            }
        }
}

static status spread(void *state, const void *values)
{
    cpu *c = state;
    memset(c->grid, 0, sizeof(real) * (size_t)(2 * c->n_fine * c->s.batch));
    footprint f;
    for (int64_t j = 0; j < c->n_points; j++) {
        make_footprint(c, j, &f);
        for (int64_t v = 0; v < c->s.batch; v++) {
            int64_t at = v * c->n_points + j;
            const real *from = values;
            real value[2] = {0, 0};
            value[0] = c->s.real ? from[at] : from[2 * at];
            if (!c->s.real) value[1] = from[2 * at + 1];
            if (!isfinite(value[0]) || !isfinite(value[1])) value[0] = value[1] = (real)NAN;
            spread_point(c, &f, value, c->grid + 2 * v * c->n_fine);
        }
    }
    return STATUS_OK;
}

static void interpolate_point(const cpu *c, const footprint *f, const real *grid, real value[2])
{
    value[0] = value[1] = 0;
    for (int z = 0; z < f->n[2]; z++)
        for (int y = 0; y < f->n[1]; y++) {
            const real *row =
                grid + 2 * (f->index[2][z] * c->s.fine[1] + f->index[1][y]) * c->s.fine[0];
            real re = 0, im = 0, a = f->weight[2][z] * f->weight[1][y];
            for (int x = 0; x < f->n[0]; x++) {
                re += row[2 * f->index[0][x]] * f->weight[0][x];
                im += row[2 * f->index[0][x] + 1] * f->weight[0][x];
            }
            value[0] += a * re;
            value[1] += a * im;
        }
}

static status interpolate(void *state, void *values)
{
    cpu *c = state;
#pragma omp parallel for num_threads(c->n_threads) schedule(static)
    for (int64_t j = 0; j < c->n_points; j++) {
        footprint f;
        make_footprint(c, j, &f);
        for (int64_t v = 0; v < c->s.batch; v++) {
            int64_t at = v * c->n_points + j;
            real *to = values, value[2];
            interpolate_point(c, &f, c->grid + 2 * v * c->n_fine, value);
            if (c->s.real) {
                to[at] = value[0];
            } else {
                to[2 * at] = value[0];
                to[2 * at + 1] = value[1];
            }
        }
    }
    return STATUS_OK;
}

static status run_fft(void *state, bool adjoint)
{
    cpu *c = state;
    return fft_run(adjoint ? c->adjoint : c->forward, c->grid, c->grid);
}

/* Where mode index i of dimension d stands on the fine grid. */
static int64_t fine_index(const cpu *c, int d, int64_t i)
{
    int64_t k = i - c->s.modes[d] / 2;
    return k < 0 ? k + c->s.fine[d] : k;
}

/* Copies the row of modes (y, z) from or to the fine grid with the factors of deconvolution. */
static void copy_row(const cpu *c, int64_t y, int64_t z, real *row, real *grid, bool extract)
{
    real factor = c->factors[1][y] * c->factors[2][z];
    real *fine =
        grid + 2 * (fine_index(c, 2, z) * c->s.fine[1] + fine_index(c, 1, y)) * c->s.fine[0];
    for (int64_t x = 0; x < c->s.modes[0]; x++) {
        real f = factor * c->factors[0][x];
        real *at = fine + 2 * fine_index(c, 0, x);
        for (int i = 0; i < 2; i++) {
            if (extract)
                row[2 * x + i] = f * at[i];
            else
                at[i] = f * row[2 * x + i];
        }
    }
}

static void copy_modes(cpu *c, real *modes, bool extract)
{
    int64_t rows = c->s.modes[1] * c->s.modes[2];
#pragma omp parallel for num_threads(c->n_threads) schedule(static)
    for (int64_t i = 0; i < rows * c->s.batch; i++) {
        int64_t v = i / rows, y = i % c->s.modes[1], z = i % rows / c->s.modes[1];
        copy_row(c, y, z, modes + 2 * i * c->s.modes[0], c->grid + 2 * v * c->n_fine, extract);
    }
}

static status extract(void *state, void *modes)
{
    cpu *c = state;
    copy_modes(c, modes, true);
    if (c->bad_points)
        for (int64_t i = 0; i < 2 * c->n_modes * c->s.batch; i++)
            ((real *)modes)[i] = (real)NAN;
    return STATUS_OK;
}

static status insert(void *state, const void *modes)
{
    cpu *c = state;
    memset(c->grid, 0, sizeof(real) * (size_t)(2 * c->n_fine * c->s.batch));
    copy_modes(c, (real *)(uintptr_t)modes, false);
    return STATUS_OK;
}

static int64_t bytes(const void *state)
{
    const cpu *c = state;
    int64_t point = (int64_t)(sizeof(real) + sizeof(int32_t)) * c->s.dim;
    return 2 * c->n_fine * c->s.batch * (int64_t)sizeof(real) + point * c->n_points;
}

static double seconds(const void *state)
{
    (void)state;
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

const nufft_backend PRECISE(nufft_cpu) = {create,  destroy, set_points, spread, interpolate,
                                          run_fft, extract, insert,     bytes,  seconds};
