/* fft_cuda.c: transforms on a GPU, by cuFFT. */
#include "nufft/fft_impl.h"

#include <cufft.h>
#include <stdlib.h>

#include "core/cuda_try.h"

typedef struct fft_cuda {
    cufftHandle plan;
    bool planned;
    int ordinal;
    fft_kind kind;
    precision precision;
    size_t bytes; /* of cuFFT's work area */
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
    if (f->planned && cuda_try_enter(f->ordinal, &before) == cudaSuccess) {
        (void)cufftDestroy(f->plan);
        cuda_leave(f->ordinal, before);
    }
    free(f);
}

static status make(fft_cuda *f, const fft_problem *p, void *stream)
{
    long long size[3], plane = 1, half_plane = 1;
    for (int d = 0; d < p->dim; d++) {
        size[d] = p->size[p->dim - 1 - d];
        plane *= p->size[d];
        half_plane *= d == 0 ? p->size[0] / 2 + 1 : p->size[d];
    }
    bool forward = p->kind == FFT_REAL_FORWARD, backward = p->kind == FFT_REAL_BACKWARD;
    TRY(cufft_status(cufftCreate(&f->plan)));
    f->planned = true;
    TRY(cufft_status(cufftMakePlanMany64(
        f->plan, p->dim, size, NULL, 1, backward ? half_plane : plane, NULL, 1,
        forward ? half_plane : plane, type_of(p->kind, p->precision), p->batch, &f->bytes)));
    return cufft_status(cufftSetStream(f->plan, (cudaStream_t)stream));
}

static status create(const device *dev, const fft_problem *problem, void **state)
{
    *state = NULL;
    fft_cuda *f = calloc(1, sizeof *f);
    if (!f) FAIL(STATUS_RESOURCE, "out of host memory");
    f->ordinal = device_ordinal(dev);
    f->kind = problem->kind;
    f->precision = problem->precision;
    int before;
    status result = cuda_enter(f->ordinal, &before);
    if (result == STATUS_OK) {
        result = make(f, problem, device_stream(dev));
        cuda_leave(f->ordinal, before);
    }
    if (result != STATUS_OK) {
        destroy(f);
        return result;
    }
    *state = f;
    return STATUS_OK;
}

static cufftResult execute(const fft_cuda *f, void *in, void *out)
{
    bool single = f->precision == PRECISION_SINGLE;
    int direction = f->kind == FFT_FORWARD ? CUFFT_FORWARD : CUFFT_INVERSE;
    if (f->kind == FFT_REAL_FORWARD)
        return single ? cufftExecR2C(f->plan, in, out) : cufftExecD2Z(f->plan, in, out);
    if (f->kind == FFT_REAL_BACKWARD)
        return single ? cufftExecC2R(f->plan, in, out) : cufftExecZ2D(f->plan, in, out);
    return single ? cufftExecC2C(f->plan, in, out, direction)
                  : cufftExecZ2Z(f->plan, in, out, direction);
}

static status run(const void *state, void *in, void *out)
{
    const fft_cuda *f = state;
    int before;
    TRY(cuda_enter(f->ordinal, &before));
    status result = cufft_status(execute(f, in, out));
    cuda_leave(f->ordinal, before);
    return result;
}

static int64_t bytes(const void *state)
{
    return (int64_t)((const fft_cuda *)state)->bytes;
}

const fft_table fft_table_cuda = {create, run, destroy, bytes};
