/* kernels_cpu_cg.c: conjugate gradients on the CPU. */
#include "mtip/kernels.h"

enum { CHUNK = 4096 };

static double dot_chunk(int64_t n, const real *x, const real *y)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)y[i];
    return sum;
}

/* sum_i x[i] y[i] of two volumes, in a fixed order. */
static double dot(const device *dev, const cg_arrays *cg, const real *x, const real *y)
{
    const int64_t n = cube(cg->n), n_chunks = (n + CHUNK - 1) / CHUNK;
    double sum = 0;
#pragma omp parallel for num_threads(device_threads(dev)) schedule(static)
    for (int64_t c = 0; c < n_chunks; c++) {
        int64_t first = c * CHUNK, count = n - first < CHUNK ? n - first : CHUNK;
        cg->parts[c] = dot_chunk(count, x + first, y + first);
    }
    for (int64_t c = 0; c < n_chunks; c++)
        sum += cg->parts[c];
    return sum;
}

/* Where row (z, y) of a volume begins on the grid, less its x. */
static int64_t grid_row(const cg_arrays *cg, int64_t z, int64_t y)
{
    const int64_t n = cg->n, p = cg->p;
    return (wrapped(centred(z, n), p) * p + wrapped(centred(y, n), p)) * p;
}

static status direct(const device *dev, const cg_arrays *cg)
{
    const int64_t n = cg->n;
    const real ratio = (real)cg->scalars->ratio, *residual = cg->residual;
    real *direction = cg->direction, *padded = cg->padded;
    if (cg->scalars->done) return STATUS_OK;
#pragma omp parallel for num_threads(device_threads(dev)) schedule(static)
    for (int64_t z = 0; z < n; z++)
        for (int64_t y = 0; y < n; y++)
            for (int64_t x = 0; x < n; x++) {
                const int64_t i = (z * n + y) * n + x;
                direction[i] = residual[i] + ratio * direction[i];
                padded[grid_row(cg, z, y) + wrapped(centred(x, n), cg->p)] = direction[i];
            }
    return STATUS_OK;
}

static status product(const device *dev, const cg_arrays *cg)
{
    const int64_t n = cg->n;
    const real shift = (real)cg->scalars->shift;
    const real *grid = cg->grid, *support = cg->support, *direction = cg->direction;
    real *to = cg->product;
    if (cg->scalars->done) return STATUS_OK;
#pragma omp parallel for num_threads(device_threads(dev)) schedule(static)
    for (int64_t z = 0; z < n; z++)
        for (int64_t y = 0; y < n; y++)
            for (int64_t x = 0; x < n; x++) {
                const int64_t i = (z * n + y) * n + x;
                const real value = grid[grid_row(cg, z, y) + wrapped(centred(x, n), cg->p)];
                to[i] = shift * direction[i] + value * support[i];
            }
    cg->scalars->curvature = dot(dev, cg, direction, to);
    return STATUS_OK;
}

static status start(const device *dev, const cg_arrays *cg)
{
    const int64_t n = cube(cg->n);
    const real *b = cg->b, *by = cg->product;
    real *residual = cg->residual;
#pragma omp parallel for num_threads(device_threads(dev)) schedule(static)
    for (int64_t i = 0; i < n; i++)
        residual[i] = b[i] - by[i];
    cg_begin(cg->scalars, dot(dev, cg, b, b), dot(dev, cg, residual, residual));
    return STATUS_OK;
}

static status step(const device *dev, const cg_arrays *cg)
{
    const int64_t n = cube(cg->n);
    const real *direction = cg->direction, *by = cg->product;
    real *x = cg->x, *residual = cg->residual;
    cg_scalars *s = cg->scalars;
    s->done = !cg_goes_on(s);
    if (s->done) return STATUS_OK;
    const real a = (real)(s->r2 / s->curvature);
#pragma omp parallel for num_threads(device_threads(dev)) schedule(static)
    for (int64_t i = 0; i < n; i++) {
        x[i] = a * direction[i] + x[i];
        residual[i] = residual[i] - a * by[i];
    }
    cg_advance(s, dot(dev, cg, residual, residual));
    return STATUS_OK;
}

extern const cg_kernels PRECISE(cg_kernels_cpu);
const cg_kernels PRECISE(cg_kernels_cpu) = {direct, product, start, step, NULL, NULL};
