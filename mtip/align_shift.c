/* align_shift.c: the hand and shift of a map by one cross-correlation per hand. */
#include "mtip/align_shift.h"

#include "core/integer.h"
#include "mtip/kernels.h"
#include "nufft/fft.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Maps are taken at once up to this many voxels. */
enum { BATCH_VOXELS = 1 << 21, MOST_STEPS = 5 };

/* One map's search for a hand. */
typedef struct search {
    double value, shift[3]; /* the best so far */
    shift_motion trial;     /* `step` away from it */
    double step[3];
    bool climbs;
} search;

struct shift_aligner {
    const device *dev;
    const average_kernels *kernels;
    int64_t n, batch;
    fft *forward, *backward, *forward_one;
    double *fixed, *moving, *cross; /* half volumes: 1, batch, batch */
    double *maps;                   /* [batch][n]^3 */
    double fixed_norm;
    int64_t *peaks;             /* host [batch] */
    double *norms;              /* host [batch] */
    search *searches[2];        /* host [batch]: of each hand */
    shift_motion *trials;       /* host [batch] */
    double (*sums)[SHIFT_SUMS]; /* host [batch] */
};

static int64_t map_bytes(const shift_aligner *a, int64_t count)
{
    return count * cube(a->n) * (int64_t)sizeof(double);
}

static status allocate_doubles(const shift_aligner *a, int64_t n, double **memory)
{
    void *allocated;
    TRY(device_alloc(a->dev, n * (int64_t)sizeof(double), &allocated));
    *memory = allocated;
    return device_zero(a->dev, allocated, n * (int64_t)sizeof(double));
}

static status allocate(shift_aligner *a)
{
    const size_t batch = (size_t)a->batch;
    const int64_t h = 2 * half_count(a->n);
    a->peaks = malloc(batch * sizeof *a->peaks);
    a->norms = malloc(batch * sizeof *a->norms);
    a->searches[0] = malloc(batch * sizeof(search));
    a->searches[1] = malloc(batch * sizeof(search));
    a->trials = malloc(batch * sizeof *a->trials);
    a->sums = malloc(batch * sizeof *a->sums);
    if (!a->peaks || !a->norms || !a->searches[0] || !a->searches[1] || !a->trials || !a->sums)
        FAIL(STATUS_RESOURCE, "no memory to align maps of %lld", (long long)a->n);
    TRY(allocate_doubles(a, h, &a->fixed));
    TRY(allocate_doubles(a, a->batch * h, &a->moving));
    TRY(allocate_doubles(a, a->batch * h, &a->cross));
    return allocate_doubles(a, a->batch * cube(a->n), &a->maps);
}

static status plan(shift_aligner *a)
{
    const int64_t n = a->n, size[3] = {n, n, n};
    const precision wide = PRECISION_DOUBLE;
    TRY(fft_create(a->dev, wide, FFT_REAL_FORWARD, 3, size, 1, false, &a->forward_one));
    TRY(fft_create(a->dev, wide, FFT_REAL_FORWARD, 3, size, a->batch, false, &a->forward));
    return fft_create(a->dev, wide, FFT_REAL_BACKWARD, 3, size, a->batch, false, &a->backward);
}

/* Maps that are taken at once. */
static int64_t batch_of(int64_t n, int64_t most)
{
    return smaller(larger(BATCH_VOXELS / cube(n), 1), most);
}

int64_t shift_aligner_forecast(int64_t n, int64_t most)
{
    const int64_t h = 2 * half_count(n), batch = batch_of(n, most);
    return (int64_t)sizeof(double) * (h + batch * (2 * h + cube(n)));
}

