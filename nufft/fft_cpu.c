/* fft_cpu.c: transforms on the CPU as one or two passes of single-threaded plans over planes and
   lines, which the threads share out.  Every number is computed by the same plan whatever the
   number of threads. */
#include "nufft/fft_impl.h"
#include "nufft/fft_lines.h"

#include <pthread.h>
#include <stdlib.h>

/* FFTW's planner has one state for the process, so its lock is one for the process as well. */
static pthread_mutex_t planner_mutex = PTHREAD_MUTEX_INITIALIZER;

void fft_planner_lock(void)
{
    pthread_mutex_lock(&planner_mutex);
}

void fft_planner_unlock(void)
{
    pthread_mutex_unlock(&planner_mutex);
}

/* outer x inner executions; the last of the inner ones has a plan of its own where the lines do
   not divide into equal chunks. Steps in bytes. */
typedef struct pass {
    fft_kind kind;
    void *plan, *last_plan;
    int64_t outer, inner;
    int64_t in_outer, in_inner, out_outer, out_inner;
    bool on_in, on_out; /* in place on the input, in place on the output, or from one to other */
} pass;

typedef struct fft_cpu {
    const fft_lines_table *lines;
    int n_threads;
    int n_passes;
    pass passes[2];
} fft_cpu;

static bool is_real(fft_kind kind)
{
    return kind == FFT_REAL_FORWARD || kind == FFT_REAL_BACKWARD;
}

/* Whether arrays of these lengths keep 16-byte alignment from one plane or line to the next. */
static bool keeps_alignment(precision p, int64_t n_reals)
{
    return (size_t)n_reals * real_size(p) % 16 == 0;
}

static status finish_pass(const fft_cpu *f, const pass *made)
{
    (void)f;
    if (!made->plan) FAIL(STATUS_INTERNAL, "FFTW cannot plan this transform");
    return STATUS_OK;
}

/* The first (for real_backward: last) pass: x lines in 1D and 2D, planes in 3D. */
static status make_planes(fft_cpu *f, const fft_problem *p, pass *made)
{
    int64_t half = p->size[0] / 2 + 1, nx = p->size[0], ny = p->size[1];
    bool forward = p->kind == FFT_REAL_FORWARD, backward = p->kind == FFT_REAL_BACKWARD;
    int64_t in_x = backward ? half : nx, out_x = forward ? half : nx;
    int in_reals = forward ? 1 : 2, out_reals = backward ? 1 : 2;
    int dim = p->dim == 3 ? 2 : 1;
    int64_t in_step = dim == 2 ? in_x * ny : in_x, out_step = dim == 2 ? out_x * ny : out_x;
    fft_lines_shape shape = {dim, {nx, ny, 1}, {1, in_x, 1}, {1, out_x, 1}, 1, 0, 0};
    bool aligned = keeps_alignment(p->precision, in_step * in_reals) &&
                   keeps_alignment(p->precision, out_step * out_reals);
    int64_t size = (int64_t)real_size(p->precision);
    *made = (pass){.kind = p->kind,
                   .plan = f->lines->create(p->kind, &shape, p->in_place, aligned),
                   .outer = (p->dim == 1 ? 1 : p->size[p->dim - 1]) * p->batch,
                   .inner = 1,
                   .in_outer = in_step * in_reals * size,
                   .out_outer = out_step * out_reals * size};
    return finish_pass(f, made);
}

/* The complex pass along the slowest dimension: chunks of columns in 2D, rows of z lines in 3D. */
static status make_columns(fft_cpu *f, const fft_problem *p, pass *made)
{
    enum { CHUNK = 16 };
    int64_t width = is_real(p->kind) ? p->size[0] / 2 + 1 : p->size[0];
    int64_t slow = p->size[p->dim - 1], stride = p->dim == 3 ? width * p->size[1] : width;
    int64_t chunk = p->dim == 3 ? width : width < CHUNK ? width : CHUNK;
    int64_t rest = width % chunk, size = 2 * (int64_t)real_size(p->precision);
    fft_kind kind = p->kind == FFT_REAL_FORWARD    ? FFT_FORWARD
                    : p->kind == FFT_REAL_BACKWARD ? FFT_BACKWARD
                                                   : p->kind;
    fft_lines_shape shape = {1, {slow, 1, 1}, {stride, 1, 1}, {stride, 1, 1}, chunk, 1, 1};
    bool aligned = keeps_alignment(p->precision, 2 * chunk) &&
                   keeps_alignment(p->precision, 2 * stride * slow);
    *made = (pass){.kind = kind,
                   .plan = f->lines->create(kind, &shape, true, aligned),
                   .outer = p->batch,
                   .inner = p->dim == 3 ? p->size[1] : (width + chunk - 1) / chunk,
                   .in_outer = stride * slow * size,
                   .in_inner = chunk * size};
    made->out_outer = made->in_outer;
    made->out_inner = made->in_inner;
    made->on_in = p->kind == FFT_REAL_BACKWARD;
    made->on_out = !made->on_in;
    if (rest) {
        shape.count = rest;
        made->last_plan = f->lines->create(kind, &shape, true, aligned);
        if (!made->last_plan) FAIL(STATUS_INTERNAL, "FFTW cannot plan this transform");
    }
    return finish_pass(f, made);
}

static void destroy(void *state)
{
    fft_cpu *f = state;
    if (!f) return;
    for (int i = 0; i < 2; i++) {
        f->lines->destroy(f->passes[i].plan);
        f->lines->destroy(f->passes[i].last_plan);
    }
    free(f);
}

static status create(const device *dev, const fft_problem *problem, void **state)
{
    status result = STATUS_OK;
    *state = NULL;
    fft_cpu *f = calloc(1, sizeof *f);
    if (!f) FAIL(STATUS_RESOURCE, "out of host memory");
    f->lines = fft_lines_for(problem->precision);
    f->n_threads = device_threads(dev);
    f->n_passes = problem->dim == 1 ? 1 : 2;
    int planes = problem->kind == FFT_REAL_BACKWARD && problem->dim > 1 ? 1 : 0;
    TRY_OR(fail, make_planes(f, problem, &f->passes[planes]));
    if (problem->dim > 1) TRY_OR(fail, make_columns(f, problem, &f->passes[1 - planes]));
    *state = f;
    return STATUS_OK;
fail:
    destroy(f);
    return result;
}

static void run_pass(const fft_cpu *f, const pass *p, char *in, char *out)
{
    int64_t n = p->outer * p->inner;
#pragma omp parallel for schedule(static) num_threads(f->n_threads) if (n > 1)
    for (int64_t i = 0; i < n; i++) {
        int64_t outer = i / p->inner, inner = i % p->inner;
        bool last = p->last_plan && inner == p->inner - 1;
        f->lines->run(last ? p->last_plan : p->plan, p->kind,
                      in + outer * p->in_outer + inner * p->in_inner,
                      out + outer * p->out_outer + inner * p->out_inner);
    }
}

static status run(const void *state, void *in, void *out)
{
    const fft_cpu *f = state;
    for (int i = 0; i < f->n_passes; i++) {
        const pass *p = &f->passes[i];
        run_pass(f, p, p->on_out ? out : in, p->on_in ? in : out);
    }
    return STATUS_OK;
}

/* FFTW takes what it needs for one line at a time. */
static int64_t bytes(const void *state)
{
    (void)state;
    return 0;
}

const fft_table fft_table_cpu = {create, run, destroy, bytes};
