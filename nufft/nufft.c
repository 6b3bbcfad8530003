/* nufft.c: checks, sizes and the three steps, for any backend and precision.

   status nufft_create(...)
       static status check_arguments(...)
       static status choose(...)          kernel width and fine grid
           static bool try_width(...)
   status nufft_forward(...)              insert, fft, interpolate
   status nufft_adjoint(...)              spread, fft, extract */
#include "nufft/nufft_impl.h"
#include "nufft/nufft_sorting.h"

#include <math.h>
#include <stdlib.h>

#include "nufft/fft.h"

enum { STAGES = 3 }; /* of a call, at most */

struct nufft {
    nufft_setup setup;
    const nufft_backend *backend;
    void *state;
    double *factors[3];
    nufft_info info;
    bool timed;
    nufft_times times;
    device_mark marks[STAGES + 1]; /* the beginning of a call and the ends of its stages */
    double *stages[STAGES];        /* of times */
    int n_stages;                  /* timed since times were last read */
};

static const double LOWEST_TOLERANCE[] = {[PRECISION_SINGLE] = 1e-4, [PRECISION_DOUBLE] = 1e-8};

static status check_arguments(int dim, const int64_t modes[], const nufft_options *o)
{
    if (dim < 1 || dim > 3) FAIL(STATUS_INVALID, "dim is %d, not 1, 2 or 3", dim);
    for (int d = 0; d < dim; d++)
        if (modes[d] < 1) FAIL(STATUS_INVALID, "modes[%d] is %lld", d, (long long)modes[d]);
    if (o->precision != PRECISION_SINGLE && o->precision != PRECISION_DOUBLE)
        FAIL(STATUS_INVALID, "precision is %d", (int)o->precision);
    if (!(o->tolerance > 0)) FAIL(STATUS_INVALID, "tolerance is %g, not above 0", o->tolerance);
    if (o->upsampling != 0 && o->upsampling != 2 && o->upsampling != 1.25)
        FAIL(STATUS_INVALID, "upsampling is %g, not 2, 1.25 or 0", o->upsampling);
    if (o->upsampling == 1.25 && o->tolerance < LOWEST_TOLERANCE[o->precision])
        FAIL(STATUS_INVALID, "tolerance %g cannot be reached with upsampling 1.25 (limit %g)",
             o->tolerance, LOWEST_TOLERANCE[o->precision]);
    if (o->sign < -1 || o->sign > 1) FAIL(STATUS_INVALID, "sign is %d, not 1 or -1", o->sign);
    if (!nufft_method_name(o->method))
        FAIL(STATUS_INVALID, "method is %d, not one of nufft_method", (int)o->method);
    if (o->batch < 0) FAIL(STATUS_INVALID, "batch is %d", o->batch);
    return STATUS_OK;
}

/* Everything later is indexed in int64, so that these bounds keep every product far from
   overflow. */
static status check_sizes(const nufft_setup *s, precision p)
{
    double numbers = 2.0 * (double)s->batch;
    for (int d = 0; d < s->dim; d++) {
        if (s->fine[d] > INT32_MAX / 2)
            FAIL(STATUS_RESOURCE, "modes[%d] is %lld, above what a plan can index", d,
                 (long long)s->modes[d]);
        numbers *= (double)s->fine[d];
    }
    double bytes = numbers * (double)real_size(p);
    if (bytes > 0x1p56) FAIL(STATUS_RESOURCE, "the fine grid would take %.3g GiB", bytes / 0x1p30);
    return STATUS_OK;
}

/* Makes the kernel of this width and the fine grid; `larger` asks for the next larger smooth
   sizes. Returns the expected error: that of the kernel, and that of rounding, a few units in the last
   place in the transforms, raised by what the deconvolution amplifies. */
static double try_width(nufft_setup *s, precision p, int width, double sigma, bool larger)
{
    window_make(width, sigma, &s->window);
    double sum = 0, amplified = 1;
    for (int d = 0; d < s->dim; d++) {
        double least = ceil(sigma * (double)s->modes[d]);
        int64_t n = least < 2.0 * width ? 2 * width : (int64_t)least;
        s->fine[d] = fft_good_size(n, true);
        if (larger) s->fine[d] = fft_good_size(s->fine[d] + 1, true);
        double error = window_error(&s->window, s->modes[d], s->fine[d]);
        sum += error * error;
        amplified *= sqrt(window_edge(&s->window, s->modes[d], s->fine[d]));
    }
    return hypot(sqrt(sum), 2 * (p == PRECISION_SINGLE ? 0x1p-24 : 0x1p-53) * amplified);
}

