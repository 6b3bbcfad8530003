/* fft_lines.h: single-threaded transforms of strided lines or planes in host memory, by FFTW.

   One plan is shared by all threads: each executes it at its own addresses.  The planner is not
   thread safe, so it runs under a lock; it never measures (FFTW_ESTIMATE), so that the arithmetic
   is the same in every run. */
#ifndef NUFFT_FFT_LINES_H
#define NUFFT_FFT_LINES_H

#include "nufft/fft.h"

/* Strides in numbers of the side's own kind (complex or real). dim <= 3 transformed dimensions,
   and one loop over `count` of them. */
typedef struct fft_lines_shape {
    int dim;
    int64_t n[3], in_stride[3], out_stride[3];
    int64_t count, in_step, out_step;
} fft_lines_shape;

typedef struct fft_lines_table {
    /* in_place: in and out will be the same address. aligned: all addresses will be multiples of
       16 bytes (else no vector instructions are used). NULL if FFTW cannot make the plan. */
    void *(*create)(fft_kind kind, const fft_lines_shape *shape, bool in_place, bool aligned);
    /* May be called by any number of threads. */
    void (*run)(const void *plan, fft_kind kind, void *in, void *out);
    void (*destroy)(void *plan);
} fft_lines_table;

extern const fft_lines_table fft_lines_single, fft_lines_double;

static inline const fft_lines_table *fft_lines_for(precision p)
{
    return p == PRECISION_SINGLE ? &fft_lines_single : &fft_lines_double;
}

/* The planner's lock, common to both precisions. */
void fft_planner_lock(void);
void fft_planner_unlock(void);

#endif
