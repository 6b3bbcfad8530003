/* fft_cuda.c: transforms on a GPU, by cuFFT. */
#include "nufft/fft_impl.h"

#include <cufft.h>
#include <stdlib.h>

#include "core/cuda_try.h"

enum { WHOLE, LINES, PLANES };

/* One transform, or z lines and then planes that matter, or the other way round. */
typedef struct fft_cuda {
    cufftHandle plans[3];
    bool planned[3];
    void *stream;
    int ordinal;
    fft_kind kind;
    precision precision;
    int64_t batch, plane, nz; /* numbers of a plane */
    int64_t half;             /* 0, or the planes at either end that matter */
    bool of_input;
    int64_t bytes; /* of cuFFT's work areas */
} fft_cuda;

static status cufft_status(cufftResult result)
{
    if (result == CUFFT_SUCCESS) return STATUS_OK;
    if (result == CUFFT_ALLOC_FAILED) FAIL(STATUS_RESOURCE, "cuFFT finds too little GPU memory");
    FAIL(STATUS_INTERNAL, "cuFFT fails with code %d", (int)result);
}

static cufftType type_of(fft_kind kind, precision p)
{
    bool single = p == PRECISION_SINGLE;
    if (kind == FFT_REAL_FORWARD) return single ? CUFFT_R2C : CUFFT_D2Z;
    if (kind == FFT_REAL_BACKWARD) return single ? CUFFT_C2R : CUFFT_Z2D;
    return single ? CUFFT_C2C : CUFFT_Z2Z;
}

static void destroy(void *state)
{
    fft_cuda *f = state;
    if (!f) return;
    int before;
    if (cuda_enter(f->ordinal, &before) == STATUS_OK) {
        for (int i = 0; i < 3; i++)
            if (f->planned[i]) (void)cufftDestroy(f->plans[i]);
        cuda_leave(f->ordinal, before);
    }
    free(f);
}

/* Layout of one side of a plan: the numbers between neighbours and between transforms. */
typedef struct layout {
    long long stride, step;
} layout;

/* A plan of f for `count` transforms of this size, slowest dimension first. */
static status make_plan(fft_cuda *f, int which, int dim, long long size[], layout in, layout out,
                        long long count)
{
    size_t bytes = 0;
    cufftHandle *plan = &f->plans[which];
    TRY(cufft_status(cufftCreate(plan)));
    f->planned[which] = true;
    long long *embedding = in.stride == 1 ? NULL : size;
    TRY(cufft_status(cufftMakePlanMany64(*plan, dim, size, embedding, in.stride, in.step, embedding,
                                         out.stride, out.step, type_of(f->kind, f->precision),
                                         count, &bytes)));
    f->bytes += (int64_t)bytes;
    return cufft_status(cufftSetStream(*plan, (cudaStream_t)f->stream));
}

static status make_whole(fft_cuda *f, const fft_problem *p)
{
    long long size[3], plane = 1, half_plane = 1;
    for (int d = 0; d < p->dim; d++) {
        size[d] = p->size[p->dim - 1 - d];
        plane *= p->size[d];
        half_plane *= d == 0 ? p->size[0] / 2 + 1 : p->size[d];
    }
    layout in = {1, p->kind == FFT_REAL_BACKWARD ? half_plane : plane};
    layout out = {1, p->kind == FFT_REAL_FORWARD ? half_plane : plane};
    return make_plan(f, WHOLE, p->dim, size, in, out, p->batch);
}

static status make_central(fft_cuda *f, const fft_problem *p)
{
    long long size[3] = {p->size[2], p->size[1], p->size[0]};
    layout along_z = {f->plane, 1}, planes = {1, f->plane};
    TRY(make_plan(f, LINES, 1, size, along_z, along_z, f->plane));
    return make_plan(f, PLANES, 2, size + 1, planes, planes, f->half);
}

/* Measured (nufft/NOTES.md): in parts from this number of cells on. */
static const double LEAST_CENTRAL = 3e6;

static status make(fft_cuda *f, const fft_problem *p)
{
    int64_t half = p->modes / 2 + 1;
    f->batch = p->batch;
    f->plane = p->size[0] * p->size[1];
    f->nz = p->size[2];
    f->of_input = p->of_input;
    bool large = (double)f->plane * (double)f->nz >= LEAST_CENTRAL;
    f->half = p->modes && large && 2 * half <= f->nz ? half : 0;
    return f->half ? make_central(f, p) : make_whole(f, p);
}

static status create(const device *dev, const fft_problem *problem, void **state)
{
    *state = NULL;
    fft_cuda *f = calloc(1, sizeof *f);
    if (!f) FAIL(STATUS_RESOURCE, "out of host memory");
    f->ordinal = device_ordinal(dev);
    f->stream = device_stream(dev);
    f->kind = problem->kind;
    f->precision = problem->precision;
    int before;
    status result = cuda_enter(f->ordinal, &before);
    if (result == STATUS_OK) {
        result = make(f, problem);
        cuda_leave(f->ordinal, before);
    }
    if (result != STATUS_OK) {
        destroy(f);
        return result;
    }
    *state = f;
    return STATUS_OK;
}

static status execute(const fft_cuda *f, int which, void *in, void *out)
{
    cufftHandle plan = f->plans[which];
    bool single = f->precision == PRECISION_SINGLE;
    int direction = f->kind == FFT_FORWARD ? CUFFT_FORWARD : CUFFT_INVERSE;
    if (f->kind == FFT_REAL_FORWARD)
        return cufft_status(single ? cufftExecR2C(plan, in, out) : cufftExecD2Z(plan, in, out));
    if (f->kind == FFT_REAL_BACKWARD)
        return cufft_status(single ? cufftExecC2R(plan, in, out) : cufftExecZ2D(plan, in, out));
    return cufft_status(single ? cufftExecC2C(plan, in, out, direction)
                               : cufftExecZ2Z(plan, in, out, direction));
}

static status run_central(const fft_cuda *f, char *array)
{
    int64_t plane = f->plane * 2 * (int64_t)real_size(f->precision);
    for (int64_t v = 0; v < f->batch; v++, array += f->nz * plane) {
        char *last = array + (f->nz - f->half) * plane;
        if (!f->of_input) TRY(execute(f, LINES, array, array));
        TRY(execute(f, PLANES, array, array));
        TRY(execute(f, PLANES, last, last));
        if (f->of_input) TRY(execute(f, LINES, array, array));
    }
    return STATUS_OK;
}

static status run(const void *state, void *in, void *out)
{
    const fft_cuda *f = state;
    int before;
    TRY(cuda_enter(f->ordinal, &before));
    status result = f->half ? run_central(f, in) : execute(f, WHOLE, in, out);
    cuda_leave(f->ordinal, before);
    return result;
}

static int64_t bytes(const void *state)
{
    return ((const fft_cuda *)state)->bytes;
}

const fft_table fft_table_cuda = {create, run, destroy, bytes};
