/* align_search.c: see align_search.h.

   The intensity of the moving map is tabulated three times finer than Fourier voxels, each shell
   brought to mean 0 and variance 1, and read by trilinear interpolation: good enough to find the
   neighbourhood, and fast. */
#include "mtip/align_search.h"

#include "mtip/rotation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FINER = 3 };

/* half [m][m][m/2 + 1] floats, m = FINER n: the normalised intensity, origin at index 0. */
typedef struct table {
    int64_t m;
    float *half;
} table;

static double table_radius(const table *t, int64_t i)
{
    int64_t row = t->m / 2 + 1, x = i % row, y = i / row % t->m, z = i / row / t->m;
    if (y > t->m / 2) y -= t->m;
    if (z > t->m / 2) z -= t->m;
    return sqrt((double)(x * x + y * y + z * z)) / FINER;
}

/* Linear between the shells' values. */
static double radial(const double *shells, double radius)
{
    int64_t below = (int64_t)radius;
    double part = radius - (double)below;
    return shells[below] + part * (shells[below + 1] - shells[below]);
}

/* Subtracts the mean (power 1) or divides by the root mean square (power 2) of each shell up to
   n_shells, and puts zero beyond. shells: [2][n_shells + 2] scratch. */
static void table_normalize(table *t, int power, int n_shells, double *shells)
{
    int64_t size = t->m * t->m * (t->m / 2 + 1);
    double *sum = shells, *count = shells + n_shells + 2;
    memset(shells, 0, (size_t)(2 * (n_shells + 2)) * sizeof *shells);
    for (int64_t i = 0; i < size; i++) {
        double radius = table_radius(t, i);
        if (radius >= n_shells) continue;
        int64_t shell = (int64_t)(radius + 0.5);
        sum[shell] += power == 1 ? t->half[i] : t->half[i] * t->half[i];
        count[shell] += 1;
    }
    for (int i = 0; i <= n_shells; i++) {
        sum[i] = count[i] > 0 ? sum[i] / count[i] : 0;
        if (power == 2) sum[i] = sqrt(sum[i]);
    }
    for (int64_t i = 0; i < size; i++) {
        double radius = table_radius(t, i);
        if (radius >= n_shells) {
            t->half[i] = 0;
            continue;
        }
        double value = radial(sum, radius);
        if (power == 1)
            t->half[i] -= (float)value;
        else
            t->half[i] = value > 0 ? t->half[i] / (float)value : 0;
    }
}

/* The map with zeros around it: its transform is the finer one. */
static status padded_intensity(const device *dev, int64_t n, const double *map, table *t)
{
    status result = STATUS_OK;
    int64_t m = t->m, n_half = m * m * (m / 2 + 1);
    double *half = calloc((size_t)(2 * n_half + m * m * m), sizeof *half);
    if (!half)
        FAIL(STATUS_RESOURCE, "no memory to pad a map of %lld to %lld", (long long)n, (long long)m);
    double *padded = half + 2 * n_half;
    for (int64_t zy = 0; zy < n * n; zy++)
        memcpy(padded + (zy / n * m + zy % n) * m, map + zy * n, (size_t)n * sizeof *map);
    TRY_OR(done, map_transform(dev, m, padded, half));
    double largest = 0;
    for (int64_t i = 0; i < n_half; i++) {
        half[i] = half[2 * i] * half[2 * i] + half[2 * i + 1] * half[2 * i + 1];
        largest = fmax(largest, half[i]);
    }
    for (int64_t i = 0; i < n_half; i++)
        t->half[i] = (float)(half[i] / largest);
done:
    free(half);
    return result;
}

/* The caller frees t->half, also on failure. */
static status table_fill(const device *dev, const ball *b, const double *map, table *t)
{
    int n_shells = b->n_shells + 1;
    t->m = FINER * b->n;
    /* one more: a point at the edge of the largest ball reads the element after its row */
    t->half = calloc((size_t)(t->m * t->m * (t->m / 2 + 1) + 1), sizeof *t->half);
    if (!t->half)
        FAIL(STATUS_RESOURCE, "no memory for intensities of a map of %lld", (long long)b->n);
    TRY(padded_intensity(dev, b->n, map, t));
    double *shells = malloc((size_t)(2 * (n_shells + 2)) * sizeof *shells);
    if (!shells) FAIL(STATUS_RESOURCE, "no memory for %d shells", n_shells);
    table_normalize(t, 1, n_shells, shells);
    table_normalize(t, 2, n_shells, shells);
    free(shells);
    return STATUS_OK;
}

