/* align_refine.c: see align_refine.h.

   Shell by shell, model the fixed map's normalised coefficients as b = c a(motion) + noise of
   variance 1 - c^2, where c is the shell's present correlation, and take the damped Gauss-Newton
   (Levenberg-Marquardt) step of the motion's six parameters.  Fine shells get their weight as they
   come to agree, so the radius of convergence is that of the coarse ones. */
#include "mtip/align_refine.h"

#include "mtip/rotation.h"
#include "mtip/sampler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double two_pi = 6.283185307179586476925;

struct refiner {
    const device *dev;
    const ball *b;
    sampler *moving;
    double *fixed;   /* [n_points] complex */
    double *sampled; /* [4][n_points] complex: the moved map and its derivatives by frequency */
    double *scratch; /* [n_points] complex */
    double *sums;    /* [4][n_shells]: cross, moved and fixed power, correlation */
    double *map;     /* [n^3] */
};

typedef struct normal {
    double matrix[6][6];
    double vector[6];
} normal;

status refiner_create(const device *dev, const ball *b, const double *fixed, const double *moving,
                      refiner **created)
{
    status result = STATUS_OK;
    size_t points = (size_t)b->n_points, voxels = (size_t)(b->n * b->n * b->n);
    refiner *r = calloc(1, sizeof *r);
    if (!r) FAIL(STATUS_RESOURCE, "no memory to align maps");
    r->dev = dev;
    r->b = b;
    r->fixed = malloc(2 * points * sizeof *r->fixed);
    r->sampled = malloc(8 * points * sizeof *r->sampled);
    r->scratch = malloc(2 * points * sizeof *r->scratch);
    r->sums = malloc((size_t)(4 * b->n_shells) * sizeof *r->sums);
    r->map = malloc(voxels * sizeof *r->map);
    if (!r->fixed || !r->sampled || !r->scratch || !r->sums || !r->map)
        TRY_OR(failed, status_fail(STATUS_RESOURCE, __FILE__, __LINE__,
                                   "no memory to align maps of %lld", (long long)b->n));
    TRY_OR(failed, sampler_create(dev, b->n, moving, 1e-4, true, &r->moving));
    TRY_OR(failed, ball_from_map(dev, b, fixed, r->fixed));
    *created = r;
    return STATUS_OK;
failed:
    refiner_destroy(r);
    return result;
}

void refiner_destroy(refiner *r)
{
    if (!r) return;
    sampler_destroy(r->moving);
    free(r->fixed);
    free(r->sampled);
    free(r->scratch);
    free(r->sums);
    free(r->map);
    free(r);
}

/* Samples the moving map under the motion: hand (a conjugate) and shift (a phase) included. */
static status sample(refiner *r, const alignment *motion)
{
    const ball *b = r->b;
    TRY(sampler_run(r->moving, b, motion->q, r->sampled));
    for (int64_t i = 0; i < b->n_points; i++) {
        double angle = 0;
        for (int d = 0; d < 3; d++)
            angle -= two_pi * b->k[i][d] * motion->shift[d] / (double)b->n;
        double c = cos(angle), s = sin(angle);
        for (int v = 0; v < 4; v++) {
            double *f = r->sampled + 2 * (v * b->n_points + i), re = f[0], im = motion->hand * f[1];
            f[0] = re * c - im * s;
            f[1] = re * s + im * c;
        }
    }
    return STATUS_OK;
}

/* Fills the sums and returns the information shared. */
static double correlate(refiner *r)
{
    const ball *b = r->b;
    double *cross = r->sums, *moved = cross + b->n_shells, *fixed = moved + b->n_shells;
    double *correlation = fixed + b->n_shells, score = 0;
    ball_shell_sums(b, r->sampled, r->fixed, cross, moved, fixed);
    for (int s = 0; s < b->n_shells; s++) {
        double norm = sqrt(moved[s]) * sqrt(fixed[s]);
        correlation[s] = norm > 0 ? cross[s] / norm : 0;
    }
    for (int64_t i = 0; i < b->n_points; i++) {
        double c = correlation[b->shell[i]];
        if (b->shell[i] > 0 && c > 0) score -= 0.5 * b->weight[i] * log(fmax(1 - c * c, 0) + 1e-8);
    }
    return score;
}

/* The derivatives of the moved coefficient i by three turns and three shifts: complex [6].  A turn
   by w about the fixed axes changes F by w.((R grad F) x k). */
static void derivatives(const refiner *r, const double matrix[9], int64_t i, double d[6][2])
{
    const ball *b = r->b;
    const int *k = b->k[i];
    for (int part = 0; part < 2; part++) {
        double g[3], in[3];
        for (int v = 0; v < 3; v++)
            in[v] = r->sampled[2 * ((v + 1) * b->n_points + i) + part];
        for (int v = 0; v < 3; v++)
            g[v] = matrix[3 * v] * in[0] + matrix[3 * v + 1] * in[1] + matrix[3 * v + 2] * in[2];
        d[0][part] = g[1] * k[2] - g[2] * k[1];
        d[1][part] = g[2] * k[0] - g[0] * k[2];
        d[2][part] = g[0] * k[1] - g[1] * k[0];
    }
    const double *f = r->sampled + 2 * i;
    for (int v = 0; v < 3; v++) {
        double factor = -two_pi * k[v] / (double)b->n;
        d[3 + v][0] = -factor * f[1];
        d[3 + v][1] = factor * f[0];
    }
}

