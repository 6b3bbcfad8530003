/* kernels_cpu_match.c: slicing and matching on the CPU. */
#include "core/integer.h"
#include "mtip/kernels.h"

#include <stdlib.h>

enum { COLUMN_BLOCK = 128 };

WIDEST_VECTORS
static void rotate_slice(const double r[9], int64_t n, const real *s, real *x, real *y, real *z)
{
    for (int64_t p = 0; p < n; p++) {
        double sx = (double)s[3 * p], sy = (double)s[3 * p + 1], sz = (double)s[3 * p + 2];
        x[p] = (real)(r[0] * sx + r[3] * sy + r[6] * sz);
        y[p] = (real)(r[1] * sx + r[4] * sy + r[7] * sz);
        z[p] = (real)(r[2] * sx + r[5] * sy + r[8] * sz);
    }
}

static status rotate(const device *dev, int64_t n, const double *rotations, int64_t n_pixels,
                     const void *s, void *const out[3])
{
#pragma omp parallel for num_threads(device_threads(dev)) schedule(static)
    for (int64_t i = 0; i < n; i++)
        rotate_slice(rotations + 9 * i, n_pixels, s, (real *)out[0] + i * n_pixels,
                     (real *)out[1] + i * n_pixels, (real *)out[2] + i * n_pixels);
    return STATUS_OK;
}

static status complex_from_real(const device *dev, int64_t n, const void *in, void *out)
{
    (void)dev;
    const real *from = in;
    real *to = out;
    for (int64_t i = 0; i < n; i++) {
        to[2 * i] = from[i];
        to[2 * i + 1] = 0;
    }
    return STATUS_OK;
}

/* Poisson: log of the expected counts less the offset; bias = expected total less a constant. */
WIDEST_VECTORS
static real operand_poisson(const operand_rule *rule, int64_t n, const real *slice, real *row)
{
    const real *correction = rule->correction, *offset = rule->offset;
    const real floor = (real)rule->floor;
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t p = 0; p < n; p++) {
        real expected = (slice[p] > floor ? slice[p] : floor) * correction[p];
        sum += (double)expected;
        row[p] = log_positive(expected) - offset[p];
    }
    return (real)(sum - rule->total);
}

WIDEST_VECTORS
static real operand_ncc(const operand_rule *rule, int64_t n, const real *slice, real *row)
{
    const real *correction = rule->correction, *whitening = rule->whitening;
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t p = 0; p < n; p++) {
        row[p] = slice[p] * correction[p] * whitening[p];
        sum += (double)row[p] * (double)row[p];
    }
    real scale = (real)(sum > 0 ? 1 / sqrt(sum) : 0);
    for (int64_t p = 0; p < n; p++)
        row[p] *= scale;
    return 0;
}

WIDEST_VECTORS
static real operand_l2(const operand_rule *rule, int64_t n, const real *slice, real *row)
{
    const real *correction = rule->correction;
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t p = 0; p < n; p++) {
        row[p] = slice[p] * correction[p];
        sum += (double)row[p] * (double)row[p];
    }
    return (real)(sum / 2);
}

static status operand(const device *dev, const operand_rule *rule, int64_t n_rows, int64_t n_pixels,
                      const void *slices, void *rows, void *bias)
{
#pragma omp parallel for num_threads(device_threads(dev)) schedule(static)
    for (int64_t r = 0; r < n_rows; r++) {
        const real *slice = (const real *)slices + r * n_pixels;
        real *row = (real *)rows + r * n_pixels;
        real *b = (real *)bias + r;
        if (rule->method == MATCH_EMC)
            *b = operand_poisson(rule, n_pixels, slice, row);
        else if (rule->method == MATCH_NCC)
            *b = operand_ncc(rule, n_pixels, slice, row);
        else
            *b = operand_l2(rule, n_pixels, slice, row);
    }
    return STATUS_OK;
}

static status subtract_bias(const device *dev, int64_t n_rows, int64_t n, void *scores, int64_t ld,
                            const void *coefficient, const void *bias)
{
    const real *b = bias;
#pragma omp parallel for num_threads(device_threads(dev)) schedule(static)
    for (int64_t i = 0; i < n_rows; i++) {
        real *row = (real *)scores + i * ld;
        real factor = ((const real *)coefficient)[i];
        for (int64_t r = 0; r < n; r++)
            row[r] -= factor * b[r];
    }
    return STATUS_OK;
}

static int64_t row_best(int64_t n, const real *row)
{
    int64_t best = 0;
    for (int64_t r = 1; r < n; r++)
        if (row[r] > row[best]) best = r;
    return best;
}

/* One rung: the sums z, u, e of this piece of the row. */
WIDEST_VECTORS
static void rung_sums(int64_t n, const real *row, real max, real beta, const real *total,
                      double sums[3])
{
    real z = 0, u = 0, e = 0;
#pragma omp simd reduction(+ : z, u, e)
    for (int64_t r = 0; r < n; r++) {
        real d = row[r] - max;
        real w = exp_negative(beta * d);
        z += w;
        u += d * w;
        e += total[r] * w;
    }
    sums[0] += (double)z;
    sums[1] += (double)u;
    sums[2] += (double)e;
}

/* Moves the sums of a row to a larger maximum. */
static void ladder_raise(double (*sums)[3], double old_max, double new_max)
{
    double rise = new_max - old_max, beta = 1;
    for (int b = 0; b < LADDER; b++) {
        double factor = isinf(rise) ? 0 : exp(-beta * rise);
        if (!isinf(rise)) sums[b][1] -= rise * sums[b][0];
        for (int i = 0; i < 3; i++)
            sums[b][i] *= factor;
        beta /= 2;
    }
}

