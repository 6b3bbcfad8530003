/* align_shift.c: align_shift_hand() of align.h, by one cross-correlation per hand. */
#include "mtip/align.h"

#include "mtip/ball.h"
#include "mtip/rotation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double two_pi = 6.283185307179586476925;

typedef struct maps {
    const device *dev;
    int64_t n, n_half;
    double *fixed, *moving, *cross; /* [n_half] complex */
    double *correlation;            /* [n^3] */
} maps;

static int64_t signed_k(int64_t i, int64_t n)
{
    return i <= n / 2 ? i : i - n;
}

/* -k is not among the half-complex numbers: they count twice. */
static double half_weight(const maps *m, int64_t i)
{
    int64_t x = i % (m->n / 2 + 1);
    return x == 0 || 2 * x == m->n ? 1 : 2;
}

/* k of half-complex number i, each component 0 at n/2, where no shift can be told. */
static void half_k(const maps *m, int64_t i, double k[3])
{
    int64_t row = m->n / 2 + 1;
    const int64_t at[3] = {i % row, i / row % m->n, i / row / m->n};
    for (int d = 0; d < 3; d++)
        k[d] = 2 * at[d] == m->n ? 0 : (double)signed_k(at[d], m->n);
}

/* cross <- fixed conj(moving), the moving map inverted through its first voxel if hand is -1;
   without the zero frequency. */
static void multiply(const maps *m, int hand)
{
    for (int64_t i = 0; i < m->n_half; i++) {
        const double *f = m->fixed + 2 * i, *g = m->moving + 2 * i;
        double re = g[0], im = hand * g[1];
        m->cross[2 * i] = f[0] * re + f[1] * im;
        m->cross[2 * i + 1] = f[1] * re - f[0] * im;
    }
    m->cross[0] = m->cross[1] = 0;
}

/* Value, slope and curvature of the correlation at a shift. */
static double correlation_at(const maps *m, const double shift[3], double slope[3],
                             double curvature[6])
{
    double value = 0;
    memset(slope, 0, 3 * sizeof *slope);
    memset(curvature, 0, 6 * sizeof *curvature);
    for (int64_t i = 0; i < m->n_half; i++) {
        double k[3];
        half_k(m, i, k);
        for (int d = 0; d < 3; d++)
            k[d] *= two_pi / (double)m->n;
        double angle = k[0] * shift[0] + k[1] * shift[1] + k[2] * shift[2];
        double c = cos(angle), s = sin(angle), w = half_weight(m, i);
        double re = w * (m->cross[2 * i] * c - m->cross[2 * i + 1] * s);
        double im = w * (m->cross[2 * i] * s + m->cross[2 * i + 1] * c);
        value += re;
        for (int d = 0; d < 3; d++)
            slope[d] -= k[d] * im;
        curvature[0] -= k[0] * k[0] * re;
        curvature[1] -= k[1] * k[1] * re;
        curvature[2] -= k[2] * k[2] * re;
        curvature[3] -= k[1] * k[2] * re;
        curvature[4] -= k[0] * k[2] * re;
        curvature[5] -= k[0] * k[1] * re;
    }
    return value;
}

/* step = -curvature^-1 slope; false unless the curvature is that of a maximum. */
static bool newton_step(const double slope[3], const double c[6], double step[3])
{
    double cofactors[6] = {c[1] * c[2] - c[3] * c[3], c[0] * c[2] - c[4] * c[4],
                           c[0] * c[1] - c[5] * c[5], c[4] * c[5] - c[0] * c[3],
                           c[3] * c[5] - c[1] * c[4], c[3] * c[4] - c[2] * c[5]};
    double determinant = c[0] * cofactors[0] + c[5] * cofactors[5] + c[4] * cofactors[4];
    if (!(c[0] < 0 && cofactors[2] > 0 && determinant < 0)) return false;
    step[0] = -(cofactors[0] * slope[0] + cofactors[5] * slope[1] + cofactors[4] * slope[2]);
    step[1] = -(cofactors[5] * slope[0] + cofactors[1] * slope[1] + cofactors[3] * slope[2]);
    step[2] = -(cofactors[4] * slope[0] + cofactors[3] * slope[1] + cofactors[2] * slope[2]);
    for (int d = 0; d < 3; d++)
        step[d] /= determinant;
    return fabs(step[0]) < 1 && fabs(step[1]) < 1 && fabs(step[2]) < 1;
}

