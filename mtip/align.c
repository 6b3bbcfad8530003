/* align.c: see align.h. */
#include "mtip/align.h"

#include "mtip/align_refine.h"
#include "mtip/align_search.h"
#include "mtip/ball.h"
#include "mtip/rotation.h"
#include "mtip/sampler.h"
#include "nufft/fft.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double two_pi = 6.283185307179586476925;

enum { N_CANDIDATES = 24, N_COARSE = 12, N_FINE = 3 };

typedef struct candidate {
    alignment motion;
    double score;
} candidate;

/* Radius, in Fourier voxels, at which a map shows about 4.5 periods across: enough to tell
   orientations apart, and no finer than the search. */
static double coarse_radius(int64_t n, double radius, const double *map)
{
    double sum = 0, squares = 0, mean[3] = {0, 0, 0};
    for (int64_t i = 0; i < n * n * n; i++) {
        const int64_t x[3] = {i % n - n / 2, i / n % n - n / 2, i / n / n - n / 2};
        double w = fabs(map[i]);
        sum += w;
        for (int d = 0; d < 3; d++) {
            mean[d] += w * (double)x[d];
            squares += w * (double)(x[d] * x[d]);
        }
    }
    for (int d = 0; d < 3; d++)
        mean[d] /= sum;
    double square = squares / sum - mean[0] * mean[0] - mean[1] * mean[1] - mean[2] * mean[2];
    double diameter = 2 * sqrt(5.0 / 3 * fmax(square, 1));
    return fmin(fmin(fmax(4.5 * (double)n / diameter, 8), 14), radius);
}

/* small [to->n^3] <- the part of the map inside the ball. */
static status crop(const device *dev, const ball *from, const ball *to, const double *map,
                   double *small)
{
    double *values = malloc((size_t)from->n_points * 2 * sizeof *values);
    if (!values) FAIL(STATUS_RESOURCE, "no memory to crop a map");
    status result = ball_from_map(dev, from, map, values);
    if (result == STATUS_OK) result = ball_to_map(dev, to, values, small);
    free(values);
    return result;
}

static int by_score(const void *a, const void *b)
{
    double x = ((const candidate *)a)->score, y = ((const candidate *)b)->score;
    return (x < y) - (x > y);
}

/* All candidates placed with both hands; the better ones refined; best first. */
static status rank_coarse(const device *dev, const ball *b, const double *fixed,
                          const double *moving, candidate *list, int *n_list)
{
    status result = STATUS_OK;
    double q[4 * N_CANDIDATES];
    int n_found = 0;
    refiner *r = NULL;
    TRY(align_search(dev, b, fixed, moving, N_CANDIDATES, q, &n_found));
    TRY(refiner_create(dev, b, fixed, moving, &r));
    for (int i = 0; i < 2 * n_found; i++) {
        memcpy(list[i].motion.q, q + i / 2 * 4, sizeof list[i].motion.q);
        TRY_OR(done, refiner_place(r, i % 2 ? -1 : 1, &list[i].motion, &list[i].score));
    }
    qsort(list, (size_t)(2 * n_found), sizeof *list, by_score);
    *n_list = 2 * n_found < N_COARSE ? 2 * n_found : N_COARSE;
    for (int i = 0; i < *n_list; i++)
        TRY_OR(done, refiner_run(r, 12, &list[i].motion, &list[i].score));
    qsort(list, (size_t)*n_list, sizeof *list, by_score);
done:
    refiner_destroy(r);
    return result;
}

/* The maps cropped in Fourier space to what the coarse search needs: the box stays the same, its
   voxels grow.  A few shells more than are compared keep the cut off the compared ones. */
static status align_coarse(const device *dev, int64_t n, double radius, const double *fixed,
                           const double *moving, candidate *list, int *n_list)
{
    status result = STATUS_OK;
    double coarse = coarse_radius(n, radius, fixed), kept = fmin(coarse + 3, radius);
    int64_t size = fft_good_size(2 * (int64_t)ceil(kept) + 1, false);
    if (size > n) size = n;
    ball *from = NULL, *to = NULL, *compared = NULL;
    double *small = malloc((size_t)(size * size * size) * 2 * sizeof *small);
    if (!small) FAIL(STATUS_RESOURCE, "no memory to align maps of %lld", (long long)n);
    double *small_moving = small + size * size * size;
    TRY_OR(done, ball_create(n, kept, &from));
    TRY_OR(done, ball_create(size, kept, &to));
    TRY_OR(done, ball_create(size, coarse, &compared));
    TRY_OR(done, crop(dev, from, to, fixed, small));
    TRY_OR(done, crop(dev, from, to, moving, small_moving));
    TRY_OR(done, rank_coarse(dev, compared, small, small_moving, list, n_list));
    for (int i = 0; i < *n_list; i++)
        for (int d = 0; d < 3; d++)
            list[i].motion.shift[d] *= (double)n / (double)size;
done:
    ball_destroy(compared);
    ball_destroy(to);
    ball_destroy(from);
    free(small);
    return result;
}

static bool same_place(const alignment *a, const alignment *b)
{
    return a->hand == b->hand && rotation_angle(a->q, b->q) < 0.02;
}

/* Keeps the first N_FINE that differ. */
static int keep_different(candidate *list, int n_list)
{
    int kept = 0;
    for (int i = 0; i < n_list && kept < N_FINE; i++) {
        bool is_new = true;
        for (int j = 0; j < kept; j++)
            if (same_place(&list[i].motion, &list[j].motion)) is_new = false;
        if (is_new) list[kept++] = list[i];
    }
    return kept;
}

