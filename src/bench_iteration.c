#include "bench_iteration.h"

#include "core/clock.h"
#include "mtip/match.h"
#include "mtip/merge.h"
#include "mtip/phase.h"
#include "mtip/rotation.h"
#include "mtip/slice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ER_STEPS = 50, HIO_STEPS = 25, STRIDE = 7 };

struct iteration {
    const device *dev;
    comm *comm;
    comm_device *devices;
    stage_timer timer;
    iteration_options options;
    int64_t n_pixels;
    slicer *slicer;
    match *match;
    merger *merger;
    phaser *phaser;
    void *pixels;                   /* device [n_pixels][3] */
    void *model, *merged;           /* device [n]^3 */
    void *slices;                   /* device [references][n_pixels] */
    void *data;                     /* device [merged][n_pixels] */
    double *references, *rotations; /* host quaternions [references][4], [merged][4] */
    double *weights;                /* host [merged] */
    double *density;                /* host [n]^3 */
    void *phased;                   /* device doubles [n]^3 */
};

iteration_options iteration_paper(void)
{
    return (iteration_options){.precision = PRECISION_DOUBLE,
                               .size = 41,
                               .pixels = 32,
                               .references = 1000,
                               .images = 1000,
                               .merged = 16000,
                               .tolerance = 1e-12,
                               .cg = 100,
                               .loops = 10};
}

static int64_t volume(const iteration *it)
{
    return it->options.size * it->options.size * it->options.size;
}

static int64_t bytes(const iteration *it, int64_t n)
{
    return real_bytes(it->options.precision, n);
}

/* -- data -- */

/* A Gaussian and three weaker pairs beside it: an autocorrelation without symmetries of its own. */
static double model_at(double x, double y, double z)
{
    static const double pair[3][4] = {{6, 1, 0, 0.2}, {0, 4, 6, 0.15}, {3, -5, 4, 0.1}};
    double sum = exp(-(x * x + y * y + z * z) / 6);
    for (int i = 0; i < 3; i++)
        for (int sign = -1; sign <= 1; sign += 2) {
            const double dx = x - sign * pair[i][0], dy = y - sign * pair[i][1],
                         dz = z - sign * pair[i][2];
            sum += pair[i][3] * exp(-(dx * dx + dy * dy + dz * dz) / 6);
        }
    return sum;
}

static status make_model(iteration *it)
{
    const int64_t n = it->options.size;
    for (int64_t i = 0; i < volume(it); i++)
        it->density[i] = model_at((double)centred(i % n, n), (double)centred(i / n % n, n),
                                  (double)centred(i / n / n, n));
    TRY(device_alloc(it->dev, bytes(it, volume(it)), &it->model));
    return device_from_doubles(it->dev, it->options.precision, volume(it), it->density, it->model);
}

/* A flat square detector whose corners are at |q| = pi on an Ewald sphere of three times that. */
static status make_pixels(iteration *it)
{
    const int64_t n = it->options.pixels;
    const double k = 3 * M_PI, half = tan(2 * asin(1. / 6)) / sqrt(2);
    double *q = malloc((size_t)(3 * it->n_pixels) * sizeof *q);
    if (!q) FAIL(STATUS_RESOURCE, "out of host memory");
    for (int64_t i = 0; i < it->n_pixels; i++) {
        const double u = half * (2 * (double)(i % n) / (double)(n - 1) - 1);
        const double v = half * (2 * (double)(i / n) / (double)(n - 1) - 1);
        const double length = sqrt(u * u + v * v + 1) * (1 + 1e-9);
        q[3 * i] = k * u / length;
        q[3 * i + 1] = k * v / length;
        q[3 * i + 2] = k * (1 / length - 1);
    }
    status result = device_alloc(it->dev, bytes(it, 3 * it->n_pixels), &it->pixels);
    if (result == STATUS_OK)
        result =
            device_from_doubles(it->dev, it->options.precision, 3 * it->n_pixels, q, it->pixels);
    free(q);
    return result;
}

/* Image k is the slice of this reference, up to single precision. */
static int64_t made_from(const iteration *it, int64_t image)
{
    return image * STRIDE % it->options.references;
}