status shift_aligner_create(const device *dev, int64_t n, int64_t most, shift_aligner **created)
{
    status result = STATUS_OK;
    *created = NULL;
    if (n < 1 || most < 1)
        FAIL(STATUS_INVALID, "aligning %lld maps of %lld", (long long)most, (long long)n);
    shift_aligner *a = calloc(1, sizeof *a);
    if (!a) FAIL(STATUS_RESOURCE, "out of host memory");
    a->dev = dev;
    a->kernels = average_kernels_of(dev);
    a->n = n;
    a->batch = batch_of(n, most);
    TRY_OR(fail, allocate(a));
    TRY_OR(fail, plan(a));
    *created = a;
    return STATUS_OK;
fail:
    shift_aligner_destroy(a);
    return result;
}

void shift_aligner_destroy(shift_aligner *a)
{
    if (!a) return;
    fft_destroy(a->forward);
    fft_destroy(a->backward);
    fft_destroy(a->forward_one);
    device_free(a->dev, a->fixed);
    device_free(a->dev, a->moving);
    device_free(a->dev, a->cross);
    device_free(a->dev, a->maps);
    free(a->peaks);
    free(a->norms);
    free(a->searches[0]);
    free(a->searches[1]);
    free(a->trials);
    free(a->sums);
    free(a);
}

/* norms[..] of maps that must have contrast. */
static status measure(const shift_aligner *a, int64_t count, const double *half, double *norms)
{
    TRY(a->kernels->power(a->dev, a->n, count, half, norms));
    for (int64_t b = 0; b < count; b++) {
        norms[b] = sqrt(norms[b]);
        if (!isfinite(norms[b])) FAIL(STATUS_NUMERIC, "a map to be aligned is not finite");
        if (!(norms[b] > 0)) FAIL(STATUS_NUMERIC, "a map is constant: there is nothing to align");
    }
    return STATUS_OK;
}

/* step = -curvature^-1 slope; false unless the curvature is that of a maximum. */
static bool newton_step(const double sums[SHIFT_SUMS], double step[3])
{
    const double *slope = sums + SHIFT_SLOPE, *c = sums + SHIFT_CURVATURE;
    double cofactors[6] = {c[1] * c[2] - c[3] * c[3], c[0] * c[2] - c[4] * c[4],
                           c[0] * c[1] - c[5] * c[5], c[4] * c[5] - c[0] * c[3],
                           c[3] * c[5] - c[1] * c[4], c[3] * c[4] - c[2] * c[5]};
    double determinant = c[0] * cofactors[0] + c[5] * cofactors[5] + c[4] * cofactors[4];
    if (!(c[0] < 0 && cofactors[2] > 0 && determinant < 0)) return false;
    step[0] = -(cofactors[0] * slope[0] + cofactors[5] * slope[1] + cofactors[4] * slope[2]);
    step[1] = -(cofactors[5] * slope[0] + cofactors[1] * slope[1] + cofactors[3] * slope[2]);
    step[2] = -(cofactors[4] * slope[0] + cofactors[3] * slope[1] + cofactors[2] * slope[2]);
    for (int d = 0; d < 3; d++)
        step[d] /= determinant;
    return fabs(step[0]) < 1 && fabs(step[1]) < 1 && fabs(step[2]) < 1;
}

/* Takes the trial's result, or ends the search where it was, and sets out for the next trial. */
static void climb(search *s, const double sums[SHIFT_SUMS], bool is_first)
{
    const double length = fabs(s->step[0]) + fabs(s->step[1]) + fabs(s->step[2]);
    s->climbs = is_first || sums[SHIFT_VALUE] >= s->value;
    if (!s->climbs) return;
    s->value = sums[SHIFT_VALUE];
    memcpy(s->shift, s->trial.shift, sizeof s->shift);
    s->climbs = (is_first || length >= 1e-4) && newton_step(sums, s->step);
    for (int d = 0; d < 3 && s->climbs; d++)
        s->trial.shift[d] += s->step[d];
}

