/* bench_phase.c: the time of phasing.  Usage: bench_phase cpu|cuda [LOOPS [N]...]

   LOOPS (10) loops of 125 steps and 50 more, for 1, 4 and 20 starts of N (41 81) in both precisions:
   what is done once (create), per target (setting it, starting, getting all), per step, and the
   average of the starts. */
#include "core/clock.h"
#include "mtip/average.h"
#include "mtip/phase.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double now(const device *dev)
{
    (void)device_synchronize(dev);
    return clock_seconds();
}

/* Device arrays: the autocorrelation of something, and room for all densities. */
typedef struct problem {
    phase_options options;
    void *target;
    double *densities, *mean;
    double *host;      /* n^3 */
    double *r_factors; /* host */
} problem;

static status make(const device *dev, problem *p)
{
    const int64_t n = p->options.size, all = p->options.starts * cube(n);
    void *memory;
    phaser *one;
    p->host = malloc((size_t)cube(n) * sizeof(double));
    p->r_factors = malloc((size_t)p->options.starts * sizeof(double));
    if (!p->host || !p->r_factors) FAIL(STATUS_RESOURCE, "out of host memory");
    for (int64_t i = 0; i < cube(n); i++)
        p->host[i] = (double)(i % 7 == 0) + (i % n > n / 3 && i % n < n / 2);
    TRY(device_alloc(dev, real_bytes(p->options.precision, cube(n)), &p->target));
    TRY(device_alloc(dev, all * (int64_t)sizeof(double), &memory));
    p->densities = memory;
    TRY(device_alloc(dev, cube(n) * (int64_t)sizeof(double), &memory));
    p->mean = memory;
    TRY(device_from_host(dev, p->densities, p->host, cube(n) * (int64_t)sizeof(double)));
    phase_options options = p->options;
    options.starts = 1;
    TRY(phaser_create(dev, &options, &one));
    status result = phaser_autocorrelation(one, p->densities, p->target);
    phaser_destroy(one);
    return result;
}

/* seconds: create, target and starts, run, get, average. */
static status measure(const device *dev, const problem *p, int loops, double seconds[5])
{
    const int64_t n = p->options.size, starts = p->options.starts;
    average_report report;
    averager *a;
    phaser *f;
    seconds[0] = now(dev);
    TRY(phaser_create(dev, &p->options, &f));
    for (int again = 0; again < 2; again++) {
        seconds[1] = now(dev);
        if (again == 0) seconds[0] = seconds[1] - seconds[0];
        TRY(phaser_set_target(f, p->target, 1, (double)n / 2));
        for (int64_t s = 0; s < starts; s++)
            TRY(phaser_start_random(f, s, 1, (uint64_t)s));
        seconds[2] = now(dev);
        TRY(phaser_run(f, again ? loops : 0));
        seconds[3] = now(dev);
        TRY(phaser_get(f, p->densities, p->r_factors));
        seconds[4] = now(dev);
    }
    for (int i = 1; i < 4; i++)
        seconds[i] = seconds[i + 1] - seconds[i];
    TRY(averager_create(dev, n, starts, &a));
    for (int again = 0; again < 2; again++) {
        seconds[4] = now(dev);
        TRY(averager_run(a, 0.9, p->r_factors, p->densities, p->mean, &report));
        seconds[4] = now(dev) - seconds[4];
    }
    averager_destroy(a);
    phaser_destroy(f);
    return STATUS_OK;
}

static status bench(const device *dev, int64_t n, int64_t starts, precision prec, int loops)
{
    double seconds[5];
    const int steps = loops * 125 + 50;
    problem p = {.options = {.precision = prec,
                             .size = n,
                             .starts = starts,
                             .radius = 0.24 * (double)n,
                             .step = PHASE_HIO,
                             .n_er = 50,
                             .n_hio = 25,
                             .beta = 0.9,
                             .blur = 1,
                             .threshold = 0.1}};
    status result = make(dev, &p);
    if (result == STATUS_OK) result = measure(dev, &p, loops, seconds);
    if (result == STATUS_OK)
        printf("%s %3lld %3lld %9.3f %9.3f %9.3f %9.3f %9.3f %9.2f\n",
               prec == PRECISION_SINGLE ? "single" : "double", (long long)n, (long long)starts,
               1e3 * seconds[0], 1e3 * seconds[1], 1e3 * seconds[2], 1e3 * seconds[3],
               1e3 * seconds[4], 1e6 * seconds[2] / steps);
    (void)fflush(stdout);
    device_free(dev, p.target);
    device_free(dev, p.densities);
    device_free(dev, p.mean);
    free(p.host);
    free(p.r_factors);
    return result;
}

int main(int argc, char **argv)
{
    static const int64_t counts[] = {1, 4, 20};
    device *dev;
    const bool cuda = argc > 1 && strcmp(argv[1], "cuda") == 0;
    const int loops = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 10;
    status result = cuda ? device_create_cuda(-1, &dev) : device_create_cpu(0, &dev);
    if (result == STATUS_OK)
        printf("%d steps, milliseconds\n            N starts  create    target       run       get"
               "   average  us/step\n",
               loops * 125 + 50);
    for (int i = argc > 3 ? 3 : 0; i < (argc > 3 ? argc : 2) && result == STATUS_OK; i++)
        for (precision p = PRECISION_SINGLE; p <= PRECISION_DOUBLE; p++)
            for (int c = 0; c < 3 && result == STATUS_OK; c++)
                result = bench(dev, argc > 3 ? strtol(argv[i], NULL, 10) : 41 + 40 * i, counts[c],
                               p, loops);
    if (result != STATUS_OK) fprintf(stderr, "bench_phase: %s\n", status_message());
    return result != STATUS_OK;
}
