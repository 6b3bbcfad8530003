#include "mtip/average.h"

#include "mtip/align_shift.h"
#include "mtip/kernels.h"
#include "mtip/prtf.h"

#include <stdlib.h>

struct averager {
    const device *dev;
    int64_t n, n_starts;
    shift_aligner *aligner;
    /* host [n_starts] */
    alignment *found;
    double *sorted; /* correlations, descending */
    int64_t *chosen;
    int64_t n_chosen; /* that make the mean */
};

int64_t averager_forecast(int64_t n, int64_t n_starts)
{
    return shift_aligner_forecast(n, n_starts);
}

status averager_create(const device *dev, int64_t n, int64_t n_starts, averager **created)
{
    status result = STATUS_OK;
    *created = NULL;
    averager *a = calloc(1, sizeof *a);
    if (!a) FAIL(STATUS_RESOURCE, "out of host memory");
    *a = (averager){.dev = dev, .n = n, .n_starts = n_starts};
    a->found = malloc((size_t)n_starts * sizeof *a->found);
    a->sorted = malloc((size_t)n_starts * sizeof *a->sorted);
    a->chosen = malloc((size_t)n_starts * sizeof *a->chosen);
    if (!a->found || !a->sorted || !a->chosen)
        TRY_OR(fail, FAILED(STATUS_RESOURCE, "out of host memory"));
    TRY_OR(fail, shift_aligner_create(dev, n, n_starts, &a->aligner));
    *created = a;
    return STATUS_OK;
fail:
    averager_destroy(a);
    return result;
}

void averager_destroy(averager *a)
{
    if (!a) return;
    shift_aligner_destroy(a->aligner);
    free(a->found);
    free(a->sorted);
    free(a->chosen);
    free(a);
}

static int descending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

static status align_all(averager *a, const double *fixed, double *densities)
{
    TRY(shift_aligner_run(a->aligner, fixed, a->n_starts, densities, a->found));
    for (int64_t s = 0; s < a->n_starts; s++)
        a->sorted[s] = a->found[s].correlation;
    qsort(a->sorted, (size_t)a->n_starts, sizeof *a->sorted, descending);
    return STATUS_OK;
}

/* Mean of the densities whose correlation is at least `least`. */
static status mean_above(averager *a, double least, const double *densities, double *mean)
{
    a->n_chosen = 0;
    for (int64_t s = 0; s < a->n_starts; s++)
        if (a->found[s].correlation >= least) a->chosen[a->n_chosen++] = s;
    return average_kernels_of(a->dev)->mean(a->dev, cube(a->n), a->n_chosen, a->chosen, densities,
                                            mean);
}

status averager_run(averager *a, double keep, const double *r_factors, double *densities,
                    double *mean, average_report *report)
{
    const int64_t size = cube(a->n);
    int64_t best = 0;
    for (int64_t s = 1; s < a->n_starts; s++)
        if (r_factors[s] < r_factors[best]) best = s;
    TRY(device_copy(a->dev, mean, densities + best * size, size * (int64_t)sizeof *mean));
    *report = (average_report){1, 1};
    a->chosen[0] = best;
    a->n_chosen = 1;
    if (a->n_starts == 1) return STATUS_OK;
    TRY(align_all(a, mean, densities));
    TRY(mean_above(a, a->sorted[a->n_starts / 2], densities, mean));
    TRY(align_all(a, mean, densities));
    TRY(mean_above(a, keep * a->sorted[0], densities, mean));
    *report = (average_report){.n_used = a->n_chosen};
    for (int64_t s = 0; s < a->n_chosen; s++)
        report->agreement += a->sorted[s] / (double)a->n_chosen;
    return STATUS_OK;
}

status averager_prtf(const averager *a, const double *densities, double *prtf)
{
    return prtf_find(a->dev, a->n, a->n_chosen, a->chosen, densities, prtf);
}
