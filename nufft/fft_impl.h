/* fft_impl.h: the table behind a transform, one for each kind of device; for nufft/fft*.c only. */
#ifndef NUFFT_FFT_IMPL_H
#define NUFFT_FFT_IMPL_H

#include "nufft/fft.h"

typedef struct fft_problem {
    precision precision;
    fft_kind kind;
    int dim;
    int64_t size[3]; /* 1 beyond dim */
    int64_t batch;
    bool in_place;
    int64_t modes; /* of fft_create_central; 0: all planes matter */
    bool of_input;
} fft_problem;

typedef struct fft_table {
    status (*create)(const device *dev, const fft_problem *problem, void **state);
    status (*run)(const void *state, void *in, void *out);
    void (*destroy)(void *state); /* accepts NULL */
    int64_t (*bytes)(const void *state);
} fft_table;

extern const fft_table fft_table_cpu;
extern const fft_table fft_table_cuda; /* says "unsupported" in a build without CUDA */

#endif
