#include "mtip/average.h"

#include "mtip/align.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int descending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

/* Mean of the densities whose correlation is at least `least`. */
static int64_t mean_above(int64_t size, int64_t n_starts, const double *densities,
                          const double *correlation, double least, double *mean)
{
    int64_t used = 0;
    memset(mean, 0, (size_t)size * sizeof *mean);
    for (int64_t s = 0; s < n_starts; s++) {
        if (!(correlation[s] >= least)) continue;
        used++;
        for (int64_t i = 0; i < size; i++)
            mean[i] += densities[s * size + i];
    }
    for (int64_t i = 0; i < size && used > 0; i++)
        mean[i] /= (double)used;
    return used;
}

static status align_all(const device *dev, int64_t n, int64_t n_starts, const double *fixed,
                        double *densities, double *correlation)
{
    for (int64_t s = 0; s < n_starts; s++) {
        alignment found;
        TRY(align_shift_hand(dev, n, fixed, densities + s * n * n * n, &found));
        correlation[s] = found.correlation;
    }
    return STATUS_OK;
}

status average_densities(const device *dev, int64_t n, int64_t n_starts, double keep,
                         const double *r_factors, double *densities, double *mean,
                         average_report *report)
{
    status result = STATUS_OK;
    const int64_t size = n * n * n;
    double *correlation = malloc((size_t)n_starts * 2 * sizeof *correlation);
    if (!correlation) FAIL(STATUS_RESOURCE, "out of host memory");
    double *sorted = correlation + n_starts;
    int64_t best = 0;
    for (int64_t s = 1; s < n_starts; s++)
        if (r_factors[s] < r_factors[best]) best = s;
    memcpy(mean, densities + best * size, (size_t)size * sizeof *mean);
    *report = (average_report){1, 1};
    if (n_starts == 1) goto done;
    TRY_OR(done, align_all(dev, n, n_starts, mean, densities, correlation));
    memcpy(sorted, correlation, (size_t)n_starts * sizeof *sorted);
    qsort(sorted, (size_t)n_starts, sizeof *sorted, descending);
    mean_above(size, n_starts, densities, correlation, sorted[n_starts / 2], mean);
    TRY_OR(done, align_all(dev, n, n_starts, mean, densities, correlation));
    memcpy(sorted, correlation, (size_t)n_starts * sizeof *sorted);
    qsort(sorted, (size_t)n_starts, sizeof *sorted, descending);
    report->n_used = mean_above(size, n_starts, densities, correlation, keep * sorted[0], mean);
    report->agreement = 0;
    for (int64_t s = 0; s < report->n_used; s++)
        report->agreement += sorted[s] / (double)report->n_used;
done:
    free(correlation);
    return result;
}