/* The estimate is a mean over points and modes: a given transform may do a little worse, and the
   more so the fewer modes it has, and in 3D where the error rises steeply towards the outermost modes,
   on a grid that is not larger than it must be. */
static double margin(const nufft_setup *s, bool larger)
{
    double n = (double)s->modes[0] * (double)s->modes[1] * (double)s->modes[2];
    return n < 1000 ? 0.6 : s->dim == 3 && !larger ? 0.7 : 0.8;
}

static int widest(precision p, double sigma)
{
    if (p == PRECISION_DOUBLE) return WINDOW_MAX_WIDTH;
    return sigma < 2 ? 9 : 8;
}

/* The narrowest kernel that reaches the tolerance, if need be on a fine grid a little larger than
   sigma times the modes: that costs less than a wider kernel. Returns the expected error. */
static double choose(nufft_setup *s, precision p, double tolerance, double sigma)
{
    double error = 1;
    for (int width = 2; width <= widest(p, sigma); width++) {
        for (int larger = 0; larger < 2; larger++) {
            error = try_width(s, p, width, sigma, larger);
            if (error <= margin(s, larger) * tolerance) return error;
            if (error > 3 * tolerance) break;
        }
    }
    return error;
}

static status make_factors(nufft *plan)
{
    nufft_setup *s = &plan->setup;
    for (int d = 0; d < s->dim; d++) {
        plan->factors[d] = malloc(sizeof(double) * (size_t)(s->modes[d] / 2 + 1));
        if (!plan->factors[d]) FAIL(STATUS_RESOURCE, "out of host memory");
        window_factors(&s->window, s->modes[d], s->fine[d], plan->factors[d]);
        s->factors[d] = plan->factors[d];
    }
    return STATUS_OK;
}

static const nufft_backend *backend_for(const device *dev, precision p)
{
    if (device_kind_of(dev) == DEVICE_CPU)
        return p == PRECISION_SINGLE ? &nufft_cpu_single : &nufft_cpu_double;
    return p == PRECISION_SINGLE ? &nufft_cuda_single : &nufft_cuda_double;
}

static status prepare(nufft *plan, const nufft_options *o)
{
    nufft_setup *s = &plan->setup;
    for (int d = 0; d < s->dim; d++) /* bounded before any loop over them */
        if (s->modes[d] > INT32_MAX / 4)
            FAIL(STATUS_RESOURCE, "modes[%d] is %lld, above what a plan can index", d,
                 (long long)s->modes[d]);
    double sigma = o->upsampling == 1.25 ? 1.25 : 2;
    double expected = choose(s, o->precision, o->tolerance, sigma);
    TRY(check_sizes(s, o->precision));
    TRY(make_factors(plan));
    plan->info = (nufft_info){
        .dim = s->dim, .width = s->window.width, .upsampling = sigma, .expected = expected};
    for (int d = 0; d < 3; d++)
        plan->info.fine[d] = s->fine[d];
    return plan->backend->create(s, &plan->state);
}

/* A GPU's plan has grids, their half volumes and as much work space, and slots for the points (twice
   where they are sorted by parts, single precision), a deterministic one wider sums and what a stable
   sort takes besides; the CPU's has grids and sorted points. */
status nufft_forecast(device_kind kind, int dim, const int64_t modes[],
                      const nufft_options *options, int64_t n, int64_t *bytes)
{
    const int64_t size = (int64_t)real_size(options->precision);
    nufft_setup s = {.dim = dim, .modes = {1, 1, 1}, .fine = {1, 1, 1}};
    TRY(check_arguments(dim, modes, options));
    for (int d = 0; d < dim; d++)
        s.modes[d] = modes[d];
    (void)choose(&s, options->precision, options->tolerance,
                 options->upsampling == 1.25 ? 1.25 : 2);
    const int64_t row = kind == DEVICE_CPU ? nufft_cpu_pitch(options->real, s.fine[0], size)
                                           : (options->real ? 1 : 2) * s.fine[0],
                  grids =
                      (options->batch ? options->batch : 1) * row * s.fine[1] * s.fine[2] * size;
    const bool once = options->precision == PRECISION_SINGLE && (double)n < GPU_PART_FROM;
    *bytes = kind == DEVICE_CPU ? grids + n * (dim * size + 12) : 3 * grids + n * (once ? 16 : 32);
    if (kind != DEVICE_CPU && options->deterministic) *bytes += 2 * grids + n * 24;
    return STATUS_OK;
}