static void normal_equations(const refiner *r, const alignment *motion, normal *eq)
{
    const ball *b = r->b;
    const double *moved = r->sums + b->n_shells, *fixed = moved + b->n_shells;
    const double *correlation = fixed + b->n_shells;
    double matrix[9];
    rotation_matrix(motion->q, matrix);
    memset(eq, 0, sizeof *eq);
    for (int64_t i = 0; i < b->n_points; i++) {
        int s = b->shell[i];
        double c = correlation[s];
        if (s == 0 || !(c > 0)) continue;
        /* Both sides over the moved map's amplitude. */
        double weight = b->weight[i] * c / (1.01 - c * c) / moved[s], d[6][2], rest[2];
        double scale = sqrt(moved[s] / fixed[s]);
        derivatives(r, matrix, i, d);
        for (int part = 0; part < 2; part++)
            rest[part] = scale * r->fixed[2 * i + part] - c * r->sampled[2 * i + part];
        for (int u = 0; u < 6; u++) {
            eq->vector[u] += weight * (d[u][0] * rest[0] + d[u][1] * rest[1]);
            for (int v = 0; v <= u; v++)
                eq->matrix[u][v] += weight * c * (d[u][0] * d[v][0] + d[u][1] * d[v][1]);
        }
    }
}

/* Cholesky of the damped matrix; false if it is not positive. */
static bool solve(const normal *eq, double damping, double step[6])
{
    double l[6][6];
    for (int i = 0; i < 6; i++)
        for (int j = 0; j <= i; j++) {
            double sum = eq->matrix[i][j] * (i == j ? 1 + damping : 1);
            for (int k = 0; k < j; k++)
                sum -= l[i][k] * l[j][k];
            if (i == j && !(sum > 0)) return false;
            l[i][j] = i == j ? sqrt(sum) : sum / l[j][j];
        }
    for (int i = 0; i < 6; i++) {
        step[i] = eq->vector[i];
        for (int k = 0; k < i; k++)
            step[i] -= l[i][k] * step[k];
        step[i] /= l[i][i];
    }
    for (int i = 5; i >= 0; i--) {
        for (int k = i + 1; k < 6; k++)
            step[i] -= l[k][i] * step[k];
        step[i] /= l[i][i];
    }
    return true;
}

/* Returns the angle of the turn made. */
static double move(const double step[6], alignment *motion)
{
    double angle = sqrt(step[0] * step[0] + step[1] * step[1] + step[2] * step[2]);
    if (angle > 0) {
        const double axis[3] = {step[0] / angle, step[1] / angle, step[2] / angle};
        double turn[4];
        rotation_about(axis, angle, turn);
        rotation_multiply(turn, motion->q, motion->q);
    }
    for (int d = 0; d < 3; d++)
        motion->shift[d] += step[3 + d];
    return angle;
}

static bool is_small(const double step[6], double angle)
{
    return angle < 1e-4 && fabs(step[3]) < 1e-3 && fabs(step[4]) < 1e-3 && fabs(step[5]) < 1e-3;
}

status refiner_run(refiner *r, int n_steps, alignment *motion, double *score)
{
    normal eq;
    double damping = 1e-3;
    TRY(sample(r, motion));
    *score = correlate(r);
    normal_equations(r, motion, &eq);
    for (int i = 0; i < n_steps && damping < 1e3; i++) {
        double step[6];
        if (!solve(&eq, damping, step)) break;
        alignment trial = *motion;
        double angle = move(step, &trial);
        TRY(sample(r, &trial));
        double value = correlate(r);
        if (!(value > *score)) {
            /* The step is already below what matters: the old motion stands. */
            if (is_small(step, angle)) break;
            damping = damping * 10 + 1e-3;
            continue;
        }
        damping /= 10;
        *motion = trial;
        *score = value;
        if (is_small(step, angle)) break;
        normal_equations(r, motion, &eq);
    }
    return STATUS_OK;
}

status refiner_place(refiner *r, int hand, alignment *motion, double *correlation)
{
    const ball *b = r->b;
    int64_t n = b->n, best = 0;
    motion->hand = hand;
    memset(motion->shift, 0, sizeof motion->shift);
    TRY(sample(r, motion));
    correlate(r);
    const double *moved = r->sums + b->n_shells, *fixed = moved + b->n_shells;
    for (int64_t i = 0; i < b->n_points; i++) {
        const double *f = r->fixed + 2 * i, *g = r->sampled + 2 * i;
        int s = b->shell[i];
        double norm = sqrt(moved[s]) * sqrt(fixed[s]), weight = s > 0 && norm > 0 ? 1 / norm : 0;
        r->scratch[2 * i] = weight * (f[0] * g[0] + f[1] * g[1]);
        r->scratch[2 * i + 1] = weight * (f[1] * g[0] - f[0] * g[1]);
    }
    TRY(ball_to_map(r->dev, b, r->scratch, r->map));
    for (int64_t i = 1; i < n * n * n; i++)
        if (r->map[i] > r->map[best]) best = i;
    motion->shift[0] = (double)(best % n - n / 2);
    motion->shift[1] = (double)(best / n % n - n / 2);
    motion->shift[2] = (double)(best / n / n - n / 2);
    *correlation = r->map[best];
    return STATUS_OK;
}
