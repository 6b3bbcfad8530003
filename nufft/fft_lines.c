#include "nufft/fft_lines.h"

#include <fftw3.h>

#ifdef MTIP_SINGLE
#define FFTW(name) fftwf_##name
#else
#define FFTW(name) fftw_##name
#endif

/* ESTIMATE looks at the addresses' alignment only and never at what is there, so planning needs no
   arrays. */
static void *planning_address(bool second)
{
    return (void *)(uintptr_t)(second ? 0x20000 : 0x10000);
}

static void *plan_lines(fft_kind kind, const fft_lines_shape *s, bool in_place, bool aligned)
{
    FFTW(iodim64)
    dims[3], loop = {(ptrdiff_t)s->count, (ptrdiff_t)s->in_step, (ptrdiff_t)s->out_step};
    for (int d = 0; d < s->dim; d++) /* FFTW wants the slowest first */
        dims[s->dim - 1 - d] = (FFTW(iodim64)){(ptrdiff_t)s->n[d], (ptrdiff_t)s->in_stride[d],
                                               (ptrdiff_t)s->out_stride[d]};
    void *in = planning_address(false), *out = in_place ? in : planning_address(true);
    unsigned flags = FFTW_ESTIMATE | (aligned ? 0 : FFTW_UNALIGNED);
    switch (kind) {
    case FFT_FORWARD:
        return FFTW(plan_guru64_dft)(s->dim, dims, 1, &loop, in, out, FFTW_FORWARD, flags);
    case FFT_BACKWARD:
        return FFTW(plan_guru64_dft)(s->dim, dims, 1, &loop, in, out, FFTW_BACKWARD, flags);
    case FFT_REAL_FORWARD:
        return FFTW(plan_guru64_dft_r2c)(s->dim, dims, 1, &loop, in, out, flags);
    case FFT_REAL_BACKWARD:
        return FFTW(plan_guru64_dft_c2r)(s->dim, dims, 1, &loop, in, out,
                                         flags | FFTW_DESTROY_INPUT);
    }
    return NULL;
}

static void *create(fft_kind kind, const fft_lines_shape *shape, bool in_place, bool aligned)
{
    fft_planner_lock();
    void *plan = plan_lines(kind, shape, in_place, aligned);
    fft_planner_unlock();
    return plan;
}

/* FFTW takes plans by non-const pointer but does not write to them when it executes. */
static void run(const void *plan, fft_kind kind, void *in, void *out)
{
    FFTW(plan) p = (FFTW(plan))(uintptr_t)plan;
    switch (kind) {
    case FFT_FORWARD:
    case FFT_BACKWARD:
        FFTW(execute_dft)(p, in, out);
        break;
    case FFT_REAL_FORWARD:
        FFTW(execute_dft_r2c)(p, in, out);
        break;
    case FFT_REAL_BACKWARD:
        FFTW(execute_dft_c2r)(p, in, out);
        break;
    }
}

static void destroy(void *plan)
{
    if (!plan) return;
    fft_planner_lock();
    FFTW(destroy_plan)(plan);
    fft_planner_unlock();
}

const fft_lines_table PRECISE(fft_lines) = {create, run, destroy};