status nufft_create(const device *dev, int dim, const int64_t modes[], const nufft_options *options,
                    nufft **plan)
{
    *plan = NULL;
    TRY(check_arguments(dim, modes, options));
    nufft *p = calloc(1, sizeof *p);
    if (!p) FAIL(STATUS_RESOURCE, "out of host memory");
    p->backend = backend_for(dev, options->precision);
    p->setup = (nufft_setup){.dev = dev,
                             .dim = dim,
                             .modes = {1, 1, 1},
                             .fine = {1, 1, 1},
                             .batch = options->batch ? options->batch : 1,
                             .sign = options->sign < 0 ? -1 : 1,
                             .real = options->real,
                             .method = options->method,
                             .deterministic = options->deterministic};
    for (int d = 0; d < dim; d++)
        p->setup.modes[d] = modes[d];
    status result = prepare(p, options);
    if (result != STATUS_OK) {
        nufft_destroy(p);
        return result;
    }
    *plan = p;
    return STATUS_OK;
}

void nufft_destroy(nufft *plan)
{
    if (!plan) return;
    plan->backend->destroy(plan->state);
    for (int d = 0; d < 3; d++)
        free(plan->factors[d]);
    for (int i = 0; i <= STAGES; i++)
        device_mark_free(plan->setup.dev, &plan->marks[i]);
    free(plan);
}

/* Adds what the marks of the last call say to the sums. */
static status take_times(nufft *p)
{
    int n = p->n_stages;
    p->n_stages = 0;
    for (int i = 0; i < n && i < STAGES; i++) {
        double seconds;
        TRY(device_mark_seconds(p->setup.dev, &p->marks[i], &p->marks[i + 1], &seconds));
        *p->stages[i] += seconds;
    }
    return STATUS_OK;
}

static status begin_stages(nufft *p)
{
    if (!p->timed) return STATUS_OK;
    TRY(take_times(p));
    return device_mark_now(p->setup.dev, &p->marks[0]);
}

/* What was queued since the last mark belongs to *stage. */
static status end_stage(nufft *p, double *stage)
{
    if (!p->timed) return STATUS_OK;
    TRY(device_mark_now(p->setup.dev, &p->marks[p->n_stages + 1]));
    p->stages[p->n_stages++] = stage;
    return STATUS_OK;
}

status nufft_set_points(nufft *plan, int64_t n, const void *const coordinates[])
{
    if (n < 0) FAIL(STATUS_INVALID, "the number of points is %lld", (long long)n);
    if ((double)n * (double)plan->setup.batch > 0x1p52)
        FAIL(STATUS_RESOURCE, "%lld points are too many", (long long)n);
    plan->info.n_points = 0;
    TRY(begin_stages(plan));
    TRY(plan->backend->set_points(plan->state, n, coordinates));
    plan->info.n_points = n;
    return end_stage(plan, &plan->times.set_points);
}

status nufft_forward(nufft *plan, const void *modes, void *values)
{
    const nufft_backend *b = plan->backend;
    if (plan->info.n_points == 0) return STATUS_OK;
    TRY(begin_stages(plan));
    TRY(b->insert(plan->state, modes));
    TRY(end_stage(plan, &plan->times.deconvolve));
    TRY(b->fft(plan->state, false));
    TRY(end_stage(plan, &plan->times.fft));
    TRY(b->interpolate(plan->state, values));
    return end_stage(plan, &plan->times.interpolate);
}

status nufft_adjoint(nufft *plan, const void *values, void *modes)
{
    const nufft_backend *b = plan->backend;
    TRY(begin_stages(plan));
    TRY(b->spread(plan->state, values));
    TRY(end_stage(plan, &plan->times.spread));
    TRY(b->fft(plan->state, true));
    TRY(end_stage(plan, &plan->times.fft));
    TRY(b->extract(plan->state, modes));
    return end_stage(plan, &plan->times.deconvolve);
}

void nufft_get_info(const nufft *plan, nufft_info *info)
{
    *info = plan->info;
    plan->backend->describe(plan->state, info);
}

void nufft_time_stages(nufft *plan, bool on)
{
    plan->timed = on;
    plan->n_stages = 0;
    plan->times = (nufft_times){0};
}

status nufft_get_times(nufft *plan, nufft_times *times)
{
    TRY(take_times(plan));
    *times = plan->times;
    return STATUS_OK;
}

const char *nufft_method_name(nufft_method method)
{
    static const char *const names[NUFFT_METHODS] = {
        [NUFFT_DEFAULT] = "default", [NUFFT_GM] = "gm",     [NUFFT_GM_SORT] = "gm-sort",
        [NUFFT_SM] = "sm",           [NUFFT_TILE] = "tile", [NUFFT_TENSOR] = "tensor"};
    return (int)method >= 0 && method < NUFFT_METHODS ? names[method] : NULL;
}
