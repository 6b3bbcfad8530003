#include "bench_machine.h"

#include <stdint.h>
#include <stdlib.h>

#include <omp.h>

#include "core/types.h"

double bench_bandwidth(int n_threads)
{
    enum { REPEAT = 4 };
    const int64_t n = 24 * 1024 * 1024; /* three arrays of 192 MiB: above most caches */
    double *a = calloc((size_t)n, sizeof(double)), *b = malloc(sizeof(double) * (size_t)n);
    double *c = malloc(sizeof(double) * (size_t)n), best = 0;
    for (int r = 0; a && b && c && r < REPEAT; r++) {
        double start = omp_get_wtime();
#pragma omp parallel for num_threads(n_threads) schedule(static)
        for (int64_t i = 0; i < n; i++) {
            if (r == 0) b[i] = c[i] = (double)i;
            a[i] = b[i] + 3 * c[i];
        }
        double rate = 24 * (double)n / (omp_get_wtime() - start) * 1e-9;
        if (r && rate > best) best = rate;
    }
    volatile double keep = a ? a[n / 2] : 0;
    (void)keep;
    free(a);
    free(b);
    free(c);
    return best;
}

WIDEST_VECTORS
static double multiply_adds(int64_t n, double seed)
{
    enum { CHAINS = 128 };
    double x[CHAINS];
    for (int i = 0; i < CHAINS; i++)
        x[i] = seed + i;
    for (int64_t k = 0; k < n; k++)
        for (int i = 0; i < CHAINS; i++)
            x[i] = x[i] * 0.999 + seed;
    double sum = 0;
    for (int i = 0; i < CHAINS; i++)
        sum += x[i];
    return sum;
}

double bench_multiply_adds(int n_threads)
{
    const int64_t n = 1000000;
    double start = omp_get_wtime(), sum = 0;
#pragma omp parallel for num_threads(n_threads) reduction(+ : sum)
    for (int t = 0; t < n_threads; t++)
        sum += multiply_adds(n, 1 + 1e-3 * t);
    volatile double keep = sum;
    (void)keep;
    return 256.0 * (double)n * n_threads / (omp_get_wtime() - start) * 1e-9;
}