static status ladder_add(const device *dev, int64_t n_rows, int64_t n, const void *scores,
                         int64_t ld, int64_t first, const void *total, const ladder *state)
{
    if (n == 0) return STATUS_OK;
#pragma omp parallel for num_threads(device_threads(dev)) schedule(static)
    for (int64_t i = 0; i < n_rows; i++) {
        const real *row = (const real *)scores + i * ld;
        int64_t best = row_best(n, row);
        double max = (double)row[best];
        if (max > state->max[i]) {
            ladder_raise(state->sums[i], state->max[i], max);
            state->max[i] = max;
            state->best[i] = first + best;
        }
        real beta = 1;
        for (int b = 0; b < LADDER; b++) {
            rung_sums(n, row, (real)state->max[i], beta, total, state->sums[i][b]);
            beta /= 2;
        }
    }
    return STATUS_OK;
}

static status choose(const device *dev, int64_t n_rows, int64_t n_images, const ladder_rule *rule,
                     const ladder *state)
{
#pragma omp parallel for num_threads(device_threads(dev)) schedule(static)
    for (int64_t i = 0; i < n_rows; i++)
        if (i < n_images)
            ladder_choose(state, rule, i);
        else
            ladder_leave(state, i);
    return STATUS_OK;
}

WIDEST_VECTORS
static void row_posterior(int64_t n, const real *row, real max, real beta, real log_z, real *out)
{
    for (int64_t r = 0; r < n; r++) {
        real exponent = beta * (row[r] - max) - log_z;
        out[r] = exp_negative(exponent < 0 ? exponent : 0);
    }
}

static status posterior(const device *dev, int64_t n_rows, int64_t n, const void *scores,
                        int64_t ld, int64_t first, const ladder *state, void *out, int64_t ld_out)
{
#pragma omp parallel for num_threads(device_threads(dev)) schedule(static)
    for (int64_t i = 0; i < n_rows; i++) {
        real *to = (real *)out + i * ld_out;
        if (state->beta[i] < 0) {
            for (int64_t r = 0; r < n; r++)
                to[r] = (real)(first + r == state->best[i]);
        } else {
            row_posterior(n, (const real *)scores + i * ld, (real)state->max[i],
                          (real)state->beta[i], (real)state->log_z[i], to);
        }
    }
    return STATUS_OK;
}

WIDEST_VECTORS
static void weights_row(int64_t n, const real *row, double fluence, int64_t *weights)
{
    for (int64_t r = 0; r < n; r++)
        weights[r] += (int64_t)((double)row[r] * fluence);
}

static status add_weights(const device *dev, int64_t n_rows, int64_t n, const void *posterior_rows,
                          int64_t ld, const void *fluence, int64_t *weights)
{
    const real *phi = fluence;
#pragma omp parallel for num_threads(device_threads(dev)) schedule(static)
    for (int64_t first = 0; first < n; first += COLUMN_BLOCK)
        for (int64_t i = 0; i < n_rows; i++)
            weights_row(smaller(COLUMN_BLOCK, n - first),
                        (const real *)posterior_rows + i * ld + first,
                        (double)phi[i] * WEIGHT_SCALE, weights + first);
    return STATUS_OK;
}

static status take_columns(const device *dev, int64_t n_rows, int64_t n_columns,
                           const int64_t *columns, const void *in, int64_t ld_in, void *out,
                           int64_t ld_out)
{
#pragma omp parallel for num_threads(device_threads(dev)) schedule(static)
    for (int64_t i = 0; i < n_rows; i++) {
        const real *from = (const real *)in + i * ld_in;
        real *to = (real *)out + i * ld_out;
        for (int64_t a = 0; a < n_columns; a++)
            to[a] = from[columns[a]];
    }
    return STATUS_OK;
}

static status add_fixed(const device *dev, int64_t n, const void *in, double scale, int64_t *sum)
{
    const real *from = in;
#pragma omp parallel for num_threads(device_threads(dev)) schedule(static)
    for (int64_t i = 0; i < n; i++)
        sum[i] += (int64_t)((double)from[i] * scale);
    return STATUS_OK;
}

static status from_fixed(const device *dev, int64_t n, const int64_t *sum, double scale, void *out)
{
    real *to = out;
#pragma omp parallel for num_threads(device_threads(dev)) schedule(static)
    for (int64_t i = 0; i < n; i++)
        to[i] = (real)((double)sum[i] / scale);
    return STATUS_OK;
}

static status spread_rows(const device *dev, int64_t n_rows, int64_t n_pixels,
                          const double *weights, void *out)
{
#pragma omp parallel for num_threads(device_threads(dev)) schedule(static)
    for (int64_t r = 0; r < n_rows; r++)
        for (int64_t p = 0; p < n_pixels; p++)
            ((real *)out)[r * n_pixels + p] = (real)weights[r];
    return STATUS_OK;
}

static status divide_rows(const device *dev, int64_t n_rows, int64_t n_pixels, const void *divisor,
                          void *rows)
{
    const real *by = divisor;
#pragma omp parallel for num_threads(device_threads(dev)) schedule(static)
    for (int64_t r = 0; r < n_rows; r++)
        for (int64_t p = 0; p < n_pixels; p++)
            ((real *)rows)[r * n_pixels + p] /= by[p];
    return STATUS_OK;
}

extern const match_kernels PRECISE(match_kernels_cpu);
const match_kernels PRECISE(match_kernels_cpu) = {
    rotate,      complex_from_real, operand,   subtract_bias, ladder_add,  choose,      posterior,
    add_weights, take_columns,      add_fixed, from_fixed,    spread_rows, divide_rows,
};
