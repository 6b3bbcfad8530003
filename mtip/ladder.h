/* ladder.h: what is remembered of a row of scores S_r that is seen in pieces, enough to choose the
   inverse temperature beta whose posterior exp(beta S_r) / Z has a given entropy: the running maximum
   and, for LADDER betas 1, 1/2, 1/4, .., the sums over r, with d = S_r - max,
       z = sum exp(beta d),  u = sum d exp(beta d),  e = sum total_r exp(beta d). */
#ifndef MTIP_LADDER_H
#define MTIP_LADDER_H

#include "mtip/pointwise.h"

enum { LADDER = 24 };

/* Arrays of n_rows, in the memory of the device. */
typedef struct ladder {
    double *max;               /* start at -INFINITY */
    int64_t *best;             /* the reference that has the maximum, -1: none */
    double (*sums)[LADDER][3]; /* z, u, e */
    /* the choice: */
    double *beta; /* -1: the best reference alone */
    double *log_z, *entropy;
    double *expected; /* mean of total under the posterior */
} ladder;

/* How beta is chosen: for an entropy, or (hard) the best reference alone. */
typedef struct ladder_rule {
    bool hard;
    double entropy;
    double total; /* added to the mean of the totals */
} ladder_rule;

/* Between two rungs log Z is taken as the polynomial in t = log beta that has its values and slopes,
   d log Z / dt = beta u / z, at both and at their neighbours: the perplexity comes out within 5 % (a
   cubic through two rungs leaves 20 % where few references compete), Z within 1 %, mostly 1e-4. */
enum { LADDER_NODES = 4, LADDER_TERMS = 2 * LADDER_NODES };

typedef struct ladder_curve {
    int n; /* rungs in use */
    double t[LADDER_NODES], e[LADDER_NODES];
    double newton[LADDER_TERMS]; /* divided differences over every t taken twice */
} ladder_curve;

/* Newton's polynomial at t, and its derivative. */
POINTWISE double ladder_curve_value(const ladder_curve *c, double t, double *slope)
{
    double value = 0;
    *slope = 0;
    for (int i = 2 * c->n - 1; i >= 0; i--) {
        *slope = *slope * (t - c->t[i / 2]) + value;
        value = value * (t - c->t[i / 2]) + c->newton[i];
    }
    return value;
}

/* Lagrange's polynomial through the means e at t. */
POINTWISE double ladder_curve_expected(const ladder_curve *c, double t)
{
    double sum = 0;
    for (int i = 0; i < c->n; i++) {
        double term = c->e[i];
        for (int j = 0; j < c->n; j++)
            if (j != i) term *= (t - c->t[j]) / (c->t[i] - c->t[j]);
        sum += term;
    }
    return sum;
}

/* The curve for t between rungs b and b - 1. sums: rungs of beta = 1, 1/2, .. */
POINTWISE void ladder_curve_make(const double (*sums)[3], int b, ladder_curve *c)
{
    double slope[LADDER_NODES];
    const int first = b > 2 ? b - 2 : 0, last = b + 1 < LADDER ? b + 1 : LADDER - 1;
    c->n = last - first + 1;
    for (int i = 0; i < c->n; i++) {
        const double *sum = sums[first + i];
        c->t[i] = -(first + i) * M_LN2;
        c->e[i] = sum[2] / sum[0];
        c->newton[2 * i] = c->newton[2 * i + 1] = log(sum[0]);
        slope[i] = ldexp(sum[1], -(first + i)) / sum[0];
    }
    for (int order = 1; order < 2 * c->n; order++)
        for (int i = 2 * c->n - 1; i >= order; i--) {
            const double step = c->t[i / 2] - c->t[(i - order) / 2];
            c->newton[i] = step != 0 ? (c->newton[i] - c->newton[i - 1]) / step : slope[i / 2];
        }
}

/* The beta at which the entropy, log Z - d log Z / dt, meets the target, and what goes with it; 1
   where the posterior is softer than that as it is. */
POINTWISE double ladder_beta(const double (*sums)[3], double target, double *log_z, double *entropy,
                             double *expected)
{
    int b = 0;
    for (; b < LADDER; b++) {
        *log_z = log(sums[b][0]);
        *entropy = *log_z - ldexp(sums[b][1], -b) / sums[b][0];
        *expected = sums[b][2] / sums[b][0];
        if (*entropy >= target) break;
    }
    if (b == 0) return 1;
    if (b == LADDER) return ldexp(1.0, 1 - LADDER); /* as soft as it can be made */
    ladder_curve c;
    ladder_curve_make(sums, b, &c);
    double low = -b * M_LN2, high = (1 - b) * M_LN2, slope; /* the entropy falls with t */
    for (int i = 0; i < 40; i++) {
        const double t = (low + high) / 2, value = ladder_curve_value(&c, t, &slope);
        if (value - slope >= target)
            low = t;
        else
            high = t;
    }
    *log_z = ladder_curve_value(&c, low, &slope);
    *entropy = *log_z - slope;
    *expected = ladder_curve_expected(&c, low);
    return exp(low);
}

/* The choice of row i. */
POINTWISE void ladder_choose(const ladder *state, const ladder_rule *rule, int64_t i)
{
    double beta = ladder_beta((const double(*)[3])state->sums[i], rule->hard ? -1 : rule->entropy,
                              &state->log_z[i], &state->entropy[i], &state->expected[i]);
    state->beta[i] = rule->hard ? -1 : beta;
    if (rule->hard) state->entropy[i] = 0;
    state->expected[i] += rule->total;
}

/* Row i only fills up a block: it belongs to no reference, and nobody reads its scores. */
POINTWISE void ladder_leave(const ladder *state, int64_t i)
{
    state->best[i] = -1;
    state->beta[i] = -1;
    state->log_z[i] = state->entropy[i] = state->expected[i] = 0;
}

#endif
