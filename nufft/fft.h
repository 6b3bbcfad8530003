/* fft.h: fast Fourier transforms on a device; FFTW and cuFFT live behind this header only.

   Transforms are not normalised.  Arrays are C-ordered, size[0] is the fastest dimension; `batch`
   arrays follow one another without gaps.  Complex numbers are (re, im) pairs.  The half-complex
   side of a real transform keeps floor(size[0]/2)+1 complex numbers along the fastest dimension.
   Plans are made without timing and run the same arithmetic for any number of threads. */
#ifndef NUFFT_FFT_H
#define NUFFT_FFT_H

#include "core/device.h"

typedef struct fft fft;

typedef enum fft_kind {
    FFT_FORWARD,      /* complex to complex, exp(-i..) */
    FFT_BACKWARD,     /* complex to complex, exp(+i..) */
    FFT_REAL_FORWARD, /* real to half complex, exp(-i..); its input is kept */
    FFT_REAL_BACKWARD /* half complex to real, exp(+i..); its input is destroyed */
} fft_kind;

/* Thread safe. in and out of fft_run must be 64-byte aligned (device_alloc gives such memory), and
   be the same pointer exactly if in_place. Real transforms are out of place only. */
status fft_create(const device *dev, precision p, fft_kind kind, int dim, const int64_t size[],
                  int64_t batch, bool in_place, fft **plan);
status fft_run(const fft *plan, void *in, void *out);
/* Of work memory that the plan keeps on the device. */
int64_t fft_bytes(const fft *plan);
/* Accepts NULL. */
void fft_destroy(fft *plan);

/* As fft_create for a complex transform in 3D, in place, of which only the planes of frequencies up to
   modes / 2 in z, either sign, matter: of the output, or (of_input) of an input that is zero elsewhere.
   What the other planes of the output hold is not said. */
status fft_create_central(const device *dev, precision p, fft_kind kind, const int64_t size[3],
                          int64_t batch, int64_t modes, bool of_input, fft **plan);

/* The smallest size >= n that is a product of 2, 3, 5 and 7 (even if asked). */
int64_t fft_good_size(int64_t n, bool even);

#endif
