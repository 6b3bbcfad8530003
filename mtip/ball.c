/* ball.c: see ball.h. */
#include "mtip/ball.h"

#include "nufft/fft.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double two_pi = 6.283185307179586476925;

/* Counts the points of the half ball, and lists them if the arrays are there. */
static int64_t ball_list(const ball *b)
{
    int edge = (int)fmin(floor(b->radius), (double)((b->n - 1) / 2));
    double limit = b->radius * b->radius * (1 + 1e-12);
    int64_t count = 0;
    for (int z = -edge; z <= edge; z++)
        for (int y = -edge; y <= edge; y++)
            for (int x = 0; x <= edge; x++) {
                double square = (double)x * x + (double)y * y + (double)z * z;
                if (square > limit) continue;
                if (b->k) {
                    int shell = (int)floor(sqrt(square) + 0.5);
                    b->k[count][0] = x;
                    b->k[count][1] = y;
                    b->k[count][2] = z;
                    b->shell[count] = shell < b->n_shells ? shell : b->n_shells - 1;
                    b->weight[count] = x > 0 ? 2 : 1;
                }
                count++;
            }
    return count;
}

status ball_create(int64_t n, double radius, ball **created)
{
    if (!(n >= 2 && radius >= 1 && radius <= 0.5 * (double)n * (1 + 1e-9)))
        FAIL(STATUS_INVALID,
             "a Fourier ball of %g voxels in a map of %lld: the radius must be 1 to half the size",
             radius, (long long)n);
    ball *b = calloc(1, sizeof *b);
    if (!b) FAIL(STATUS_RESOURCE, "no memory for a Fourier ball");
    b->n = n;
    b->radius = radius;
    b->n_shells = (int)floor(radius) + 1;
    b->n_points = ball_list(b);
    size_t points = (size_t)b->n_points + 1;
    b->k = malloc(points * sizeof *b->k);
    b->shell = malloc(points * sizeof *b->shell);
    b->weight = malloc(points * sizeof *b->weight);
    if (!b->k || !b->shell || !b->weight) {
        ball_destroy(b);
        FAIL(STATUS_RESOURCE, "no memory for a Fourier ball of %zu points", points);
    }
    ball_list(b);
    *created = b;
    return STATUS_OK;
}

void ball_destroy(ball *b)
{
    if (!b) return;
    free(b->k);
    free(b->shell);
    free(b->weight);
    free(b);
}

status ball_check_map(const char *what, int64_t n, const double *map)
{
    for (int64_t i = 0; i < n * n * n; i++)
        if (!isfinite(map[i]))
            FAIL(STATUS_NUMERIC, "%s is %g at voxel x=%lld y=%lld z=%lld", what, map[i],
                 (long long)(i % n), (long long)(i / n % n), (long long)(i / n / n));
    return STATUS_OK;
}

/* Index of k among half-complex numbers with k = 0 at index 0. */
static int64_t half_index(const ball *b, const int k[3])
{
    int64_t n = b->n, y = (k[1] + n) % n, z = (k[2] + n) % n;
    return (z * n + y) * (n / 2 + 1) + k[0];
}

/* exp(2 pi i k.c/n) with c the centre: moves the origin from index 0 to the centre. The product
   is reduced in integers, so it costs no digits. */
static void centre_phase(const ball *b, const int k[3], double *re, double *im)
{
    int64_t n = b->n, turn = (k[0] + k[1] + k[2]) * (n / 2) % n;
    *re = cos(two_pi * (double)turn / (double)n);
    *im = sin(two_pi * (double)turn / (double)n);
}

/* One real transform between arrays in host memory. */
static status transform(const device *dev, fft_kind kind, int64_t n, const double *in, double *out)
{
    status result = STATUS_OK;
    const int64_t size[3] = {n, n, n};
    int64_t map_bytes = n * n * n * (int64_t)sizeof(double);
    int64_t half_bytes = n * n * (n / 2 + 1) * 2 * (int64_t)sizeof(double);
    int64_t in_bytes = kind == FFT_REAL_FORWARD ? map_bytes : half_bytes;
    int64_t out_bytes = kind == FFT_REAL_FORWARD ? half_bytes : map_bytes;
    void *on_in = NULL, *on_out = NULL;
    fft *plan = NULL;
    TRY_OR(done, device_alloc(dev, in_bytes, &on_in));
    TRY_OR(done, device_alloc(dev, out_bytes, &on_out));
    TRY_OR(done, fft_create(dev, PRECISION_DOUBLE, kind, 3, size, 1, false, &plan));
    TRY_OR(done, device_from_host(dev, on_in, in, in_bytes));
    TRY_OR(done, fft_run(plan, on_in, on_out));
    TRY_OR(done, device_to_host(dev, out, on_out, out_bytes));
done:
    fft_destroy(plan);
    device_free(dev, on_out);
    device_free(dev, on_in);
    return result;
}

status map_transform(const device *dev, int64_t n, const double *map, double *half)
{
    return transform(dev, FFT_REAL_FORWARD, n, map, half);
}

status map_transform_back(const device *dev, int64_t n, const double *half, double *map)
{
    return transform(dev, FFT_REAL_BACKWARD, n, half, map);
}

status ball_from_map(const device *dev, const ball *b, const double *map, double *values)
{
    status result = STATUS_OK;
    int64_t n = b->n;
    double *half = malloc((size_t)(n * n * (n / 2 + 1)) * 2 * sizeof *half);
    if (!half) FAIL(STATUS_RESOURCE, "no memory for the transform of a map of %lld", (long long)n);
    TRY_OR(done, map_transform(dev, n, map, half));
    for (int64_t i = 0; i < b->n_points; i++) {
        const double *f = half + 2 * half_index(b, b->k[i]);
        double c, s;
        centre_phase(b, b->k[i], &c, &s);
        values[2 * i] = f[0] * c - f[1] * s;
        values[2 * i + 1] = f[0] * s + f[1] * c;
    }
done:
    free(half);
    return result;
}

status ball_to_map(const device *dev, const ball *b, const double *values, double *map)
{
    status result = STATUS_OK;
    int64_t n = b->n, n_half = n * n * (n / 2 + 1);
    double scale = 1 / ((double)n * (double)n * (double)n);
    double *half = calloc((size_t)n_half * 2, sizeof *half);
    if (!half) FAIL(STATUS_RESOURCE, "no memory for the transform of a map of %lld", (long long)n);
    for (int64_t i = 0; i < b->n_points; i++) {
        double *f = half + 2 * half_index(b, b->k[i]);
        double c, s;
        centre_phase(b, b->k[i], &c, &s);
        f[0] = scale * (values[2 * i] * c + values[2 * i + 1] * s);
        f[1] = scale * (values[2 * i + 1] * c - values[2 * i] * s);
    }
    TRY_OR(done, map_transform_back(dev, n, half, map));
done:
    free(half);
    return result;
}

void ball_shell_sums(const ball *b, const double *f, const double *g, double *fg, double *ff,
                     double *gg)
{
    size_t bytes = (size_t)b->n_shells * sizeof(double);
    memset(fg, 0, bytes);
    memset(ff, 0, bytes);
    memset(gg, 0, bytes);
    for (int64_t i = 0; i < b->n_points; i++) {
        const double *u = f + 2 * i, *v = g + 2 * i;
        fg[b->shell[i]] += b->weight[i] * (u[0] * v[0] + u[1] * v[1]);
        ff[b->shell[i]] += b->weight[i] * (u[0] * u[0] + u[1] * u[1]);
        gg[b->shell[i]] += b->weight[i] * (v[0] * v[0] + v[1] * v[1]);
    }
}
