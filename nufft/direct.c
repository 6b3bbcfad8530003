#include "nufft/nufft.h"

#include <math.h>
#include <stdlib.h>

#include "nufft/fold.h"

/* Phases are tabulated in blocks, so that nothing is allocated. */
enum { BLOCK = 64 };

typedef struct span {
    int64_t begin, n;
} span;

typedef struct phases {
    double re[BLOCK], im[BLOCK];
} phases;

/* exp(i sign k x) for the n modes from index `first` of N. k x is formed in turns as a sum of two
   doubles, so that reducing it loses nothing. */
static void fill_phases(phases *p, double x, int64_t modes, span at, int sign)
{
    double high, low;
    turns_of(x, &high, &low);
    for (int64_t i = 0; i < at.n; i++) {
        double k = (double)(at.begin + i - modes / 2);
        double product = k * high, rest = fma(k, high, -product) + k * low;
        double angle = 6.283185307179586477 * ((product - rint(product)) + rest);
        p->re[i] = cos(angle);
        p->im[i] = sign < 0 ? -sin(angle) : sin(angle);
    }
}

typedef struct sizes {
    int64_t n[3];
    int sign;
} sizes;

static sizes sizes_of(int dim, const int64_t modes[], int sign)
{
    sizes s = {{1, 1, 1}, sign};
    for (int d = 0; d < dim; d++)
        s.n[d] = modes[d];
    return s;
}

static double coordinate(int dim, const double *const x[], int d, int64_t j)
{
    return d < dim ? x[d][j] : 0;
}

static span next_block(int64_t begin, int64_t n)
{
    return (span){begin, n - begin < BLOCK ? n - begin : BLOCK};
}

/* The sum over one block of modes for one point: e[d] are its phases. */
static void sum_block(const sizes *s, const span b[3], phases e[3], const double *f, double sum[2])
{
    for (int64_t z = 0; z < b[2].n; z++)
        for (int64_t y = 0; y < b[1].n; y++) {
            const double *row =
                f + 2 * (((b[2].begin + z) * s->n[1] + b[1].begin + y) * s->n[0] + b[0].begin);
            double re = 0, im = 0;
            for (int64_t x = 0; x < b[0].n; x++) {
                re += row[2 * x] * e[0].re[x] - row[2 * x + 1] * e[0].im[x];
                im += row[2 * x] * e[0].im[x] + row[2 * x + 1] * e[0].re[x];
            }
            double c = e[2].re[z] * e[1].re[y] - e[2].im[z] * e[1].im[y];
            double d = e[2].re[z] * e[1].im[y] + e[2].im[z] * e[1].re[y];
            sum[0] += re * c - im * d;
            sum[1] += re * d + im * c;
        }
}

/* Adds up all modes at one point. */
static void sum_point(const sizes *s, int dim, const double *const coordinates[], int64_t j,
                      const double *f, double sum[2])
{
    phases e[3];
    span b[3];
    for (int64_t z = 0; z < s->n[2]; z += BLOCK) {
        b[2] = next_block(z, s->n[2]);
        fill_phases(&e[2], coordinate(dim, coordinates, 2, j), s->n[2], b[2], s->sign);
        for (int64_t y = 0; y < s->n[1]; y += BLOCK) {
            b[1] = next_block(y, s->n[1]);
            fill_phases(&e[1], coordinate(dim, coordinates, 1, j), s->n[1], b[1], s->sign);
            for (int64_t x = 0; x < s->n[0]; x += BLOCK) {
                b[0] = next_block(x, s->n[0]);
                fill_phases(&e[0], coordinate(dim, coordinates, 0, j), s->n[0], b[0], s->sign);
                sum_block(s, b, e, f, sum);
            }
        }
    }
}

void nufft_direct_forward(int dim, const int64_t modes[], int sign, int64_t n,
                          const double *const coordinates[], const double *f, double *c)
{
    sizes s = sizes_of(dim, modes, sign < 0 ? -1 : 1);
#pragma omp parallel for schedule(static)
    for (int64_t j = 0; j < n; j++) {
        double sum[2] = {0, 0};
        sum_point(&s, dim, coordinates, j, f, sum);
        c[2 * j] = sum[0];
        c[2 * j + 1] = sum[1];
    }
}

/* Adds one point to the block of modes at b, which starts at `f` (rows n[0], planes n[0] n[1]). */
static void add_block(const sizes *s, const span b[3], phases e[3], const double c[2], double *f)
{
    for (int64_t z = 0; z < b[2].n; z++)
        for (int64_t y = 0; y < b[1].n; y++) {
            double *row =
                f + 2 * (((b[2].begin + z) * s->n[1] + b[1].begin + y) * s->n[0] + b[0].begin);
            double pr = e[2].re[z] * e[1].re[y] - e[2].im[z] * e[1].im[y];
            double pi = e[2].re[z] * e[1].im[y] + e[2].im[z] * e[1].re[y];
            double re = c[0] * pr - c[1] * pi, im = c[0] * pi + c[1] * pr;
            for (int64_t x = 0; x < b[0].n; x++) {
                row[2 * x] += re * e[0].re[x] - im * e[0].im[x];
                row[2 * x + 1] += re * e[0].im[x] + im * e[0].re[x];
            }
        }
}

void nufft_direct_adjoint(int dim, const int64_t modes[], int sign, int64_t n,
                          const double *const coordinates[], const double *c, double *f)
{
    sizes s = sizes_of(dim, modes, sign < 0 ? 1 : -1);
    /* Blocks of one z plane and BLOCK x BLOCK modes belong to one thread. */
    int64_t by = (s.n[1] + BLOCK - 1) / BLOCK, bx = (s.n[0] + BLOCK - 1) / BLOCK;
    int64_t total = s.n[0] * s.n[1] * s.n[2];
    for (int64_t i = 0; i < 2 * total; i++)
        f[i] = 0;
#pragma omp parallel for schedule(static)
    for (int64_t t = 0; t < s.n[2] * by * bx; t++) {
        phases e[3];
        span b[3] = {next_block(t % bx * BLOCK, s.n[0]),
                     next_block(t / bx % by * BLOCK, s.n[1]),
                     {t / (bx * by), 1}};
        for (int64_t j = 0; j < n; j++) {
            for (int d = 0; d < 3; d++)
                fill_phases(&e[d], coordinate(dim, coordinates, d, j), s.n[d], b[d], s.sign);
            add_block(&s, b, e, c + 2 * j, f);
        }
    }
}
