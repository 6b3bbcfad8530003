/* inject_flip.c: a device that computes wrongly, for tests: linked into a program of its own (mtip_flip)
   around the stages' functions, by ld --wrap.  From call MTIP_FLIP_CALL (1, the first, if not given) of
   the function MTIP_FLIP on, one exponent bit of every MTIP_FLIP_EVERY-th number of what it gives is
   flipped, in the memory of the device; 0: of one alone, a third of the way, and only in that call. */
#include <stdlib.h>
#include <string.h>

#include "devices.h"
#include "mtip/match.h"
#include "mtip/merge.h"
#include "mtip/phase.h"
#include "mtip/slice.h"
#include "run_options.h"

static const device *dev;
static precision kind;
static int64_t size; /* of the grid */
static int64_t n_pixels, n_slices;

static long number(const char *name, long otherwise)
{
    const char *text = getenv(name);
    return text ? atol(text) : otherwise;
}

/* Multiplies or divides by 2^4. */
static status flip(char *memory, int64_t i, precision p)
{
    const int64_t bytes = (int64_t)real_size(p);
    uint64_t bits = 0;
    TRY(device_to_host(dev, &bits, memory + i * bytes, bytes));
    bits ^= (uint64_t)1 << (p == PRECISION_SINGLE ? 25 : 54);
    TRY(device_from_host(dev, memory + i * bytes, &bits, bytes));
    return device_synchronize(dev);
}

/* The function's turn, its result and n numbers that it gave. */
static status spoil(const char *function, status result, void *memory, int64_t n, precision p)
{
    static long calls;
    const char *wanted = getenv("MTIP_FLIP");
    if (result != STATUS_OK || !wanted || strcmp(wanted, function) != 0 || n == 0) return result;
    const long call = ++calls, from = number("MTIP_FLIP_CALL", 1);
    const long every = number("MTIP_FLIP_EVERY", 0);
    if (every == 0) return call == from ? flip(memory, n / 3, p) : STATUS_OK;
    for (int64_t i = 0; i < n && call >= from; i += every)
        TRY(flip(memory, i, p));
    return STATUS_OK;
}

#define WRAP(name, ...)                \
    status __real_##name(__VA_ARGS__); \
    status __wrap_##name(__VA_ARGS__); \
    status __wrap_##name(__VA_ARGS__)

WRAP(devices_choose, const config *cfg, comm *world, int threads, device **chosen)
{
    const status result = __real_devices_choose(cfg, world, threads, chosen);
    dev = *chosen;
    kind = run_precision(cfg);
    size = cfg->grid.size;
    return result;
}

WRAP(slicer_run, slicer *s, int64_t n, const double *quaternions, int64_t pixels,
     const void *points, void *slices)
{
    n_slices = n;
    n_pixels = pixels;
    return spoil("slicer_run", __real_slicer_run(s, n, quaternions, pixels, points, slices), slices,
                 n * pixels, kind);
}

/* What is compared with the images. */
WRAP(match_add, match *m, int64_t first, int64_t count, void *slices)
{
    const status result = spoil("match_add", STATUS_OK, slices, n_slices * n_pixels, kind);
    return result == STATUS_OK ? __real_match_add(m, first, count, slices) : result;
}

WRAP(match_tomograms, match *m, int64_t n, const int64_t *columns, void *tomograms)
{
    return spoil("match_tomograms", __real_match_tomograms(m, n, columns, tomograms), tomograms,
                 n * n_pixels, kind);
}

WRAP(merger_add, merger *m, int64_t n, const double *quaternions, const double *weights,
     int64_t pixels, const void *points, const void *data)
{
    void *kernel, *sums;
    int64_t n_kernel, n_sums;
    status result = spoil("merger_add", STATUS_OK, (void *)(size_t)data, n * pixels, kind);
    if (result == STATUS_OK)
        result = __real_merger_add(m, n, quaternions, weights, pixels, points, data);
    merger_sums(m, &kernel, &n_kernel, &sums, &n_sums);
    result = spoil("merger_kernel", result, kernel, n_kernel, kind);
    return spoil("merger_data", result, sums, n_sums, kind);
}

WRAP(merger_solve, merger *m, void *autocorrelation, merge_report *report)
{
    return spoil("merger_solve", __real_merger_solve(m, autocorrelation, report), autocorrelation,
                 size * size * size, kind);
}

/* Those on another device are the checks' own. */
static const phaser *another;

WRAP(phaser_create, const device *on, const phase_options *options, phaser **created)
{
    const status result = __real_phaser_create(on, options, created);
    if (on != dev) another = *created;
    return result;
}

WRAP(phaser_get, phaser *p, double *densities, double *r_factors)
{
    const status result = __real_phaser_get(p, densities, r_factors);
    if (p == another) return result;
    return spoil("phaser_get", result, densities, size * size * size, PRECISION_DOUBLE);
}

WRAP(phaser_autocorrelation, phaser *p, const double *density, void *autocorrelation)
{
    return spoil("phaser_autocorrelation",
                 __real_phaser_autocorrelation(p, density, autocorrelation), autocorrelation,
                 size * size * size, kind);
}
