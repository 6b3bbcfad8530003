/* kernels_cuda_match.cu: slicing and matching on a GPU. */
#include "mtip/kernels_cuda.h"

static __global__ void rotate_points(int64_t n_pixels, const double *rotations, const real *s,
                                     real *x, real *y, real *z)
{
    const double *r = rotations + 9 * (int64_t)blockIdx.x;
    const int64_t p = column(), at = blockIdx.x * n_pixels + p;
    if (p >= n_pixels) return;
    double sx = (double)s[3 * p], sy = (double)s[3 * p + 1], sz = (double)s[3 * p + 2];
    x[at] = (real)(r[0] * sx + r[3] * sy + r[6] * sz);
    y[at] = (real)(r[1] * sx + r[4] * sy + r[7] * sz);
    z[at] = (real)(r[2] * sx + r[5] * sy + r[8] * sz);
}

static status rotate(const device *dev, int64_t n, const double *rotations, int64_t n_pixels,
                     const void *s, void *const out[3])
{
    void *matrices;
    TRY(upload(dev, 9 * n * (int64_t)sizeof(double), rotations, &matrices));
    return launch(dev, grid_of_rows(n, n_pixels), dim3(THREADS), rotate_points, n_pixels, matrices,
                  s, out[0], out[1], out[2]);
}

static __global__ void widen(int64_t n, const real *in, real *out)
{
    const int64_t i = element();
    if (i >= n) return;
    out[2 * i] = in[i];
    out[2 * i + 1] = 0;
}

static status complex_from_real(const device *dev, int64_t n, const void *in, void *out)
{
    return launch(dev, grid_of(n), dim3(THREADS), widen, n, in, out);
}

/* A block per row; the sums of a row are those of its threads, in a fixed order. */
static __global__ void operand_poisson(real floor, double total, const real *correction,
                                       const real *offset, int64_t n, const real *slices,
                                       real *rows, real *bias)
{
    const real *slice = slices + blockIdx.x * n;
    real *row = rows + blockIdx.x * n;
    double sum = 0;
    for (int64_t p = threadIdx.x; p < n; p += blockDim.x) {
        real expected = (slice[p] > floor ? slice[p] : floor) * correction[p];
        sum += (double)expected;
        row[p] = log_positive(expected) - offset[p];
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) bias[blockIdx.x] = (real)(sum - total);
}

/* whitening NULL: raw intensities, bias half their square; else rows of norm 1, bias 0. */
static __global__ void operand_linear(const real *correction, const real *whitening, int64_t n,
                                      const real *slices, real *rows, real *bias)
{
    __shared__ real scale;
    const real *slice = slices + blockIdx.x * n;
    real *row = rows + blockIdx.x * n;
    double sum = 0;
    for (int64_t p = threadIdx.x; p < n; p += blockDim.x) {
        real value = slice[p] * correction[p] * (whitening ? whitening[p] : 1);
        row[p] = value;
        sum += (double)value * (double)value;
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) {
        bias[blockIdx.x] = whitening ? (real)0 : (real)(sum / 2);
        scale = (real)(sum > 0 ? 1 / sqrt(sum) : 0);
    }
    __syncthreads();
    for (int64_t p = threadIdx.x; whitening && p < n; p += blockDim.x)
        row[p] *= scale;
}

static status operand(const device *dev, const operand_rule *rule, int64_t n_rows, int64_t n_pixels,
                      const void *slices, void *rows, void *bias)
{
    const dim3 grid((unsigned)n_rows), block(THREADS);
    if (rule->method == MATCH_EMC)
        return launch(dev, grid, block, operand_poisson, rule->floor, rule->total, rule->correction,
                      rule->offset, n_pixels, slices, rows, bias);
    const void *whitening = rule->method == MATCH_NCC ? rule->whitening : NULL;
    return launch(dev, grid, block, operand_linear, rule->correction, whitening, n_pixels, slices,
                  rows, bias);
}

static __global__ void take_bias(int64_t n, real *scores, int64_t ld, const real *coefficient,
                                 const real *bias)
{
    const int64_t r = column();
    if (r < n) scores[blockIdx.x * ld + r] -= coefficient[blockIdx.x] * bias[r];
}

static status subtract_bias(const device *dev, int64_t n_rows, int64_t n, void *scores, int64_t ld,
                            const void *coefficient, const void *bias)
{
    return launch(dev, grid_of_rows(n_rows, n), dim3(THREADS), take_bias, n, scores, ld,
                  coefficient, bias);
}

enum { LADDER_THREADS = 128, LADDER_WARPS = LADDER_THREADS / WARP };

/* Whether candidate (a, i) is chosen over (b, j): larger, or the first of equals. */
static __device__ bool better(real a, int64_t i, real b, int64_t j)
{
    return a > b || (a == b && i < j);
}