static float table_read(const table *t, double x, double y, double z)
{
    if (x < 0) {
        x = -x;
        y = -y;
        z = -z;
    }
    double fx = floor(x), fy = floor(y), fz = floor(z);
    float px = (float)(x - fx), py = (float)(y - fy), pz = (float)(z - fz);
    int64_t m = t->m, row = m / 2 + 1, ix = (int64_t)fx;
    int64_t y0 = (int64_t)fy, z0 = (int64_t)fz, y1 = y0 + 1, z1 = z0 + 1;
    if (y0 < 0) y0 += m;
    if (y1 < 0) y1 += m;
    if (z0 < 0) z0 += m;
    if (z1 < 0) z1 += m;
    const float *r00 = t->half + (z0 * m + y0) * row + ix,
                *r01 = t->half + (z0 * m + y1) * row + ix;
    const float *r10 = t->half + (z1 * m + y0) * row + ix,
                *r11 = t->half + (z1 * m + y1) * row + ix;
    float a = r00[0] + px * (r00[1] - r00[0]), b = r01[0] + px * (r01[1] - r01[0]);
    float c = r10[0] + px * (r10[1] - r10[0]), d = r11[0] + px * (r11[1] - r11[0]);
    a += py * (b - a);
    c += py * (d - c);
    return a + pz * (c - a);
}

/* Of the fixed intensities at the points k and the moving ones at R^T k. */
static double agreement(const ball *b, const double *fixed, const table *moving, const double q[4])
{
    double r[9], sum = 0;
    rotation_matrix(q, r);
    for (int i = 0; i < 9; i++)
        r[i] *= FINER;
    for (int64_t i = 0; i < b->n_points; i++) {
        double x = b->k[i][0], y = b->k[i][1], z = b->k[i][2];
        sum +=
            fixed[i] * table_read(moving, r[0] * x + r[3] * y + r[6] * z,
                                  r[1] * x + r[4] * y + r[7] * z, r[2] * x + r[5] * y + r[8] * z);
    }
    return sum;
}

/* Small turns about the three axes as long as they help. */
static void polish(const ball *b, const double *fixed, const table *moving, double q[4])
{
    double best = agreement(b, fixed, moving, q);
    for (int level = 0; level < 3; level++) {
        double step = 0.06 / (1 << level);
        for (int trial = 0, since = 0; trial < 30 && since < 6; trial++) {
            double axis[3] = {0, 0, 0}, turn[4], turned[4];
            axis[trial / 2 % 3] = 1;
            rotation_about(axis, trial % 2 ? -step : step, turn);
            rotation_multiply(turn, q, turned);
            double value = agreement(b, fixed, moving, turned);
            since++;
            if (!(value > best)) continue;
            best = value;
            memcpy(q, turned, sizeof turned);
            since = 0;
        }
    }
}

/* Takes the best of the cover that are far from those already taken; spoils the scores. */
static int choose(int64_t n, const double *cover, double *scores, int n_wanted, double *q)
{
    int n_found = 0;
    while (n_found < n_wanted) {
        int64_t best = 0;
        for (int64_t i = 1; i < n; i++)
            if (scores[i] > scores[best]) best = i;
        if (scores[best] == -INFINITY) break;
        memcpy(q + 4 * n_found++, cover + 4 * best, 4 * sizeof *q);
        for (int64_t i = 0; i < n; i++)
            if (rotation_angle(cover + 4 * i, cover + 4 * best) < ALIGN_APART)
                scores[i] = -INFINITY;
    }
    return n_found;
}

status align_search(const device *dev, const ball *b, const double *fixed, const double *moving,
                    int n_wanted, double *q, int *n_found)
{
    status result = STATUS_OK;
    table of_fixed = {0}, of_moving = {0};
    double *cover = malloc((size_t)(5 * ALIGN_COVER + b->n_points) * sizeof *cover);
    if (!cover) FAIL(STATUS_RESOURCE, "no memory to search %d rotations", ALIGN_COVER);
    double *scores = cover + 4 * ALIGN_COVER, *targets = scores + ALIGN_COVER;
    TRY_OR(done, table_fill(dev, b, fixed, &of_fixed));
    TRY_OR(done, table_fill(dev, b, moving, &of_moving));
    for (int64_t i = 0; i < b->n_points; i++)
        targets[i] = b->shell[i] == 0 ? 0
                                      : table_read(&of_fixed, FINER * b->k[i][0],
                                                   FINER * b->k[i][1], FINER * b->k[i][2]);
    rotation_cover(ALIGN_COVER, 0, ALIGN_COVER, NULL, cover);
#pragma omp parallel for num_threads(device_threads(dev)) schedule(dynamic, 64)
    for (int64_t i = 0; i < ALIGN_COVER; i++)
        scores[i] = agreement(b, targets, &of_moving, cover + 4 * i);
    *n_found = choose(ALIGN_COVER, cover, scores, n_wanted, q);
#pragma omp parallel for num_threads(device_threads(dev)) schedule(dynamic, 1)
    for (int i = 0; i < *n_found; i++)
        polish(b, targets, &of_moving, q + 4 * i);
done:
    free(of_moving.half);
    free(of_fixed.half);
    free(cover);
    return result;
}
