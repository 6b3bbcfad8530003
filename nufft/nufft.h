/* nufft.h: nonuniform fast Fourier transforms of types 1 and 2 in one, two and three dimensions.

   With modes f_k, k_d = -floor(N_d/2) .. floor((N_d-1)/2), and points x_j in radians,

       forward (type 2):  c_j = sum_k f_k exp(+i k.x_j)
       adjoint (type 1):  f_k = sum_j c_j exp(-i k.x_j)

   options.sign = -1 flips both signs.  The error is relative, in the l2 sense: the norm of the
   difference from the exact sums over the norm of the exact sums is at most the tolerance.

   Layout.  Modes are complex (re, im interleaved), C-ordered [vector][z][y][x], x fastest, k from
   the most negative, so that k = 0 stands at index floor(N/2) of each dimension.  Values at the
   points are [vector][j].  modes[0] is the size in x.  All arrays are in the memory of the plan's
   device and of the plan's precision, passed as void *.

   Real path (options.real): values are real numbers, one per point; modes stay complex in full.
       real forward = Re of the complex forward (so only the Hermitian part of the modes counts)
       real adjoint = the complex adjoint of real strengths (its modes are Hermitian where the
                      partner -k exists; for even N the -N/2 planes are unpaired, same definition)
   It costs half of the complex path.  A GPU may transform two vectors of a batch as the parts of a
   complex one; their rounding errors then mix, so vectors whose norms differ by more than 1e3
   should not share a batch.

   Points may lie anywhere: they are folded into [-pi, pi) with compensated arithmetic, so that
   single precision loses no digits as N grows.  Coordinates and strengths that are NaN or infinite
   give NaN out (all modes in the adjoint, that point in the forward), never an access out of range.
   Zero points are allowed: the adjoint is then zero.

   On a GPU the calls below only queue work on the device's stream: results are there after
   device_synchronize, and arrays passed in must stay until then (device_free waits by itself).
   nufft_forward and nufft_adjoint neither allocate nor wait, nor does nufft_set_points unless n
   exceeds all earlier ones.

   A plan may be used by one thread at a time; different plans by different threads.  On the CPU the
   result does not depend on the number of threads, bit for bit; on a GPU the adjoint's last digits
   vary from run to run, unless options.deterministic. */
#ifndef NUFFT_H
#define NUFFT_H

#include "core/device.h"

typedef struct nufft nufft;

/* How a GPU spreads and interpolates.  GM, GM-sort and SM are those of Shih et al. (arXiv 2102.08463,
   section III), there to be compared with; the plan's own choice is between the others. */
typedef enum nufft_method {
    NUFFT_DEFAULT, /* the fastest that fits the case, by measurement (nufft/NOTES.md); TILE gives way to
                      GM_SORT where points are few */
    NUFFT_GM,      /* a thread per point, atomics in global memory, points as they come */
    NUFFT_GM_SORT, /* the same with the points sorted into bins */
    NUFFT_SM,      /* 2D, 3D: 1024 points at most of a bin to shared memory; type 2 as GM_SORT */
    NUFFT_TILE,    /* 2D, 3D: a warp's registers hold the part of the grid its points touch */
    NUFFT_TENSOR,  /* 3D double: the same by matrix products on FP64 tensor cores */
    NUFFT_METHODS  /* how many there are */
} nufft_method;

typedef struct nufft_options {
    precision precision;
    double tolerance;    /* relative l2 error asked for */
    double upsampling;   /* fine grid over modes: 2 or 1.25; 0: the plan chooses */
    int sign;            /* +1 (0 means +1): the signs above; -1: both flipped */
    bool real;           /* real path */
    int batch;           /* vectors transformed together over the same points; 0 means 1 */
    nufft_method method; /* of a GPU; the CPU takes NUFFT_DEFAULT only */
    /* On a GPU: the same bits in every run on the same kind, with any method but SM; takes more memory
       and time (nufft/NOTES.md). */
    bool deterministic;
} nufft_options;

/* What a plan decided, and what it keeps. */
typedef struct nufft_info {
    int dim;
    int width;           /* of the spreading kernel, in fine-grid cells */
    double upsampling;   /* the one chosen */
    int64_t fine[3];     /* fine grid sizes */
    double expected;     /* estimated relative l2 error */
    int64_t n_points;    /* of the last set_points */
    int64_t bytes;       /* memory kept by the plan, points included */
    int64_t point_bytes; /* of these, for the points */
    nufft_method method; /* the one chosen; NUFFT_DEFAULT on the CPU */
} nufft_info;

/* Seconds spent in the stages. */
typedef struct nufft_times {
    double set_points, spread, interpolate, fft, deconvolve;
} nufft_times;

/* Makes a plan on dev, which must outlive it.  dim is 1, 2 or 3, modes[0..dim-1] >= 1.
   STATUS_INVALID for a bad argument, or an upsampling of 1.25 demanded with a tolerance it cannot
   reach (below 1e-8 in double, 1e-4 in single precision, 3D); STATUS_UNSUPPORTED for a method that
   does not fit the case or the device; STATUS_RESOURCE without memory.  A tolerance below what the
   precision can reach is served as well as possible; see info.expected. */
status nufft_create(const device *dev, int dim, const int64_t modes[], const nufft_options *options,
                    nufft **plan);

/* Bytes that a plan like this keeps on a device of the kind once it has seen n points, work space of
   the FFT included: an estimate, from the sizes that nufft_create would choose. */
status nufft_forecast(device_kind kind, int dim, const int64_t modes[],
                      const nufft_options *options, int64_t n, int64_t *bytes);

/* Accepts NULL. */
void nufft_destroy(nufft *plan);

/* Takes n points; coordinates[d] holds n reals (d = 0 is x).  The plan keeps a sorted copy: the
   caller's arrays may be freed on return.  May be called again with any n. */
status nufft_set_points(nufft *plan, int64_t n, const void *const coordinates[]);

/* Type 2, all vectors of the batch: modes [batch][..] -> values [batch][n]. */
status nufft_forward(nufft *plan, const void *modes, void *values);

/* Type 1: values [batch][n] -> modes [batch][..], overwritten. */
status nufft_adjoint(nufft *plan, const void *values, void *modes);

void nufft_get_info(const nufft *plan, nufft_info *info);

/* Begins to sum up the times of the stages, from zero, or ends it; a new plan takes none.  Nothing
   waits between the stages, but each call waits for the one before. */
void nufft_time_stages(nufft *plan, bool on);
/* The sums so far; waits for the last call. */
status nufft_get_times(nufft *plan, nufft_times *times);

/* "default", "gm", "gm-sort", ..; NULL for what is no method. */
const char *nufft_method_name(nufft_method method);

/* The exact sums, in host memory, at O(n_points * n_modes) cost: the reference for tests and for
   those who need every digit.  Coordinates are doubles; the argument k.x is reduced exactly, so
   |x| may be large.  values and modes are complex doubles; no batch. sign as above. */
void nufft_direct_forward(int dim, const int64_t modes[], int sign, int64_t n,
                          const double *const coordinates[], const double *f, double *c);
void nufft_direct_adjoint(int dim, const int64_t modes[], int sign, int64_t n,
                          const double *const coordinates[], const double *c, double *f);

#endif
