/* sanitize_nufft_cuda.c: a small grid of transforms on a GPU, for compute-sanitizer: every kernel
   once or twice, sizes that do not divide, empty bins, bad points.

   sanitize_nufft_cuda [PART PARTS]: the cases whose number is PART modulo PARTS, as racecheck takes
   minutes for all of them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "nufft/nufft.h"

/* A method that does not fit is no failure. */
static int run(const device *dev, int dim, int64_t side, int64_t n, const nufft_options *o)
{
    const int64_t modes[3] = {side, dim > 1 ? side - 2 : 1, dim > 2 ? side - 1 : 1};
    int64_t size = (int64_t)real_size(o->precision), m = modes[0] * modes[1] * modes[2] * o->batch;
    int64_t numbers = 3 * n + 2 * n * o->batch + 2 * m;
    char *host = malloc((size_t)(numbers * size));
    void *memory = NULL;
    nufft *plan = NULL;
    if (!host) return 1;
    for (int64_t i = 0; i < numbers; i++) {
        double value = fmod((double)i * 0.7548776662466927, 1.0) * 6 - 3;
        if (i == 5) value = (double)NAN;
        if (o->precision == PRECISION_SINGLE)
            ((float *)host)[i] = (float)value;
        else
            ((double *)host)[i] = value;
    }
    status made = nufft_create(dev, dim, modes, o, &plan);
    int bad = made != STATUS_OK || device_alloc(dev, numbers * size, &memory) != STATUS_OK ||
              device_from_host(dev, memory, host, numbers * size) != STATUS_OK;
    char *at = memory, *values = at + 3 * n * size, *f = values + 2 * n * o->batch * size;
    const void *const x[3] = {at, at + n * size, at + 2 * n * size};
    for (int twice = 0; twice < 2 && !bad; twice++)
        bad = nufft_set_points(plan, twice ? n : n / 3, x) != STATUS_OK ||
              nufft_adjoint(plan, values, f) != STATUS_OK ||
              nufft_forward(plan, f, values) != STATUS_OK ||
              device_to_host(dev, host, memory, numbers * size) != STATUS_OK;
    if (bad && made != STATUS_UNSUPPORTED) fprintf(stderr, "%s\n", status_message());
    nufft_destroy(plan);
    device_free(dev, memory);
    free(host);
    return bad && made != STATUS_UNSUPPORTED;
}

/* By the default method (which is not tiles, as points are few), by tiles, by one of the paper's. */
static int run_methods(const device *dev, int i)
{
    const double tolerance[2][5] = {{1e-2, 1e-4, 1e-5, 1e-6, 1e-7},
                                    {1e-3, 1e-6, 1e-9, 1e-12, 1e-13}};
    int p = i % 2, k = i / 2 % 5, dim = i / 10 % 3 + 1, path = i / 30 % 2;
    nufft_options o = {.precision = p ? PRECISION_DOUBLE : PRECISION_SINGLE,
                       .tolerance = tolerance[p][k],
                       .real = path,
                       .batch = 1 + (k + path) % 2,
                       .deterministic = i >= 60};
    int failed = run(dev, dim, 9, 700, &o);
    o.method = NUFFT_TILE;
    failed += run(dev, dim, 9, 700, &o);
    o.method = k % 2 ? NUFFT_GM : dim > 1 && i < 60 ? NUFFT_SM : NUFFT_GM_SORT;
    return k < 3 ? failed + run(dev, dim, 9, 700, &o) : failed;
}

/* Sorting by parts, which this program does from few points on: light, heavy, many parts. */
static int run_parts(const device *dev, int i)
{
    const nufft_options o = {.precision = PRECISION_SINGLE, .tolerance = 1e-4, .batch = 1};
    return i == 0   ? run(dev, 2, 30, 9000, &o)
           : i == 1 ? run(dev, 3, 9, 12000, &o)
                    : run(dev, 3, 60, 15000, &o);
}

int main(int n, char **arguments)
{
    enum { METHODS = 120, CASES = METHODS + 3 };
    device *dev;
    int part = n > 2 ? atoi(arguments[1]) : 0, parts = n > 2 ? atoi(arguments[2]) : 1, failed = 0;
    if (part < 0 || part >= parts) {
        fprintf(stderr, "sanitize_nufft_cuda [PART PARTS], PART from 0 to PARTS - 1\n");
        return 1;
    }
    if (device_create_cuda(-1, &dev) != STATUS_OK) {
        fprintf(stderr, "SKIPPED: %s\n", status_message());
        return 77;
    }
    for (int i = part; i < CASES; i += parts)
        failed += i < METHODS ? run_methods(dev, i) : run_parts(dev, i - METHODS);
    device_destroy(dev);
    return failed ? 1 : 0;
}