/* From the voxels of the highest correlation uphill by Newton steps. */
static status refine(const shift_aligner *a, int64_t count, search *searches)
{
    for (int step = 0; step <= MOST_STEPS; step++) {
        int64_t n_trials = 0;
        for (int64_t b = 0; b < count; b++)
            if (searches[b].climbs) a->trials[n_trials++] = searches[b].trial;
        TRY(a->kernels->correlations(a->dev, a->n, n_trials, a->trials, a->cross, a->sums));
        for (int64_t t = 0; t < n_trials; t++)
            climb(&searches[a->trials[t].volume], a->sums[t], step == 0);
    }
    return STATUS_OK;
}

static double signed_index(int64_t i, int64_t n)
{
    return (double)(i <= n / 2 ? i : i - n);
}

/* The shift of the highest correlation for this hand, and that sum, of every map. */
static status best_shifts(const shift_aligner *a, int64_t count, double hand, search *searches)
{
    const int64_t n = a->n;
    TRY(a->kernels->cross(a->dev, n, count, hand, a->fixed, a->moving, a->cross));
    TRY(fft_run(a->backward, a->cross, a->maps));
    TRY(a->kernels->peaks(a->dev, cube(n), count, a->maps, a->peaks));
    for (int64_t b = 0; b < count; b++) {
        const int64_t i = a->peaks[b];
        searches[b] = (search){.climbs = true, .trial = {.volume = b, .hand = hand}};
        searches[b].trial.shift[0] = signed_index(i % n, n);
        searches[b].trial.shift[1] = signed_index(i / n % n, n);
        searches[b].trial.shift[2] = signed_index(i / n / n, n);
    }
    /* The inverse transform has spoiled its input. */
    TRY(a->kernels->cross(a->dev, n, count, hand, a->fixed, a->moving, a->cross));
    return refine(a, count, searches);
}

/* The better hand of map b. */
static void choose(const shift_aligner *a, int64_t b, alignment *found)
{
    const bool inverted = a->searches[1][b].value > a->searches[0][b].value;
    const search *best = &a->searches[inverted][b];
    a->trials[b] = (shift_motion){.volume = b, .hand = inverted ? -1 : 1};
    memcpy(a->trials[b].shift, best->shift, sizeof best->shift);
    *found = (alignment){.q = {1, 0, 0, 0}, .hand = inverted ? -1 : 1};
    found->correlation = best->value / (a->fixed_norm * a->norms[b]);
    for (int d = 0; d < 3; d++) {
        /* Inversion through the first voxel leaves the centre c at -c. */
        const double n = (double)a->n, t = best->shift[d] - (inverted ? 2 * (double)(a->n / 2) : 0);
        found->shift[d] = t - n * floor(t / n + 0.5);
    }
}

/* Of count <= batch maps. */
static status align_batch(shift_aligner *a, int64_t count, double *moving, alignment *found)
{
    TRY(device_copy(a->dev, a->maps, moving, map_bytes(a, count)));
    TRY(fft_run(a->forward, a->maps, a->moving));
    TRY(measure(a, count, a->moving, a->norms));
    TRY(best_shifts(a, count, 1, a->searches[0]));
    TRY(best_shifts(a, count, -1, a->searches[1]));
    for (int64_t b = 0; b < count; b++)
        choose(a, b, &found[b]);
    TRY(a->kernels->move(a->dev, a->n, count, a->trials, a->moving));
    TRY(fft_run(a->backward, a->moving, a->maps));
    return device_copy(a->dev, moving, a->maps, map_bytes(a, count));
}

status shift_aligner_run(shift_aligner *a, const double *fixed, int64_t count, double *moving,
                         alignment *found)
{
    TRY(device_copy(a->dev, a->maps, fixed, map_bytes(a, 1)));
    TRY(fft_run(a->forward_one, a->maps, a->fixed));
    TRY(measure(a, 1, a->fixed, &a->fixed_norm));
    for (int64_t first = 0; first < count; first += a->batch) {
        const int64_t rest = count - first;
        TRY(align_batch(a, rest < a->batch ? rest : a->batch, moving + first * cube(a->n),
                        found + first));
    }
    return STATUS_OK;
}
