/* example.c: transforms of types 2 and 1 beside the exact sums.

   With the library installed in PREFIX:
       cmake -S . -B build -DCMAKE_PREFIX_PATH=PREFIX && cmake --build build && build/example
   or, with PREFIX/lib/pkgconfig in PKG_CONFIG_PATH:
       cc example.c $(pkg-config --cflags --libs nufft) && ./a.out */
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "nufft/nufft.h"

enum { N = 20, MODES = N * N * N, POINTS = 1000 };

static double x[3][POINTS];
static double complex modes[MODES], values[POINTS]; /* what is transformed */
static double complex forward[POINTS], exact_forward[POINTS];
static double complex adjoint[MODES], exact_adjoint[MODES];

static void make_data(void)
{
    for (int j = 0; j < POINTS; j++) {
        for (int d = 0; d < 3; d++)
            x[d][j] = 6.28 * rand() / RAND_MAX - 3.14;
        values[j] = cexp(I * j * j);
    }
    for (int i = 0; i < MODES; i++)
        modes[i] = cexp(I * i * i);
}

/* |a - b| / |b| */
static double error(int n, const double complex *a, const double complex *b)
{
    double difference = 0, norm = 0;
    for (int i = 0; i < n; i++) {
        difference += pow(cabs(a[i] - b[i]), 2);
        norm += pow(cabs(b[i]), 2);
    }
    return sqrt(difference / norm);
}

/* The arrays are in the memory of the plan's device. */
static status transform(nufft *plan)
{
    const void *const coordinates[] = {x[0], x[1], x[2]};
    TRY(nufft_set_points(plan, POINTS, coordinates));
    TRY(nufft_forward(plan, modes, forward));
    return nufft_adjoint(plan, values, adjoint);
}

int main(void)
{
    const int64_t size[] = {N, N, N};
    const double *const coordinates[] = {x[0], x[1], x[2]};
    const nufft_options options = {.precision = PRECISION_DOUBLE, .tolerance = 1e-9};
    status result = STATUS_OK;
    device *cpu = NULL;
    nufft *plan = NULL;
    make_data();
    TRY_OR(done, device_create_cpu(0, &cpu));
    TRY_OR(done, nufft_create(cpu, 3, size, &options, &plan));
    TRY_OR(done, transform(plan));
    nufft_direct_forward(3, size, 1, POINTS, coordinates, (double *)modes, (double *)exact_forward);
    nufft_direct_adjoint(3, size, 1, POINTS, coordinates, (double *)values,
                         (double *)exact_adjoint);
done:
    nufft_destroy(plan);
    device_destroy(cpu);
    if (result != STATUS_OK) {
        fprintf(stderr, "example: %s\n", status_message());
        return 1;
    }
    double type2 = error(POINTS, forward, exact_forward),
           type1 = error(MODES, adjoint, exact_adjoint);
    printf("tolerance %g, error of type 2 %.1e, of type 1 %.1e\n", options.tolerance, type2, type1);
    return type2 <= options.tolerance && type1 <= options.tolerance ? 0 : 1;
}