static status make_slices(iteration *it)
{
    const iteration_options *o = &it->options;
    rotation_cover(o->references, 0, o->references, NULL, it->references);
    rotation_cover(o->merged, 0, o->merged, NULL, it->rotations);
    for (int64_t k = 0; k < o->merged; k++)
        it->weights[k] = 1;
    for (int64_t k = 0; k < o->images; k++)
        memcpy(it->rotations + 4 * k, it->references + 4 * made_from(it, k), 4 * sizeof(double));
    TRY(device_alloc(it->dev, bytes(it, o->references * it->n_pixels), &it->slices));
    TRY(device_alloc(it->dev, bytes(it, o->merged * it->n_pixels), &it->data));
    TRY(slicer_set_model(it->slicer, it->model));
    return slicer_run(it->slicer, o->merged, it->rotations, it->n_pixels, it->pixels, it->data);
}

/* The first rows of the data as floats, and constants for the pixels. */
static status make_match(iteration *it)
{
    const int64_t n = it->options.images * it->n_pixels;
    status result = STATUS_OK;
    double *values = malloc((size_t)n * sizeof *values);
    float *counts = malloc((size_t)n * sizeof *counts);
    double *ones = malloc((size_t)it->n_pixels * sizeof *ones);
    TRY_OR(done,
           values && counts && ones ? STATUS_OK : FAILED(STATUS_RESOURCE, "out of host memory"));
    TRY_OR(done, device_to_doubles(it->dev, it->options.precision, n, it->data, values));
    for (int64_t i = 0; i < n; i++)
        counts[i] = (float)values[i];
    for (int64_t p = 0; p < it->n_pixels; p++)
        ones[p] = 1;
    const match_options options = {.precision = it->options.precision,
                                   .method = MATCH_L2,
                                   .memory = INT64_C(1) << 33,
                                   .n_images = it->options.images,
                                   .n_pixels = it->n_pixels};
    const match_pixels pixels = {.correction = ones, .mean = ones};
    result = match_create(it->dev, &options, &pixels, &(match_source){counts, NULL}, &it->match);
    if (result == STATUS_OK) result = match_set_fluence(it->match, it->weights);
done:
    free(values);
    free(counts);
    free(ones);
    return result;
}

/* -- setup -- */

static status make_merger(iteration *it)
{
    const iteration_options *o = &it->options;
    const merge_options options = {.precision = o->precision,
                                   .size = o->size,
                                   .radius = (double)o->size / 2,
                                   .tolerance = o->tolerance,
                                   .lambda = 1e-6,
                                   .iterations = o->cg,
                                   .residual = 0};
    return merger_create(it->dev, &options, &it->merger);
}

static status make_phaser(iteration *it)
{
    const iteration_options *o = &it->options;
    const phase_options options = {.precision = o->precision,
                                   .size = o->size,
                                   .starts = 1,
                                   .radius = (double)o->size / 4,
                                   .step = PHASE_HIO,
                                   .n_er = ER_STEPS,
                                   .n_hio = HIO_STEPS,
                                   .beta = 0.9,
                                   .blur = 1,
                                   .threshold = 0.1};
    return phaser_create(it->dev, &options, &it->phaser);
}

static status allocate_host(iteration *it)
{
    const iteration_options *o = &it->options;
    it->references = malloc(4 * (size_t)o->references * sizeof(double));
    it->rotations = malloc(4 * (size_t)o->merged * sizeof(double));
    it->weights = malloc((size_t)o->merged * sizeof(double));
    it->density = malloc((size_t)volume(it) * sizeof(double));
    if (!it->references || !it->rotations || !it->weights || !it->density)
        FAIL(STATUS_RESOURCE, "out of host memory");
    return STATUS_OK;
}

/* What one rank does; *setup counts the stages, not the data. */
static status create(iteration *it, double *setup)
{
    const iteration_options *o = &it->options;
    const slice_options slicing = {o->precision, o->size, o->tolerance, 0};
    TRY(allocate_host(it));
    TRY(make_model(it));
    TRY(make_pixels(it));
    TRY(device_alloc(it->dev, bytes(it, volume(it)), &it->merged));
    TRY(device_alloc(it->dev, volume(it) * (int64_t)sizeof(double), &it->phased));
    double start = clock_seconds();
    TRY(slicer_create(it->dev, &slicing, &it->slicer));
    TRY(device_synchronize(it->dev));
    *setup += clock_seconds() - start;
    TRY(make_slices(it));
    TRY(device_synchronize(it->dev));
    start = clock_seconds();
    TRY(make_match(it));
    TRY(make_merger(it));
    TRY(make_phaser(it));
    TRY(device_synchronize(it->dev));
    *setup += clock_seconds() - start;
    return STATUS_OK;
}

