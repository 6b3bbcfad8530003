#include "stage_floor.h"

#include "core/clock.h"
#include "mtip/kernels.h"
#include "mtip/random.h"

#include <math.h>
#include <stdlib.h>

double floor_transform(double n)
{
    return 2.5 * n * log2(n);
}

static double voxels(int64_t n)
{
    return (double)n * (double)n * (double)n;
}

/* One decimal digit a cell, and one more cell. */
double floor_window(double tolerance)
{
    return pow(ceil(1 - log10(tolerance)), 3);
}

stage_work slice_work(precision p, int64_t n, double tolerance, int64_t points)
{
    const double m = (double)points, grid = voxels(2 * n);
    return (stage_work){(double)real_size(p) * (m + 2 * grid),
                        2 * floor_window(tolerance) * m + floor_transform(grid)};
}

stage_work match_work(precision p, int64_t images, int64_t references, int64_t pixels)
{
    const double k = (double)images, r = (double)references, n = (double)pixels;
    return (stage_work){(double)real_size(p) * (2 * k * n + 3 * r * n + 3 * k * r), 4 * k * r * n};
}

stage_work merge_work(precision p, int64_t n, double tolerance, int64_t points)
{
    const double m = (double)points, grid = voxels(4 * n);
    return (stage_work){(double)real_size(p) * (2 * m + 4 * grid),
                        4 * floor_window(tolerance) * m + 2 * floor_transform(grid)};
}

stage_work solve_work(precision p, int64_t n, int64_t iterations)
{
    const double grid = voxels(2 * n), i = (double)iterations;
    return (stage_work){4 * (double)real_size(p) * grid * i, 2 * floor_transform(grid) * i};
}

stage_work phase_work(precision p, int64_t n, int64_t steps, int64_t starts)
{
    const double grid = voxels(n), i = (double)steps * (double)starts;
    return (stage_work){6 * (double)real_size(p) * grid * i, 2 * floor_transform(grid) * i};
}

/* Reals of a copy, more than fit a cache; edge of the matrices of a product, which take longer to
   multiply than to start. */
typedef struct probe {
    int64_t copied, edge;
} probe;

static int64_t reals(probe o)
{
    const int64_t copy = 2 * o.copied, product = 3 * o.edge * o.edge;
    return copy > product ? copy : product;
}

/* The best of a few. */
static status measure(const device *dev, precision p, probe o, char *memory, machine_rates *rates)
{
    const int64_t n = o.edge, matrix = real_bytes(p, n * n), copy = real_bytes(p, o.copied);
    const image_rows rows = {.n_rows = n, .n_pixels = n, .stride = n, .data = memory};
    for (int i = 0; i < 4; i++) {
        TRY(device_synchronize(dev));
        const double start = clock_seconds();
        TRY(device_copy(dev, memory + copy, memory, copy));
        TRY(device_synchronize(dev));
        const double middle = clock_seconds();
        TRY(image_kernels_of(dev, p)->score(dev, &rows, n, n, memory + matrix, memory + 2 * matrix,
                                            n));
        TRY(device_synchronize(dev));
        rates->bytes = fmax(rates->bytes, 2 * (double)copy / (middle - start));
        rates->operations = fmax(rates->operations, 2 * voxels(n) / (clock_seconds() - middle));
    }
    return STATUS_OK;
}

/* Random numbers: arithmetic with zeros is cheaper than any other on some machines. */
static status fill(const device *dev, precision p, int64_t n, char *memory)
{
    enum { BLOCK = 1 << 16 };
    double *values = malloc(BLOCK * sizeof *values);
    random_stream stream;
    status result = STATUS_OK;
    if (!values) FAIL(STATUS_RESOURCE, "out of host memory");
    random_start(&stream, 1, RANDOM_TURN, 0, 0);
    for (int i = 0; i < BLOCK; i++)
        values[i] = random_uniform(&stream);
    for (int64_t done = 0; done < n && result == STATUS_OK; done += BLOCK)
        result = device_from_doubles(dev, p, n - done < BLOCK ? n - done : BLOCK, values,
                                     memory + done * (int64_t)real_size(p));
    free(values);
    return result;
}

status machine_measure(const device *dev, precision p, machine_rates *rates)
{
    const probe o =
        device_kind_of(dev) == DEVICE_CPU ? (probe){1 << 22, 512} : (probe){1 << 26, 6144};
    void *memory = NULL;
    *rates = (machine_rates){0, 0};
    TRY(device_alloc(dev, real_bytes(p, reals(o)), &memory));
    status result = fill(dev, p, reals(o), memory);
    if (result == STATUS_OK) result = measure(dev, p, o, memory, rates);
    device_free(dev, memory);
    return result;
}

double floor_seconds(stage_work work, machine_rates rates)
{
    return fmax(work.bytes / rates.bytes, work.operations / rates.operations);
}
