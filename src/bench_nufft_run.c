#include "bench_nufft_run.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include <omp.h>

enum { MOST = 256 };

struct bench_session {
    const device *dev;
    int outputs, repeat;
    bench_data data;
    /* On the device; result: of either type. */
    void *x[3], *modes, *values, *result;
    void *host_result;
    device_mark marks[2];
};

/* What a timed call does. */
enum { SET = 1, EXEC = 2, COPIES = 4 };

typedef struct timed {
    bench_session *s;
    const bench_case *c;
    nufft *plan;
} timed;

status bench_session_create(const device *dev, int outputs, int repeat, bench_session **session)
{
    bench_session *s = calloc(1, sizeof *s);
    if (!s) FAIL(STATUS_RESOURCE, "out of host memory");
    s->dev = dev;
    s->outputs = outputs;
    s->repeat = repeat < MOST ? repeat : MOST;
    *session = s;
    return STATUS_OK;
}

static void unload(bench_session *s)
{
    for (int d = 0; d < 3; d++) {
        device_free(s->dev, s->x[d]);
        s->x[d] = NULL;
    }
    device_free(s->dev, s->modes);
    device_free(s->dev, s->values);
    device_free(s->dev, s->result);
    free(s->host_result);
    s->modes = s->values = s->result = s->host_result = NULL;
    bench_data_free(&s->data);
}

void bench_session_destroy(bench_session *s)
{
    if (!s) return;
    unload(s);
    for (int i = 0; i < 2; i++)
        device_mark_free(s->dev, &s->marks[i]);
    free(s);
}

static int64_t point_bytes(const bench_problem *p)
{
    return p->n_points * (int64_t)real_size(p->precision);
}

static int64_t value_bytes(const bench_problem *p)
{
    return bench_value_count(p) * p->batch * (int64_t)real_size(p->precision);
}

static int64_t mode_bytes(const bench_data *data)
{
    const bench_problem *p = &data->problem;
    return 2 * data->n_modes * p->batch * (int64_t)real_size(p->precision);
}

static status upload(const device *dev, const void *from, int64_t bytes, void **to)
{
    TRY(device_alloc(dev, bytes, to));
    return device_from_host(dev, *to, from, bytes);
}

static status load(bench_session *s, const bench_problem *p)
{
    if (s->result && bench_problem_same(&s->data.problem, p)) return STATUS_OK;
    unload(s);
    TRY(bench_data_make(p, &s->data));
    int64_t modes = mode_bytes(&s->data), values = value_bytes(p);
    int64_t result = modes > values ? modes : values;
    for (int d = 0; d < p->dim; d++)
        TRY(upload(s->dev, s->data.x[d], point_bytes(p), &s->x[d]));
    TRY(upload(s->dev, s->data.modes, modes, &s->modes));
    TRY(upload(s->dev, s->data.values, values, &s->values));
    s->host_result = malloc((size_t)result + 1);
    if (!s->host_result) FAIL(STATUS_RESOURCE, "out of host memory");
    TRY(device_synchronize(s->dev));
    return device_alloc(s->dev, result, &s->result);
}

static status copy_in(const timed *t)
{
    const bench_session *s = t->s;
    const bench_problem *p = &s->data.problem;
    for (int d = 0; d < p->dim; d++)
        TRY(device_from_host(s->dev, s->x[d], s->data.x[d], point_bytes(p)));
    if (t->c->type == 1) return device_from_host(s->dev, s->values, s->data.values, value_bytes(p));
    return device_from_host(s->dev, s->modes, s->data.modes, mode_bytes(&s->data));
}

static status copy_out(const timed *t)
{
    bench_session *s = t->s;
    int64_t bytes = t->c->type == 1 ? mode_bytes(&s->data) : value_bytes(&s->data.problem);
    return device_to_host(s->dev, s->host_result, s->result, bytes);
}

static status call(const timed *t, int what)
{
    bench_session *s = t->s;
    const void *x[3] = {s->x[0], s->x[1], s->x[2]};
    if (what & COPIES) TRY(copy_in(t));
    if (what & SET) TRY(nufft_set_points(t->plan, s->data.problem.n_points, x));
    if (what & EXEC)
        TRY(t->c->type == 1 ? nufft_adjoint(t->plan, s->values, s->result)
                            : nufft_forward(t->plan, s->modes, s->result));
    return what & COPIES ? copy_out(t) : STATUS_OK;
}

