#include "bench_nufft_data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <omp.h>

static const double PI = 3.14159265358979323846;

static double random_number(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u); /* splitmix64 */
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return (double)(z >> 11) * 0x1p-52 - 1;
}

static double rounded(double x, precision p)
{
    return p == PRECISION_SINGLE ? (double)(float)x : x;
}

/* A random rotation from a unit quaternion with normal components. */
static void random_rotation(uint64_t *seed, double r[3][3])
{
    double q[4], norm;
    do {
        norm = 0;
        for (int i = 0; i < 4; i++) {
            q[i] = random_number(seed);
            norm += q[i] * q[i];
        }
    } while (norm > 1 || norm < 1e-3);
    double w = q[0] / sqrt(norm), x = q[1] / sqrt(norm), y = q[2] / sqrt(norm),
           z = q[3] / sqrt(norm);
    const double matrix[3][3] = {
        {1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)},
        {2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)},
        {2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)}};
    memcpy(r, matrix, sizeof matrix);
}

/* Slices of the Ewald sphere: a flat square detector of n x n pixels whose corner pixels' centres
   stand at |q| = pi (1 - 1e-6); the wave number is 3 times that; one rotation per n^2 points. */
static void make_ewald(bench_problem *b)
{
    int64_t n = b->modes[0] <= 41 ? 32 : 128;
    uint64_t seed = 5;
    double most = PI * (1 - 1e-6), k = 3 * most;
    /* 2 k sin(theta/2) = most at the corner; tan(theta) = its distance from the centre. */
    double corner = tan(2 * asin(most / (2 * k))), half = corner / sqrt(2.0), r[3][3];
    for (int64_t j = 0; j < b->n_points; j++) {
        if (j % (n * n) == 0) random_rotation(&seed, r);
        double u = half * (2.0 * (double)(j % n) / (double)(n - 1) - 1);
        double v = half * (2.0 * (double)(j / n % n) / (double)(n - 1) - 1);
        double length = sqrt(u * u + v * v + 1);
        double q[3] = {k * u / length, k * v / length, k * (1 / length - 1)};
        for (int d = 0; d < b->dim; d++)
            b->x[d][j] = r[d][0] * q[0] + r[d][1] * q[1] + r[d][2] * q[2];
    }
}

static void make_points(bench_points kind, precision p, bench_problem *b)
{
    uint64_t seed = 7;
    if (kind == BENCH_EWALD) make_ewald(b);
    for (int64_t j = 0; j < b->n_points; j++)
        for (int d = 0; d < b->dim; d++) {
            double r = random_number(&seed);
            if (kind == BENCH_RANDOM) b->x[d][j] = PI * r;
            /* all within four cells of a fine grid of twice the modes */
            if (kind == BENCH_CLUSTER) b->x[d][j] = 1 + 2 * PI * r / (double)b->modes[d];
            b->x[d][j] = rounded(b->x[d][j], p);
        }
}

status bench_problem_make(bench_points kind, precision p, bench_problem *b)
{
    uint64_t seed = 11;
    b->n_modes = b->modes[0] * b->modes[1] * b->modes[2];
    for (int d = 0; d < b->dim; d++)
        b->x[d] = calloc((size_t)(b->n_points + 1), sizeof(double));
    b->f = malloc(2 * sizeof(double) * (size_t)b->n_modes);
    b->c = malloc(2 * sizeof(double) * (size_t)(b->n_points + 1));
    bool fits = b->f && b->c;
    for (int d = 0; d < b->dim; d++)
        fits = fits && b->x[d];
    if (!fits) FAIL(STATUS_RESOURCE, "no memory for %lld points", (long long)b->n_points);
    make_points(kind, p, b);
    for (int64_t i = 0; i < 2 * b->n_modes; i++)
        b->f[i] = rounded(random_number(&seed), p);
    for (int64_t j = 0; j < 2 * b->n_points; j++)
        b->c[j] = b->real && j % 2 ? 0 : rounded(random_number(&seed), p);
    return STATUS_OK;
}

void bench_problem_free(bench_problem *b)
{
    for (int d = 0; d < 3; d++)
        free(b->x[d]);
    free(b->f);
    free(b->c);
}

