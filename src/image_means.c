#include "image_means.h"

#include <math.h>
#include <stdlib.h>

/* Pixels whose sums one thread makes: runs long enough to be read fast, enough of them for threads. */
enum { STRIP = 512 };

static double largest_count(const images *set)
{
    double largest = 0;
    const int64_t n = set->counts ? set->n_local * set->n_pixels : set->lists.start[set->n_local];
#pragma omp parallel for schedule(static) reduction(max : largest)
    for (int64_t i = 0; i < n; i++) {
        const double count = set->counts ? (double)set->counts[i] : set->lists.counts[i];
        largest = count > largest ? count : largest;
    }
    return largest;
}

/* Fixed-point sums of counts and of their squares, each at its scale. */
typedef struct fixed_sums {
    double scale[2];
    int64_t *of[2]; /* [n_pixels] */
} fixed_sums;

static void add_count(const fixed_sums *sums, int64_t p, double count)
{
    sums->of[0][p] += (int64_t)(count * sums->scale[0]);
    sums->of[1][p] += (int64_t)(count * count * sums->scale[1]);
}

static void add_lists(const photon_lists *lists, const fixed_sums *sums)
{
    for (int64_t i = 0; i < lists->start[lists->n_images]; i++)
        add_count(sums, lists->pixel[i], lists->counts[i]);
}

static void add_rows(const images *set, const fixed_sums *sums)
{
    const int64_t n = set->n_pixels;
#pragma omp parallel for schedule(dynamic)
    for (int64_t from = 0; from < n; from += STRIP) {
        const int64_t to = from + STRIP < n ? from + STRIP : n;
        for (int64_t k = 0; k < set->n_local; k++)
            for (int64_t p = from; p < to; p++)
                add_count(sums, p, (double)set->counts[k * n + p]);
    }
}

/* A power of two that lets the sum of n numbers up to `largest` fit. */
static double scale_of(int64_t n, double largest)
{
    return ldexp(1, 61 - (int)ceil(log2(fmax((double)n * largest, 1))));
}

status image_means(images *set, comm *c)
{
    status result = STATUS_OK;
    const int64_t n = set->n_pixels;
    double largest = largest_count(set);
    int64_t *memory = calloc(2 * (size_t)n + 1, sizeof *memory);
    TRY_OR(done, comm_agree(c, memory ? STATUS_OK : FAILED(STATUS_RESOURCE, "out of host memory")));
    TRY_OR(done, comm_max(c, &largest, 1, COMM_DOUBLE));
    const fixed_sums sums = {{scale_of(set->n, largest), scale_of(set->n, largest * largest)},
                             {memory, memory + n}};
    if (set->counts)
        add_rows(set, &sums);
    else
        add_lists(&set->lists, &sums);
    TRY_OR(done, comm_sum(c, memory, 2 * n, COMM_INT64));
    for (int64_t p = 0; p < n; p++) {
        set->mean[p] = (double)memory[p] / sums.scale[0] / (double)set->n;
        set->square[p] = (double)memory[n + p] / sums.scale[1] / (double)set->n;
    }
done:
    free(memory);
    return result;
}
