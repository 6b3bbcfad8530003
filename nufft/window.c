#include "nufft/window.h"

#include <math.h>
#include <string.h>

static const double PI = 3.14159265358979323846;

enum { N_LEGENDRE = 64, N_NODES = 20 };

/* psi_0(x) = sum_m a[m] sqrt(2m' + 1/2) P_m'(x), m' = 2m. */
typedef struct prolate {
    double a[N_LEGENDRE];
} prolate;

/* One solve with the symmetric tridiagonal matrix (diagonal - shift, off), by elimination. */
static void solve_tridiagonal(const double *diagonal, const double *off, double shift, double *v)
{
    double pivot[N_LEGENDRE];
    pivot[0] = diagonal[0] - shift;
    for (int i = 1; i < N_LEGENDRE; i++) {
        double ratio = off[i - 1] / pivot[i - 1];
        pivot[i] = diagonal[i] - shift - ratio * off[i - 1];
        v[i] -= ratio * v[i - 1];
    }
    v[N_LEGENDRE - 1] /= pivot[N_LEGENDRE - 1];
    for (int i = N_LEGENDRE - 2; i >= 0; i--)
        v[i] = (v[i] - off[i] * v[i + 1]) / pivot[i];
}

/* The differential operator that commutes with the band limiting is tridiagonal in normalised
   Legendre polynomials (Xiao, Rokhlin, Yarvin 2001, eq. 63-65); psi_0 belongs to its smallest
   eigenvalue, which is about c for large c and never below 0. */
static void make_prolate(double c, prolate *p)
{
    double diagonal[N_LEGENDRE], off[N_LEGENDRE];
    for (int i = 0; i < N_LEGENDRE; i++) {
        double k = 2.0 * i;
        diagonal[i] = k * (k + 1) + c * c * (2 * k * (k + 1) - 1) / ((2 * k + 3) * (2 * k - 1));
        off[i] = c * c * (k + 2) * (k + 1) / ((2 * k + 3) * sqrt((2 * k + 1) * (2 * k + 5)));
        p->a[i] = exp(-i);
    }
    /* Rayleigh quotient iteration would converge faster but may leave the smallest eigenvalue. */
    for (int iteration = 0; iteration < 60; iteration++) {
        solve_tridiagonal(diagonal, off, 0, p->a);
        double norm = 0;
        for (int i = 0; i < N_LEGENDRE; i++)
            norm += p->a[i] * p->a[i];
        for (int i = 0; i < N_LEGENDRE; i++)
            p->a[i] /= sqrt(norm);
    }
}

static double eval_prolate(const prolate *p, double x)
{
    double before = 1, now = x, sum = p->a[0] * sqrt(0.5);
    for (int k = 1; k < 2 * N_LEGENDRE - 2; k++) {
        double next = ((2 * k + 1) * x * now - k * before) / (k + 1);
        before = now;
        now = next;
        if (k % 2 == 1) sum += p->a[(k + 1) / 2] * sqrt(k + 1.5) * now;
    }
    return sum;
}

/* Coefficients of the polynomial through the values at the n Chebyshev nodes cos(pi (j+1/2)/n). */
static void fit_panel(int n, const double *value, double *coefficient)
{
    double before[WINDOW_MAX_TERMS] = {1}, now[WINDOW_MAX_TERMS] = {0, 1};
    memset(coefficient, 0, sizeof(double) * (size_t)n);
    for (int m = 0; m < n; m++) { /* `before` holds T_m, `now` T_m+1 */
        double c = 0;
        for (int j = 0; j < n; j++)
            c += value[j] * cos(PI * m * (j + 0.5) / n);
        c *= (m ? 2.0 : 1.0) / n;
        double next[WINDOW_MAX_TERMS] = {0};
        for (int i = 0; i < n; i++) {
            coefficient[i] += c * before[i];
            next[i] = 2 * (i ? now[i - 1] : 0) - before[i];
        }
        memcpy(before, now, sizeof now);
        memcpy(now, next, sizeof next);
    }
}

/* Terms beyond which the fit no longer improves the transform. */
static int terms_for(int width, double sigma)
{
    int n = sigma > 1.6 ? (width <= 6    ? width + 2
                           : width <= 12 ? width + 1
                                         : width)
                        : 4 + (width + 1) / 2;
    return n < 4 ? 4 : n > WINDOW_MAX_TERMS ? WINDOW_MAX_TERMS : n;
}

void window_make(int width, double sigma, window *made)
{
    prolate p;
    make_prolate(PI * width * (1 - 0.5 / sigma) - 0.05, &p);
    memset(made, 0, sizeof *made);
    made->width = width;
    made->n_terms = terms_for(width, sigma);
    int n = made->n_terms;
    double centre = eval_prolate(&p, 0);
    for (int i = 0; i < (width + 1) / 2; i++) {
        double value[WINDOW_MAX_TERMS], fit[WINDOW_MAX_TERMS];
        for (int j = 0; j < n; j++) {
            double t = cos(PI * (j + 0.5) / n);
            value[j] = eval_prolate(&p, (2 * i + 1 + t) / width - 1) / centre;
        }
        fit_panel(n, value, fit);
        bool middle = 2 * i + 1 == width;
        for (int m = 0; m < n; m++) {
            made->coefficient[m][i] = middle && m % 2 ? 0 : fit[m];
            made->coefficient[m][width - 1 - i] = m % 2 ? -made->coefficient[m][i] : fit[m];
        }
    }
}