/* Some of the points, as a problem of their own, and the sums there. */
static double error_at_points(const bench_problem *b, const double *result, int n)
{
    double *x[3] = {NULL, NULL, NULL}, *exact = malloc(2 * sizeof(double) * (size_t)n);
    int64_t *chosen = malloc(sizeof *chosen * (size_t)n);
    uint64_t seed = 13;
    double error = 0, norm = 0;
    for (int i = 0; i < n; i++)
        chosen[i] = (int64_t)((0.5 + 0.5 * random_number(&seed)) * (double)b->n_points);
    for (int d = 0; d < b->dim; d++) {
        x[d] = malloc(sizeof(double) * (size_t)n);
        for (int i = 0; i < n; i++)
            x[d][i] = b->x[d][chosen[i]];
    }
    const double *at[3] = {x[0], x[1], x[2]};
    nufft_direct_forward(b->dim, b->modes, b->sign, n, at, b->f, exact);
    for (int i = 0; i < n; i++) {
        double re = exact[2 * i], im = b->real ? 0 : exact[2 * i + 1];
        error += pow(result[2 * chosen[i]] - re, 2) + pow(result[2 * chosen[i] + 1] - im, 2);
        norm += re * re + im * im;
    }
    for (int d = 0; d < 3; d++)
        free(x[d]);
    free(exact);
    free(chosen);
    return sqrt(error / norm);
}

/* exp(-i sign k x) by long double sine and cosine would cost most of the run: the phases of one
   point are powers of one number, exact to the few units that k multiplications lose. */
static void powers(double x, int sign, int64_t n, double *e)
{
    double re = 1, im = 0, c = cos(x), s = sign < 0 ? sin(x) : -sin(x);
    for (int64_t k = 0; k <= n / 2; k++) {
        double *plus = e + 2 * (n / 2 + k), *minus = e + 2 * (n / 2 - k);
        plus[0] = minus[0] = re;
        plus[1] = im;
        minus[1] = k ? -im : im;
        double next = re * c - im * s;
        im = re * s + im * c;
        re = next;
    }
}

/* Adds the points of one block to the sums of the chosen modes; e has room for the phases. */
static void add_block(const bench_problem *b, int64_t begin, int64_t end, int n,
                      const int64_t *chosen, double *e, double *sum)
{
    int64_t nx = b->modes[0], ny = b->modes[1], nz = b->modes[2];
    double *ex = e, *ey = ex + 2 * (nx + 2), *ez = ey + 2 * (ny + 2);
    for (int64_t j = begin; j < end; j++) {
        powers(b->x[0][j], b->sign, nx, ex);
        powers(b->dim > 1 ? b->x[1][j] : 0, b->sign, ny, ey);
        powers(b->dim > 2 ? b->x[2][j] : 0, b->sign, nz, ez);
        for (int i = 0; i < n; i++) {
            const double *px = ex + 2 * (chosen[i] % nx), *py = ey + 2 * (chosen[i] / nx % ny);
            const double *pz = ez + 2 * (chosen[i] / (nx * ny));
            double re = px[0] * py[0] - px[1] * py[1], im = px[0] * py[1] + px[1] * py[0];
            double r = re * pz[0] - im * pz[1], m = re * pz[1] + im * pz[0];
            sum[2 * i] += b->c[2 * j] * r - b->c[2 * j + 1] * m;
            sum[2 * i + 1] += b->c[2 * j] * m + b->c[2 * j + 1] * r;
        }
    }
}

/* Sums block by block, so that rounding does not grow with the number of points. */
static void exact_modes(const bench_problem *b, int n, const int64_t *chosen, double *exact)
{
    enum { BLOCK = 2048 };
    int64_t blocks = (b->n_points + BLOCK - 1) / BLOCK;
    size_t room = (size_t)(b->modes[0] + b->modes[1] + b->modes[2] + 6);
    memset(exact, 0, 2 * sizeof(double) * (size_t)n);
#pragma omp parallel
    {
        double *e = malloc(2 * sizeof(double) * room),
               *sum = malloc(2 * sizeof(double) * (size_t)n);
#pragma omp for schedule(static)
        for (int64_t i = 0; i < blocks; i++) {
            int64_t end = (i + 1) * BLOCK < b->n_points ? (i + 1) * BLOCK : b->n_points;
            memset(sum, 0, 2 * sizeof(double) * (size_t)n);
            add_block(b, i * BLOCK, end, n, chosen, e, sum);
#pragma omp critical(bench_sum)
            for (int k = 0; k < 2 * n; k++)
                exact[k] += sum[k];
        }
        free(e);
        free(sum);
    }
}