/* The largest of a row and where it stands, in all threads. */
static __device__ void row_best(int64_t n, const real *row, real *max, int64_t *best)
{
    __shared__ real values[LADDER_WARPS];
    __shared__ int64_t places[LADDER_WARPS];
    real value = row[0];
    int64_t place = 0;
    for (int64_t r = threadIdx.x; r < n; r += LADDER_THREADS)
        if (row[r] > value) value = row[r], place = r;
    for (int step = WARP / 2; step > 0; step /= 2) {
        real other = __shfl_xor_sync(~0u, value, step);
        int64_t there = __shfl_xor_sync(~0u, (long long)place, step);
        if (better(other, there, value, place)) value = other, place = there;
    }
    if (threadIdx.x % WARP == 0) {
        values[threadIdx.x / WARP] = value;
        places[threadIdx.x / WARP] = place;
    }
    __syncthreads();
    *max = values[0];
    *best = places[0];
    for (int w = 1; w < LADDER_WARPS; w++)
        if (better(values[w], places[w], *max, *best)) *max = values[w], *best = places[w];
}

/* Moves a rung's sums to a maximum that is larger by `rise`. */
static __device__ void raise_rung(double sums[3], double rise, double beta)
{
    const double factor = isinf(rise) ? 0 : exp(-beta * rise);
    if (!isinf(rise)) sums[1] -= rise * sums[0];
    for (int i = 0; i < 3; i++)
        sums[i] *= factor;
}

/* exp(x) for x <= 0. In single precision by the special function unit, which is several times as
   fast as arithmetic: the error is |x| units in the last place, where exp(x) weighs little. */
static __device__ real exp_fast(real x)
{
#ifdef MTIP_SINGLE
    return __expf(x);
#else
    return exp_negative(x);
#endif
}

/* A block per row: its maximum, then the sums of all rungs in one pass, each thread's in `real`
   and the block's in double. */
static __global__ void __launch_bounds__(LADDER_THREADS)
    climb(int64_t n, const real *scores, int64_t ld, int64_t first, const real *total, ladder state)
{
    __shared__ double parts[LADDER_WARPS][LADDER][3];
    const int64_t i = blockIdx.x;
    const real *row = scores + i * ld;
    const double before = state.max[i];
    real max, sums[LADDER][3];
    int64_t best;
    row_best(n, row, &max, &best); /* synchronises after the read of state.max */
    if ((double)max > before) {
        if (threadIdx.x == 0) {
            state.max[i] = (double)max;
            state.best[i] = first + best;
        }
    } else {
        max = (real)before;
    }
#pragma unroll
    for (int b = 0; b < LADDER; b++)
        sums[b][0] = sums[b][1] = sums[b][2] = 0;
    for (int64_t r = threadIdx.x; r < n; r += LADDER_THREADS) {
        const real d = row[r] - max, t = total[r];
        real beta = 1;
#pragma unroll
        for (int b = 0; b < LADDER; b++, beta /= 2) {
            const real w = exp_fast(beta * d);
            sums[b][0] += w;
            sums[b][1] += d * w;
            sums[b][2] += t * w;
        }
    }
#pragma unroll
    for (int b = 0; b < LADDER; b++)
        for (int k = 0; k < 3; k++) {
            double sum = (double)sums[b][k];
            for (int step = WARP / 2; step > 0; step /= 2)
                sum += __shfl_down_sync(~0u, sum, step);
            if (threadIdx.x % WARP == 0) parts[threadIdx.x / WARP][b][k] = sum;
        }
    __syncthreads();
    const int b = threadIdx.x;
    if (b >= LADDER) return;
    if ((double)max > before) raise_rung(state.sums[i][b], (double)max - before, ldexp(1.0, -b));
    for (int k = 0; k < 3; k++)
        for (int w = 0; w < LADDER_WARPS; w++)
            state.sums[i][b][k] += parts[w][b][k];
}

static status ladder_add(const device *dev, int64_t n_rows, int64_t n, const void *scores,
                         int64_t ld, int64_t first, const void *total, const ladder *state)
{
    if (n == 0) return STATUS_OK;
    return launch(dev, dim3((unsigned)n_rows), dim3(LADDER_THREADS), climb, n, scores, ld, first,
                  total, *state);
}

static __global__ void choose_rows(int64_t n_rows, int64_t n_images, ladder_rule rule, ladder state)
{
    const int64_t i = element();
    if (i < n_images)
        ladder_choose(&state, &rule, i);
    else if (i < n_rows)
        ladder_leave(&state, i);
}

static status choose(const device *dev, int64_t n_rows, int64_t n_images, const ladder_rule *rule,
                     const ladder *state)
{
    return launch(dev, grid_of(n_rows), dim3(THREADS), choose_rows, n_rows, n_images, *rule,
                  *state);
}