static double processor_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The fewest runs of what is timed. */
static int least_runs(const timed *t, int what)
{
    if (t->s->repeat) return t->s->repeat;
    return what & COPIES ? (t->c->brief ? 1 : 2) : t->c->brief ? 2 : 5;
}

static status measure(const timed *t, int what, bench_time *time)
{
    bench_session *s = t->s;
    double ms[MOST], spent = 0, least_processor = INFINITY;
    int n = 0, least = least_runs(t, what), most = s->repeat || what & COPIES ? least : 50;
    while (n < least || (n < most && spent < 0.1)) {
        double seconds, processor = processor_seconds();
        TRY(device_mark_now(s->dev, &s->marks[0]));
        TRY(call(t, what));
        TRY(device_mark_now(s->dev, &s->marks[1]));
        TRY(device_mark_seconds(s->dev, &s->marks[0], &s->marks[1], &seconds));
        processor = processor_seconds() - processor;
        if (processor < least_processor) least_processor = processor;
        spent += seconds;
        ms[n++] = 1e3 * seconds;
    }
    qsort(ms, (size_t)n, sizeof *ms, compare_doubles);
    *time = (bench_time){ms[n / 2], ms[0], 1e3 * least_processor};
    return STATUS_OK;
}

static status measure_stages(const timed *t, nufft_times *times)
{
    int n = t->c->brief ? 1 : 3;
    nufft_time_stages(t->plan, true);
    for (int i = 0; i < n; i++)
        TRY(call(t, EXEC));
    TRY(nufft_get_times(t->plan, times));
    nufft_time_stages(t->plan, false);
    times->spread *= 1e3 / n;
    times->interpolate *= 1e3 / n;
    times->fft *= 1e3 / n;
    times->deconvolve *= 1e3 / n;
    return STATUS_OK;
}

static status measure_all(const timed *t, bench_result *r)
{
    bench_session *s = t->s;
    int64_t modes = mode_bytes(&s->data), values = value_bytes(&s->data.problem);
    TRY(device_zero(s->dev, s->result, modes > values ? modes : values)); /* of another run */
    TRY(call(t, SET | EXEC));                                             /* warm up */
    TRY(measure(t, SET, &r->set));
    TRY(measure(t, EXEC, &r->exec));
    TRY(copy_out(t));
    TRY(bench_error(&s->data, t->c->type, s->outputs, s->host_result, &r->error));
    TRY(measure_stages(t, &r->stages));
    TRY(measure(t, SET | EXEC, &r->total));
    TRY(measure(t, SET | EXEC | COPIES, &r->copies));
    nufft_get_info(t->plan, &r->info);
    r->outputs = s->outputs;
    return STATUS_OK;
}

static status make_plan(const device *dev, const bench_case *c, nufft **plan)
{
    const bench_problem *p = &c->problem;
    const nufft_options o = {.precision = p->precision,
                             .tolerance = c->tolerance,
                             .upsampling = c->upsampling,
                             .sign = p->sign,
                             .real = p->real,
                             .batch = p->batch,
                             .method = c->method};
    return nufft_create(dev, p->dim, p->modes, &o, plan);
}

status bench_run(bench_session *s, const bench_case *c, bench_result *result)
{
    timed t = {s, c, NULL};
    *result = (bench_result){.plan = 0};
    TRY(load(s, &c->problem));
    double start = omp_get_wtime();
    TRY(make_plan(s->dev, c, &t.plan));
    result->plan = 1e3 * (omp_get_wtime() - start);
    status done = measure_all(&t, result);
    nufft_destroy(t.plan);
    return done;
}

status bench_method_differs(const device *dev, const bench_case *c, nufft_method other,
                            bool *differs)
{
    nufft *plan;
    nufft_info info;
    *differs = false;
    status made = make_plan(dev, c, &plan);
    if (made == STATUS_UNSUPPORTED) return STATUS_OK;
    TRY(made);
    nufft_get_info(plan, &info);
    nufft_destroy(plan);
    *differs = info.method == c->method && info.method != other;
    return STATUS_OK;
}