status iteration_create(const device *dev, comm *c, const iteration_options *options, double *setup,
                        iteration **created)
{
    status result = STATUS_OK;
    *created = NULL;
    iteration *it = calloc(1, sizeof *it);
    TRY_OR(fail, comm_agree(c, it ? STATUS_OK : FAILED(STATUS_RESOURCE, "out of host memory")));
    *it = (iteration){
        .dev = dev, .comm = c, .options = *options, .n_pixels = options->pixels * options->pixels};
    const double start = clock_seconds();
    TRY_OR(fail, comm_device_create(c, dev, options->path, &it->devices));
    *setup = clock_seconds() - start;
    TRY_OR(fail, comm_agree(c, create(it, setup)));
    *created = it;
    return STATUS_OK;
fail:
    iteration_destroy(it);
    return result;
}

void iteration_destroy(iteration *it)
{
    if (!it) return;
    slicer_destroy(it->slicer);
    match_destroy(it->match);
    merger_destroy(it->merger);
    phaser_destroy(it->phaser);
    comm_device_destroy(it->devices);
    void *on_device[] = {it->pixels, it->model, it->merged, it->phased, it->slices, it->data};
    for (size_t i = 0; i < sizeof on_device / sizeof *on_device; i++)
        device_free(it->dev, on_device[i]);
    free(it->references);
    free(it->rotations);
    free(it->weights);
    free(it->density);
    free(it);
}

/* -- an iteration -- */

static status slice(iteration *it)
{
    TRY(slicer_set_model(it->slicer, it->model));
    return slicer_run(it->slicer, it->options.references, it->references, it->n_pixels, it->pixels,
                      it->slices);
}

/* The best reference of every image becomes its orientation. */
static status match_slices(iteration *it)
{
    const int64_t n = it->options.references;
    match_images chosen;
    TRY(match_begin(it->match, n, n, it->n_pixels));
    TRY(match_add(it->match, 0, n, it->slices));
    TRY(match_decide(it->match, 1));
    match_get_images(it->match, &chosen);
    for (int64_t k = 0; k < it->options.images; k++) {
        if (chosen.best[k] != made_from(it, k))
            FAIL(STATUS_NUMERIC, "image %lld is a slice of reference %lld, but %lld matches best",
                 (long long)k, (long long)made_from(it, k), (long long)chosen.best[k]);
        memcpy(it->rotations + 4 * k, it->references + 4 * chosen.best[k], 4 * sizeof(double));
    }
    return STATUS_OK;
}

static status merge(iteration *it)
{
    TRY(merger_begin(it->merger));
    return merger_add(it->merger, it->options.merged, it->rotations, it->weights, it->n_pixels,
                      it->pixels, it->data);
}

/* The sums of all ranks, then the solution of rank 0, to all. */
static status solve(iteration *it)
{
    const comm_type type = it->options.precision == PRECISION_SINGLE ? COMM_SINGLE : COMM_DOUBLE;
    void *kernel, *data;
    int64_t n_kernel, n_data;
    merge_report report;
    status mine = STATUS_OK;
    merger_sums(it->merger, &kernel, &n_kernel, &data, &n_data);
    stage_enter(&it->timer, STAGE_EXCHANGE);
    TRY(comm_device_sum(it->devices, kernel, n_kernel, type));
    TRY(comm_device_sum(it->devices, data, n_data, type));
    stage_enter(&it->timer, STAGE_SOLVE);
    if (comm_rank(it->comm) == 0) {
        mine = device_zero(it->dev, it->merged, bytes(it, volume(it)));
        if (mine == STATUS_OK) mine = merger_solve(it->merger, it->merged, &report);
    }
    TRY(comm_agree(it->comm, mine));
    stage_enter(&it->timer, STAGE_EXCHANGE);
    return comm_device_broadcast(it->devices, it->merged, volume(it), type, 0);
}