static __global__ void posterior_rows(int64_t n, const real *scores, int64_t ld, int64_t first,
                                      ladder state, real *out, int64_t ld_out)
{
    const int64_t r = column(), i = blockIdx.x;
    if (r >= n) return;
    if (state.beta[i] < 0) {
        out[i * ld_out + r] = first + r == state.best[i];
        return;
    }
    const real max = (real)state.max[i], beta = (real)state.beta[i], log_z = (real)state.log_z[i];
    const real exponent = beta * (scores[i * ld + r] - max) - log_z;
    out[i * ld_out + r] = exp_negative(exponent < 0 ? exponent : 0);
}

static status posterior(const device *dev, int64_t n_rows, int64_t n, const void *scores,
                        int64_t ld, int64_t first, const ladder *state, void *out, int64_t ld_out)
{
    return launch(dev, grid_of_rows(n_rows, n), dim3(THREADS), posterior_rows, n, scores, ld, first,
                  *state, out, ld_out);
}

enum { WEIGHT_ROWS = 128 };

/* A thread per column and WEIGHT_ROWS rows; integers add up to the same in any order. */
static __global__ void weigh(int64_t n_rows, int64_t n, const real *posterior, int64_t ld,
                             const real *fluence, int64_t *weights)
{
    const int64_t r = element(), from = blockIdx.y * (int64_t)WEIGHT_ROWS;
    const int64_t to = from + WEIGHT_ROWS < n_rows ? from + WEIGHT_ROWS : n_rows;
    if (r >= n) return;
    int64_t sum = 0;
    for (int64_t i = from; i < to; i++)
        sum += (int64_t)((double)posterior[i * ld + r] * ((double)fluence[i] * WEIGHT_SCALE));
    atomicAdd((unsigned long long *)weights + r, (unsigned long long)sum);
}

static status add_weights(const device *dev, int64_t n_rows, int64_t n, const void *posterior_rows,
                          int64_t ld, const void *fluence, int64_t *weights)
{
    const dim3 grid((unsigned)divide_up(n, THREADS), (unsigned)divide_up(n_rows, WEIGHT_ROWS));
    return launch(dev, grid, dim3(THREADS), weigh, n_rows, n, posterior_rows, ld, fluence, weights);
}

static __global__ void take(int64_t n, const int64_t *columns, const real *in, int64_t ld_in,
                            real *out, int64_t ld_out)
{
    const int64_t a = column(), i = blockIdx.x;
    if (a < n) out[i * ld_out + a] = in[i * ld_in + columns[a]];
}

static status take_columns(const device *dev, int64_t n_rows, int64_t n_columns,
                           const int64_t *columns, const void *in, int64_t ld_in, void *out,
                           int64_t ld_out)
{
    void *on_device;
    TRY(upload(dev, n_columns * (int64_t)sizeof *columns, columns, &on_device));
    return launch(dev, grid_of_rows(n_rows, n_columns), dim3(THREADS), take, n_columns, on_device,
                  in, ld_in, out, ld_out);
}

static __global__ void to_fixed(int64_t n, const real *in, double scale, int64_t *sum)
{
    const int64_t i = element();
    if (i < n) sum[i] += (int64_t)((double)in[i] * scale);
}

static status add_fixed(const device *dev, int64_t n, const void *in, double scale, int64_t *sum)
{
    return launch(dev, grid_of(n), dim3(THREADS), to_fixed, n, in, scale, sum);
}

static __global__ void to_real(int64_t n, const int64_t *sum, double scale, real *out)
{
    const int64_t i = element();
    if (i < n) out[i] = (real)((double)sum[i] / scale);
}

static status from_fixed(const device *dev, int64_t n, const int64_t *sum, double scale, void *out)
{
    return launch(dev, grid_of(n), dim3(THREADS), to_real, n, sum, scale, out);
}

static __global__ void spread(int64_t n_pixels, const double *weights, real *out)
{
    const int64_t p = column();
    if (p < n_pixels) out[blockIdx.x * n_pixels + p] = (real)weights[blockIdx.x];
}

static status spread_rows(const device *dev, int64_t n_rows, int64_t n_pixels,
                          const double *weights, void *out)
{
    void *on_device;
    TRY(upload(dev, n_rows * (int64_t)sizeof *weights, weights, &on_device));
    return launch(dev, grid_of_rows(n_rows, n_pixels), dim3(THREADS), spread, n_pixels, on_device,
                  out);
}

static __global__ void divide(int64_t n_pixels, const real *divisor, real *rows)
{
    const int64_t p = column();
    if (p < n_pixels) rows[blockIdx.x * n_pixels + p] /= divisor[p];
}

static status divide_rows(const device *dev, int64_t n_rows, int64_t n_pixels, const void *divisor,
                          void *rows)
{
    return launch(dev, grid_of_rows(n_rows, n_pixels), dim3(THREADS), divide, n_pixels, divisor,
                  rows);
}

extern "C" const match_kernels PRECISE(match_kernels_cuda);
extern "C" const match_kernels PRECISE(match_kernels_cuda) = {
    rotate,      complex_from_real, operand,   subtract_bias, ladder_add,  choose,      posterior,
    add_weights, take_columns,      add_fixed, from_fixed,    spread_rows, divide_rows,
};
