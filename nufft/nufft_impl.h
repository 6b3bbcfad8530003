/* nufft_impl.h: what stands between the plan and its backend; for nufft/nufft*.c[u] only.

   The plan (nufft.c) checks arguments and chooses the kernel and the fine grid; a backend holds
   the points, the fine grid and the transforms, and does the steps below.  There is one table per
   backend and precision. */
#ifndef NUFFT_IMPL_H
#define NUFFT_IMPL_H

#include "nufft/nufft.h"
#include "nufft/window.h"

typedef struct nufft_setup {
    const device *dev;
    int dim;
    int64_t modes[3], fine[3]; /* 1 beyond dim */
    int64_t batch;
    int sign; /* +1 or -1 */
    bool real;
    nufft_method method;
    bool deterministic;
    window window;
    /* Host memory, owned by the plan: factors[d][|k|] deconvolves mode k of dimension d. */
    const double *factors[3];
} nufft_setup;

/* values, modes and coordinates are device memory in the table's precision. create copies what it
   needs of the setup's arrays; destroy accepts NULL. The fine grid stays in the state between the
   steps of a transform:
       adjoint: spread, fft(adjoint = true), extract     forward: insert, fft(false), interpolate */
typedef struct nufft_backend {
    status (*create)(const nufft_setup *setup, void **state);
    void (*destroy)(void *state);
    status (*set_points)(void *state, int64_t n, const void *const coordinates[]);
    /* fine grid = sum over points of value times kernel */
    status (*spread)(void *state, const void *values);
    /* value = sum over the fine grid of grid times kernel */
    status (*interpolate)(void *state, void *values);
    status (*fft)(void *state, bool adjoint);
    /* modes = deconvolved low frequencies of the fine grid */
    status (*extract)(void *state, void *modes);
    /* fine grid = deconvolved modes, zero-padded */
    status (*insert)(void *state, const void *modes);
    /* Fills in the bytes and the method. */
    void (*describe)(const void *state, nufft_info *info);
} nufft_backend;

/* Reals of `size` bytes from row to row of the CPU's fine grid: a row, real or complex, as its transform
   leaves it, in whole lines of the cache. */
static inline int64_t nufft_cpu_pitch(bool is_real, int64_t fine, int64_t size)
{
    const int64_t line = 64 / size, cells = is_real ? fine / 2 + 1 : fine;
    return (2 * cells + line - 1) / line * line;
}

extern const nufft_backend nufft_cpu_single, nufft_cpu_double;
extern const nufft_backend nufft_cuda_single, nufft_cuda_double;

#endif