static status align_fine(const device *dev, int64_t n, double radius, const double *fixed,
                         const double *moving, candidate *list, int n_list)
{
    status result = STATUS_OK;
    ball *b = NULL;
    refiner *r = NULL;
    n_list = keep_different(list, n_list);
    TRY(ball_create(n, radius, &b));
    TRY_OR(done, refiner_create(dev, b, fixed, moving, &r));
    for (int i = 0; i < n_list; i++)
        TRY_OR(done, refiner_run(r, 30, &list[i].motion, &list[i].score));
    qsort(list, (size_t)n_list, sizeof *list, by_score);
done:
    refiner_destroy(r);
    ball_destroy(b);
    return result;
}

/* Pearson's correlation inside the ball is that of the maps without the zero frequency. */
static status ball_correlation(const device *dev, const ball *b, const double *fixed,
                               const double *moved, double *correlation)
{
    status result = STATUS_OK;
    double sums[3] = {0, 0, 0};
    double *f = malloc((size_t)b->n_points * 2 * sizeof *f);
    if (!f) FAIL(STATUS_RESOURCE, "no memory to correlate maps of %lld", (long long)b->n);
    TRY_OR(done, ball_from_map(dev, b, fixed, f));
    for (int64_t i = 0; i < b->n_points; i++) {
        const double *u = f + 2 * i, *v = moved + 2 * i;
        double weight = b->shell[i] == 0 ? 0 : b->weight[i];
        sums[0] += weight * (u[0] * v[0] + u[1] * v[1]);
        sums[1] += weight * (u[0] * u[0] + u[1] * u[1]);
        sums[2] += weight * (v[0] * v[0] + v[1] * v[1]);
    }
    *correlation = sums[0] / (sqrt(sums[1]) * sqrt(sums[2]));
done:
    free(f);
    return result;
}

/* values [n_points] <- the transform of the moving map after the motion. */
static status move_values(const device *dev, const ball *b, const double *moving,
                          const alignment *motion, double *values)
{
    sampler *s = NULL;
    TRY(sampler_create(dev, b->n, moving, 1e-9, false, &s));
    status result = sampler_run(s, b, motion->q, values);
    sampler_destroy(s);
    for (int64_t i = 0; i < b->n_points; i++) {
        double angle = 0, *f = values + 2 * i, re = f[0], im = motion->hand * f[1];
        for (int d = 0; d < 3; d++)
            angle -= two_pi * b->k[i][d] * motion->shift[d] / (double)b->n;
        f[0] = re * cos(angle) - im * sin(angle);
        f[1] = re * sin(angle) + im * cos(angle);
    }
    return result;
}

static status apply_in(const device *dev, const ball *b, const double *moving, const double *fixed,
                       alignment *motion, double *aligned)
{
    status result = STATUS_OK;
    double *values = malloc((size_t)b->n_points * 2 * sizeof *values);
    if (!values) FAIL(STATUS_RESOURCE, "no memory to move a map of %lld", (long long)b->n);
    TRY_OR(done, move_values(dev, b, moving, motion, values));
    if (fixed) TRY_OR(done, ball_correlation(dev, b, fixed, values, &motion->correlation));
    if (aligned) TRY_OR(done, ball_to_map(dev, b, values, aligned));
done:
    free(values);
    return result;
}

/* Moves the map; with `fixed` also fills correlation, with `aligned` also makes the map. */
static status apply(const device *dev, int64_t n, double radius, const double *moving,
                    const double *fixed, alignment *motion, double *aligned)
{
    ball *b = NULL;
    TRY(ball_create(n, radius, &b));
    status result = apply_in(dev, b, moving, fixed, motion, aligned);
    ball_destroy(b);
    return result;
}

status align_apply(const device *dev, int64_t n, double radius, const double *moving,
                   const alignment *motion, double *aligned)
{
    alignment same = *motion;
    TRY(ball_check_map("the moving map", n, moving));
    return apply(dev, n, radius, moving, NULL, &same, aligned);
}

/* A map without contrast cannot be aligned. */
static status check(const char *what, int64_t n, const double *map)
{
    TRY(ball_check_map(what, n, map));
    for (int64_t i = 1; i < n * n * n; i++)
        if (map[i] != map[0]) return STATUS_OK;
    FAIL(STATUS_NUMERIC, "%s is %g everywhere: there is nothing to align", what, map[0]);
}

status align(const device *dev, int64_t n, double radius, const double *fixed, const double *moving,
             double *aligned, alignment *found)
{
    candidate list[2 * N_CANDIDATES];
    int n_list = 0;
    TRY(check("the fixed map", n, fixed));
    TRY(check("the moving map", n, moving));
    TRY(align_coarse(dev, n, radius, fixed, moving, list, &n_list));
    TRY(align_fine(dev, n, radius, fixed, moving, list, n_list));
    *found = list[0].motion;
    return apply(dev, n, radius, moving, fixed, found, aligned);
}

void align_orientations(const alignment *motion, int64_t n_images, const double *orientations,
                        double *moved)
{
    double back[4];
    rotation_inverse(motion->q, back);
    for (int64_t i = 0; i < n_images; i++)
        rotation_multiply(orientations + 4 * i, back, moved + 4 * i);
}