static double error_at_modes(const bench_problem *b, const double *result, int n)
{
    int64_t *chosen = malloc(sizeof *chosen * (size_t)n);
    double *exact = malloc(2 * sizeof(double) * (size_t)n), error = 0, norm = 0;
    uint64_t seed = 17;
    int corners = 1 << b->dim;
    for (int i = 0; i < n; i++) {
        chosen[i] = (int64_t)((0.5 + 0.5 * random_number(&seed)) * (double)b->n_modes);
        if (i > corners) continue;
        int64_t at[3] = {0, 0, 0}; /* corners, then the centre */
        for (int d = 0; d < b->dim; d++)
            at[d] = i == corners ? b->modes[d] / 2 : i >> d & 1 ? b->modes[d] - 1 : 0;
        chosen[i] = (at[2] * b->modes[1] + at[1]) * b->modes[0] + at[0];
    }
    exact_modes(b, n, chosen, exact);
    for (int i = 0; i < n; i++) {
        error += pow(result[2 * chosen[i]] - exact[2 * i], 2) +
                 pow(result[2 * chosen[i] + 1] - exact[2 * i + 1], 2);
        norm += exact[2 * i] * exact[2 * i] + exact[2 * i + 1] * exact[2 * i + 1];
    }
    free(chosen);
    free(exact);
    return sqrt(error / norm);
}

double bench_error(const bench_problem *b, int type, const double *result, int n)
{
    if (b->n_points == 0) return 0;
    return type == 1 ? error_at_modes(b, result, n) : error_at_points(b, result, n);
}

double bench_bandwidth(int n_threads)
{
    enum { REPEAT = 4 };
    const int64_t n = 24 * 1024 * 1024; /* three arrays of 192 MiB: above most caches */
    double *a = calloc((size_t)n, sizeof(double)), *b = malloc(sizeof(double) * (size_t)n);
    double *c = malloc(sizeof(double) * (size_t)n), best = 0;
    for (int r = 0; a && b && c && r < REPEAT; r++) {
        double start = omp_get_wtime();
#pragma omp parallel for num_threads(n_threads) schedule(static)
        for (int64_t i = 0; i < n; i++) {
            if (r == 0) b[i] = c[i] = (double)i;
            a[i] = b[i] + 3 * c[i];
        }
        double rate = 24 * (double)n / (omp_get_wtime() - start) * 1e-9;
        if (r && rate > best) best = rate;
    }
    volatile double keep = a ? a[n / 2] : 0;
    (void)keep;
    free(a);
    free(b);
    free(c);
    return best;
}

WIDEST_VECTORS
static double multiply_adds(int64_t n, double seed)
{
    enum { CHAINS = 128 };
    double x[CHAINS];
    for (int i = 0; i < CHAINS; i++)
        x[i] = seed + i;
    for (int64_t k = 0; k < n; k++)
        for (int i = 0; i < CHAINS; i++)
            x[i] = x[i] * 0.999 + seed;
    double sum = 0;
    for (int i = 0; i < CHAINS; i++)
        sum += x[i];
    return sum;
}

double bench_multiply_adds(int n_threads)
{
    const int64_t n = 1000000;
    double start = omp_get_wtime(), sum = 0;
#pragma omp parallel for num_threads(n_threads) reduction(+ : sum)
    for (int t = 0; t < n_threads; t++)
        sum += multiply_adds(n, 1 + 1e-3 * t);
    volatile double keep = sum;
    (void)keep;
    return 256.0 * (double)n * n_threads / (omp_get_wtime() - start) * 1e-9;
}
