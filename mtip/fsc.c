/* fsc.c: see fsc.h. */
#include "mtip/fsc.h"

#include "mtip/ball.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* NULL without memory. */
static fsc *fsc_allocate(int n_shells)
{
    fsc *f = calloc(1, sizeof *f);
    if (!f) return NULL;
    f->n_shells = n_shells;
    f->s = calloc((size_t)n_shells, sizeof *f->s);
    f->n_voxels = calloc((size_t)n_shells, sizeof *f->n_voxels);
    f->value = calloc((size_t)n_shells, sizeof *f->value);
    if (f->s && f->n_voxels && f->value) return f;
    fsc_destroy(f);
    return NULL;
}

void fsc_destroy(fsc *f)
{
    if (!f) return;
    free(f->s);
    free(f->n_voxels);
    free(f->value);
    free(f);
}

/* values: [2][n_points] complex of both maps; sums: [2][n_shells] scratch. */
static void fsc_fill(const ball *b, double box, const double *values, double *sums, fsc *f)
{
    double *power_a = sums, *power_b = sums + b->n_shells;
    ball_shell_sums(b, values, values + 2 * b->n_points, f->value, power_a, power_b);
    for (int i = 0; i < f->n_shells; i++) {
        double norm = sqrt(power_a[i]) * sqrt(power_b[i]);
        f->s[i] = i / box;
        f->value[i] = norm > 0 ? f->value[i] / norm : 0;
    }
    for (int64_t i = 0; i < b->n_points; i++)
        f->n_voxels[b->shell[i]] += (int64_t)b->weight[i];
}

static status correlate(const device *dev, const ball *points, double box, const double *a,
                        const double *b, fsc *f)
{
    status result = STATUS_OK;
    int64_t n_values = 4 * points->n_points, n_sums = 2 * points->n_shells;
    double *values = malloc((size_t)(n_values + n_sums) * sizeof *values);
    if (!values) FAIL(STATUS_RESOURCE, "no memory to correlate maps of %lld", (long long)points->n);
    TRY_OR(done, ball_from_map(dev, points, a, values));
    TRY_OR(done, ball_from_map(dev, points, b, values + 2 * points->n_points));
    fsc_fill(points, box, values, values + n_values, f);
done:
    free(values);
    return result;
}

status fsc_create(const device *dev, int64_t n, double voxel, double s_max, const double *a,
                  const double *b, fsc **created)
{
    double box = (double)n * voxel;
    ball *points = NULL;
    TRY(ball_check_map("the first map", n, a));
    TRY(ball_check_map("the second map", n, b));
    TRY(ball_create(n, s_max * box, &points));
    fsc *f = fsc_allocate(points->n_shells);
    if (!f) {
        ball_destroy(points);
        FAIL(STATUS_RESOURCE, "no memory for a shell correlation");
    }
    f->s_max = s_max;
    status result = correlate(dev, points, box, a, b, f);
    ball_destroy(points);
    if (result == STATUS_OK)
        *created = f;
    else
        fsc_destroy(f);
    return result;
}

fsc_resolution fsc_resolution_at(const fsc *f, double threshold)
{
    fsc_resolution none = {FSC_NONE, INFINITY};
    /* Written so that a NaN counts as below. */
    if (f->n_shells < 2 || !(f->value[1] >= threshold)) return none;
    for (int i = 2; i < f->n_shells; i++) {
        if (f->value[i] >= threshold) continue;
        double above = f->value[i - 1], below = f->value[i];
        double part = (above - threshold) / (above - below);
        if (!(part >= 0)) part = 0;
        fsc_resolution crossing = {FSC_CROSSES, 1 / (f->s[i - 1] + part * (f->s[i] - f->s[i - 1]))};
        return crossing;
    }
    fsc_resolution edge = {FSC_BETTER_THAN_EDGE, 1 / f->s_max};
    return edge;
}

const char *fsc_resolution_text(const fsc_resolution *r, char text[FSC_TEXT_SIZE])
{
    if (r->outcome == FSC_NONE)
        snprintf(text, FSC_TEXT_SIZE, "none");
    else
        snprintf(text, FSC_TEXT_SIZE, "%.2f A", r->angstrom);
    return text;
}