/* The shift of the highest correlation for this hand, and that sum. */
static status best_shift(maps *m, int hand, double shift[3], double *value)
{
    int64_t n = m->n, best = 0;
    multiply(m, hand);
    TRY(map_transform_back(m->dev, n, m->cross, m->correlation));
    for (int64_t i = 1; i < n * n * n; i++)
        if (m->correlation[i] > m->correlation[best]) best = i;
    shift[0] = (double)signed_k(best % n, n);
    shift[1] = (double)signed_k(best / n % n, n);
    shift[2] = (double)signed_k(best / n / n, n);
    /* The inverse transform may have spoiled its input. */
    multiply(m, hand);
    double slope[3], curvature[6], step[3];
    *value = correlation_at(m, shift, slope, curvature);
    for (int i = 0; i < 5 && newton_step(slope, curvature, step); i++) {
        const double next[3] = {shift[0] + step[0], shift[1] + step[1], shift[2] + step[2]};
        double there = correlation_at(m, next, slope, curvature);
        if (!(there >= *value)) break;
        *value = there;
        memcpy(shift, next, sizeof next);
        if (fabs(step[0]) + fabs(step[1]) + fabs(step[2]) < 1e-4) break;
    }
    return STATUS_OK;
}

/* Moves the transform of the moving map; the -n/2 planes, being their own conjugates, get the real
   part of the phase. */
static status apply(maps *m, int hand, const double shift[3], double *moving)
{
    int64_t n = m->n, row = n / 2 + 1;
    double scale = 1 / ((double)n * (double)n * (double)n);
    for (int64_t i = 0; i < m->n_half; i++) {
        double k[3], *g = m->moving + 2 * i, flat = scale;
        const int64_t at[3] = {i % row, i / row % n, i / row / n};
        half_k(m, i, k);
        for (int d = 0; d < 3; d++)
            if (2 * at[d] == n) flat *= cos(0.5 * two_pi * shift[d]);
        double angle = -two_pi * (k[0] * shift[0] + k[1] * shift[1] + k[2] * shift[2]) / (double)n;
        double c = flat * cos(angle), s = flat * sin(angle), re = g[0], im = hand * g[1];
        g[0] = re * c - im * s;
        g[1] = re * s + im * c;
    }
    return map_transform_back(m->dev, n, m->moving, moving);
}

static double half_norm(const maps *m, const double *f)
{
    double sum = 0;
    for (int64_t i = 1; i < m->n_half; i++)
        sum += half_weight(m, i) * (f[2 * i] * f[2 * i] + f[2 * i + 1] * f[2 * i + 1]);
    return sqrt(sum);
}

static status shift_hand(maps *m, const double *fixed, double *moving, alignment *found)
{
    double shift[2][3], value[2];
    TRY(map_transform(m->dev, m->n, fixed, m->fixed));
    TRY(map_transform(m->dev, m->n, moving, m->moving));
    double norm = half_norm(m, m->fixed) * half_norm(m, m->moving);
    if (!(norm > 0)) FAIL(STATUS_NUMERIC, "a map is constant: there is nothing to align");
    TRY(best_shift(m, 1, shift[0], &value[0]));
    TRY(best_shift(m, -1, shift[1], &value[1]));
    int inverted = value[1] > value[0];
    memset(found, 0, sizeof *found);
    found->q[0] = 1;
    found->hand = inverted ? -1 : 1;
    found->correlation = value[inverted] / norm;
    for (int d = 0; d < 3; d++) {
        /* Inversion through the first voxel leaves the centre c at -c. */
        double t = shift[inverted][d] - (inverted ? 2 * (double)(m->n / 2) : 0);
        found->shift[d] = t - (double)m->n * floor(t / (double)m->n + 0.5);
    }
    return apply(m, found->hand, shift[inverted], moving);
}

status align_shift_hand(const device *dev, int64_t n, const double *fixed, double *moving,
                        alignment *found)
{
    maps m = {.dev = dev, .n = n, .n_half = n * n * (n / 2 + 1)};
    TRY(ball_check_map("the fixed map", n, fixed));
    TRY(ball_check_map("the moving map", n, moving));
    double *memory = malloc((size_t)(6 * m.n_half + n * n * n) * sizeof *memory);
    if (!memory) FAIL(STATUS_RESOURCE, "no memory to align maps of %lld", (long long)n);
    m.fixed = memory;
    m.moving = memory + 2 * m.n_half;
    m.cross = memory + 4 * m.n_half;
    m.correlation = memory + 6 * m.n_half;
    status result = shift_hand(&m, fixed, moving, found);
    free(memory);
    return result;
}