static status phase(iteration *it)
{
    double r_factor;
    TRY(phaser_set_target(it->phaser, it->merged, 0, (double)it->options.size / 2));
    TRY(phaser_start_random(it->phaser, 0, 1, (uint64_t)comm_world_rank(it->comm)));
    TRY(phaser_run(it->phaser, it->options.loops));
    return phaser_get(it->phaser, it->phased, &r_factor);
}

status iteration_run(iteration *it, stage_cost *costs)
{
    TRY(comm_barrier(it->comm));
    stage_timer_reset(&it->timer, it->dev, it->comm, it->devices);
    stage_enter(&it->timer, STAGE_SLICE);
    status mine = slice(it);
    stage_enter(&it->timer, STAGE_MATCH);
    if (mine == STATUS_OK) mine = match_slices(it);
    stage_enter(&it->timer, STAGE_MERGE);
    if (mine == STATUS_OK) mine = merge(it);
    stage_enter(&it->timer, STAGE_EXCHANGE);
    TRY(comm_agree(it->comm, mine));
    TRY(solve(it));
    stage_enter(&it->timer, STAGE_PHASE);
    TRY(comm_agree(it->comm, phase(it)));
    stage_enter(&it->timer, STAGE_NONE);
    memcpy(costs, it->timer.costs, N_STAGES * sizeof *costs);
    return STATUS_OK;
}

/* -- with copies -- */

static status slice_with_copies(iteration *it, void *host, double *seconds)
{
    const double start = clock_seconds();
    TRY(device_from_host(it->dev, it->model, host, bytes(it, volume(it))));
    TRY(slice(it));
    TRY(device_to_host(it->dev, host, it->slices,
                       bytes(it, it->options.references * it->n_pixels)));
    *seconds = clock_seconds() - start;
    return STATUS_OK;
}

static status merge_with_copies(iteration *it, void *host, double *seconds)
{
    void *kernel, *data;
    int64_t n_kernel, n_data;
    merger_sums(it->merger, &kernel, &n_kernel, &data, &n_data);
    const double start = clock_seconds();
    TRY(device_from_host(it->dev, it->data, host, bytes(it, it->options.merged * it->n_pixels)));
    TRY(merge(it));
    TRY(device_to_host(it->dev, host, kernel, bytes(it, n_kernel)));
    TRY(device_to_host(it->dev, host, data, bytes(it, n_data)));
    *seconds = clock_seconds() - start;
    return STATUS_OK;
}

/* Host memory holds what the device has before each, so that nothing changes. */
status iteration_time_copies(iteration *it, double *slicing, double *merging)
{
    const int64_t rows =
        it->options.merged > it->options.references ? it->options.merged : it->options.references;
    const int64_t largest = bytes(it, rows * it->n_pixels + 8 * volume(it));
    void *host = NULL;
    TRY(device_alloc_host(it->dev, largest, &host));
    status result = device_to_host(it->dev, host, it->model, bytes(it, volume(it)));
    if (result == STATUS_OK) result = slice_with_copies(it, host, slicing);
    if (result == STATUS_OK)
        result =
            device_to_host(it->dev, host, it->data, bytes(it, it->options.merged * it->n_pixels));
    if (result == STATUS_OK) result = merge_with_copies(it, host, merging);
    device_free_host(it->dev, host);
    return result;
}

stage_work iteration_work(const iteration *it, stage s)
{
    const iteration_options *o = &it->options;
    switch (s) {
    case STAGE_SLICE:
        return slice_work(o->precision, o->size, o->tolerance, o->references * it->n_pixels);
    case STAGE_MATCH: /* scores only: no tomograms are made */
        return (stage_work){match_work(o->precision, o->images, o->references, it->n_pixels).bytes,
                            2 * (double)o->images * (double)o->references * (double)it->n_pixels};
    case STAGE_MERGE:
        return merge_work(o->precision, o->size, o->tolerance, o->merged * it->n_pixels);
    case STAGE_SOLVE:
        return solve_work(o->precision, o->size, o->cg);
    case STAGE_PHASE:
        return phase_work(o->precision, o->size, o->loops * (2 * ER_STEPS + HIO_STEPS) + ER_STEPS,
                          1);
    default:
        return (stage_work){0, 0};
    }
}