typedef struct rule {
    double node[N_NODES], weight[N_NODES];
} rule;

/* Gauss-Legendre on [-1, 1], by Newton's method. */
static void make_rule(rule *r)
{
    for (int i = 0; i < N_NODES; i++) {
        double x = cos(PI * (i + 0.75) / (N_NODES + 0.5)), derivative = 1;
        for (int iteration = 0; iteration < 8; iteration++) {
            double before = 1, now = x;
            for (int k = 1; k < N_NODES; k++) {
                double next = ((2 * k + 1) * x * now - k * before) / (k + 1);
                before = now;
                now = next;
            }
            derivative = N_NODES * (x * now - before) / (x * x - 1);
            x -= now / derivative;
        }
        r->node[i] = x;
        r->weight[i] = 2 / ((1 - x * x) * derivative * derivative);
    }
}

static double eval_panel(const window *w, int panel, double t)
{
    double sum = 0;
    for (int m = w->n_terms - 1; m >= 0; m--)
        sum = sum * t + w->coefficient[m][panel];
    return sum;
}

/* The kernel at the nodes of the panels of its left half, times their weights in cells, times 2
   for the right half; x is the distance from the centre. */
typedef struct samples {
    int n;
    double x[WINDOW_MAX_WIDTH * N_NODES], value[WINDOW_MAX_WIDTH * N_NODES];
} samples;

static void make_samples(const window *w, samples *s)
{
    rule r;
    make_rule(&r);
    s->n = 0;
    for (int i = 0; i < (w->width + 1) / 2; i++) {
        bool middle = 2 * i + 1 == w->width; /* stands on both sides of the centre already */
        for (int j = 0; j < N_NODES; j++) {
            s->x[s->n] = i + 0.5 * (1 + r.node[j]) - 0.5 * w->width;
            s->value[s->n++] = 0.5 * r.weight[j] * eval_panel(w, i, r.node[j]) * (middle ? 1 : 2);
        }
    }
}

static double transform(const samples *s, double frequency)
{
    double sum = 0;
    for (int i = 0; i < s->n; i++)
        sum += s->value[i] * cos(2 * PI * frequency * s->x[i]);
    return sum;
}

/* The squared relative error of mode k, averaged over positions in the cell. */
static double alias_power(const samples *s, double k, int64_t fine)
{
    enum { N_ALIASES = 3 };
    double frequency = k / (double)fine, at = transform(s, frequency), aliases = 0;
    for (int m = 1; m <= N_ALIASES; m++)
        aliases += pow(transform(s, frequency + m), 2) + pow(transform(s, frequency - m), 2);
    return aliases / (at * at);
}

/* All modes where there are few; else the integral over k, sampled more densely towards the edge,
   where the error rises steeply. */
double window_error(const window *w, int64_t modes, int64_t fine)
{
    enum { N_SAMPLES = 32 };
    samples s;
    make_samples(w, &s);
    double total = 0;
    if (modes <= 2 * N_SAMPLES) {
        for (int64_t k = 0; k <= modes / 2; k++)
            total += alias_power(&s, (double)k, fine) * (k == 0 || 2 * k == modes ? 1 : 2);
        return sqrt(total / (double)modes);
    }
    for (int i = 0; i < N_SAMPLES; i++) {
        double rest = 1 - (i + 0.5) / N_SAMPLES;
        total += 2 * rest * alias_power(&s, 0.5 * (double)modes * (1 - rest * rest), fine);
    }
    return sqrt(total / N_SAMPLES);
}

double window_edge(const window *w, int64_t modes, int64_t fine)
{
    samples s;
    make_samples(w, &s);
    return transform(&s, 0) / transform(&s, (double)(modes / 2) / (double)fine);
}

void window_factors(const window *w, int64_t modes, int64_t fine, double *factors)
{
    enum { RESTART = 64 }; /* modes between exact phases; rotation in between */
    samples s;
    make_samples(w, &s);
    for (int64_t first = 0; first <= modes / 2; first += RESTART) {
        int64_t n = modes / 2 + 1 - first < RESTART ? modes / 2 + 1 - first : RESTART;
        double sum[RESTART] = {0};
        for (int i = 0; i < s.n; i++) {
            double step = 2 * PI * s.x[i] / (double)fine;
            double re = cos(step * (double)first), im = sin(step * (double)first);
            double c = cos(step), d = sin(step);
            for (int64_t k = 0; k < n; k++) {
                sum[k] += s.value[i] * re;
                double next = re * c - im * d;
                im = re * d + im * c;
                re = next;
            }
        }
        for (int64_t k = 0; k < n; k++)
            factors[first + k] = 1 / sum[k];
    }
}
