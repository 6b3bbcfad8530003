#include "mtip/prtf.h"

#include "mtip/ball.h"
#include "mtip/pointwise.h"

#include <math.h>
#include <stdlib.h>

/* Host arrays. */
typedef struct work {
    double *map;    /* [n]^3 */
    double *values; /* [n_points] complex, of one map */
    double *sum;    /* [n_points] complex, of all maps */
    double *power;  /* [n_shells] of all maps */
} work;

static void work_free(work *w)
{
    free(w->map);
    free(w->values);
    free(w->sum);
    free(w->power);
}

static status work_allocate(const ball *b, work *w)
{
    const size_t n_points = (size_t)b->n_points;
    w->map = malloc((size_t)cube(b->n) * sizeof *w->map);
    w->values = malloc(2 * n_points * sizeof *w->values);
    w->sum = calloc(2 * n_points, sizeof *w->sum);
    w->power = calloc((size_t)b->n_shells, sizeof *w->power);
    if (!w->map || !w->values || !w->sum || !w->power)
        FAIL(STATUS_RESOURCE, "no memory to compare phasings of %lld", (long long)b->n);
    return STATUS_OK;
}

static double square(const double *z)
{
    return z[0] * z[0] + z[1] * z[1];
}

static status add_map(const device *dev, const ball *b, const double *map, work *w)
{
    TRY(device_to_host(dev, w->map, map, cube(b->n) * (int64_t)sizeof *map));
    TRY(ball_from_map(dev, b, w->map, w->values));
    for (int64_t i = 0; i < b->n_points; i++) {
        w->sum[2 * i] += w->values[2 * i];
        w->sum[2 * i + 1] += w->values[2 * i + 1];
        w->power[b->shell[i]] += b->weight[i] * square(w->values + 2 * i);
    }
    return STATUS_OK;
}

static void divide(const ball *b, int64_t n_maps, const work *w, double *value)
{
    for (int s = 0; s < b->n_shells; s++)
        value[s] = 0;
    for (int64_t i = 0; i < b->n_points; i++)
        value[b->shell[i]] += b->weight[i] * square(w->sum + 2 * i);
    for (int s = 0; s < b->n_shells; s++)
        value[s] = w->power[s] > 0 ? sqrt(value[s] / w->power[s] / (double)n_maps) : 0;
}

status prtf_find(const device *dev, int64_t n, int64_t n_chosen, const int64_t *chosen,
                 const double *maps, double *value)
{
    status result = STATUS_OK;
    ball *b = NULL;
    work w = {NULL, NULL, NULL, NULL};
    TRY(ball_create(n, (double)n / 2, &b));
    TRY_OR(done, work_allocate(b, &w));
    for (int64_t m = 0; m < n_chosen; m++)
        TRY_OR(done, add_map(dev, b, maps + chosen[m] * cube(n), &w));
    divide(b, n_chosen, &w, value);
done:
    work_free(&w);
    ball_destroy(b);
    return result;
}
