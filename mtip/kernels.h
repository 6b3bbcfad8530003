/* kernels.h: the tables of array operations that the stages are written in, one set per backend
   and precision.

   Arrays are in the memory of the device, of the table's precision unless typed otherwise; scalars
   and small arrays marked _host are host memory.  Volumes are [z][y][x] of n^3 voxels.  A half
   volume is what a real-to-complex FFT of it leaves: [n][n][n/2+1] complex numbers, unshifted.
   Functions that give sums back wait for the device. */
#ifndef MTIP_KERNELS_H
#define MTIP_KERNELS_H

#include "core/device.h"
#include "mtip/ladder.h"
#include "mtip/shift_math.h"

/* MATCH_EMC: Poisson likelihood, soft; MATCH_NCC: shell-whitened normalised correlation, hard;
   MATCH_L2: distance of raw intensities, hard (the negative control: it gets trapped). */
typedef enum match_method { MATCH_EMC, MATCH_NCC, MATCH_L2 } match_method;

/* How a slice becomes the row that images are multiplied with; see match.h. */
typedef struct operand_rule {
    match_method method;
    double floor;           /* smallest slice value, in photons */
    const void *correction; /* [n_pixels] detector factor, model to counts */
    const void *offset;     /* [n_pixels] subtracted from the logarithm (Poisson) */
    const void *whitening;  /* [n_pixels] weights (whitened correlation) */
    double total;           /* subtracted from the bias (Poisson) */
} operand_rule;

#define WEIGHT_SCALE 0x1p40

/* Slicing and matching. */
typedef struct match_kernels {
    /* out[d][r * n_pixels + p] = component d of R_r^T s_p; rotations_host [n][9], s [n_pixels][3] */
    status (*rotate)(const device *dev, int64_t n, const double *rotations_host, int64_t n_pixels,
                     const void *s, void *const out[3]);
    /* complex modes [n] = real volume [n], imaginary parts zero */
    status (*complex_from_real)(const device *dev, int64_t n, const void *in, void *out);
    /* rows[r][p] and bias[r] from slices[r][p], in place allowed; p < n_pixels, row stride n_pixels */
    status (*operand)(const device *dev, const operand_rule *rule, int64_t n_rows, int64_t n_pixels,
                      const void *slices, void *rows, void *bias);
    /* scores[i][r] -= coefficient[i] * bias[r] */
    status (*subtract_bias)(const device *dev, int64_t n_rows, int64_t n, void *scores, int64_t ld,
                            const void *coefficient, const void *bias);
    /* Takes the scores of references first..first+n-1 into every row's ladder. */
    status (*ladder_add)(const device *dev, int64_t n_rows, int64_t n, const void *scores,
                         int64_t ld, int64_t first, const void *total, const ladder *state);
    /* ladder_choose for every row; rows from n_images on belong to no reference. */
    status (*choose)(const device *dev, int64_t n_rows, int64_t n_images, const ladder_rule *rule,
                     const ladder *state);
    /* out[i][r] = exp(beta_i (S_ir - max_i) - log_z_i), or where beta_i < 0: 1 for the best of the
       row, 0 elsewhere. out may be scores. */
    status (*posterior)(const device *dev, int64_t n_rows, int64_t n, const void *scores,
                        int64_t ld, int64_t first, const ladder *state, void *out, int64_t ld_out);
    /* weights[r] += floor(WEIGHT_SCALE * posterior[i][r] * fluence[i]): the same for any order */
    status (*add_weights)(const device *dev, int64_t n_rows, int64_t n, const void *posterior,
                          int64_t ld, const void *fluence, int64_t *weights);
    /* out[i][a] = in[i][columns_host[a]] */
    status (*take_columns)(const device *dev, int64_t n_rows, int64_t n_columns,
                           const int64_t *columns_host, const void *in, int64_t ld_in, void *out,
                           int64_t ld_out);
    /* sum[i] += in[i] * scale, cut to an integer, and back: out[i] = sum[i] / scale */
    status (*add_fixed)(const device *dev, int64_t n, const void *in, double scale, int64_t *sum);
    status (*from_fixed)(const device *dev, int64_t n, const int64_t *sum, double scale, void *out);
    /* out[r][p] = weights_host[r] */
    status (*spread_rows)(const device *dev, int64_t n_rows, int64_t n_pixels,
                          const double *weights_host, void *out);
    /* rows[r][p] /= divisor[p] */
    status (*divide_rows)(const device *dev, int64_t n_rows, int64_t n_pixels, const void *divisor,
                          void *rows);
} match_kernels;

/* Images in the memory of the device: reals; halves (IEEE binary16), which hold whole numbers up to
   HALF_LARGEST exactly; or lists of the pixels that are not 0. */
typedef enum row_format { ROWS_REAL, ROWS_HALF, ROWS_LISTS } row_format;

enum { HALF_LARGEST = 2048 };

typedef struct image_rows {
    row_format format;
    int64_t n_rows, n_pixels;
    int64_t
        stride; /* of rows, at least n_pixels; a multiple of 8 for halves, which tensor cores like */
    void *data;        /* of lists: int64_t [n_rows + 1], where each row begins in */
    int32_t *pixel;    /* ascending in a row, and */
    void *value;       /* reals, */
    int64_t n_entries; /* this many, of all rows */
} image_rows;

/* Bytes of a row in data. */
static inline int64_t image_row_bytes(const image_rows *rows, precision p)
{
    if (rows->format == ROWS_LISTS) return sizeof(int64_t);
    return rows->format == ROWS_HALF ? 2 * rows->stride : real_bytes(p, rows->stride);
}

/* Rows first .. first+count-1. */
static inline image_rows image_rows_part(const image_rows *all, precision p, int64_t first,
                                         int64_t count)
{
    image_rows part = *all;
    part.n_rows = count;
    part.data = (char *)all->data + first * image_row_bytes(all, p);
    return part;
}

/* Photons a pixel below which lists are faster than matrix products on a CPU (measured). */
#define CPU_LISTS_PHOTONS 0.15

/* Images and their products, over the first n pixels of every row. */
typedef struct image_kernels {
    /* ROWS_HALF is understood: tensor cores multiply them with the other factor as a sum of two
       halves, 22 bits, and add up in single precision. */
    bool halves;
    /* ROWS_LISTS is understood, and faster than rows of images with fewer photons a pixel than this;
       0: never */
    double lists;
    /* rows (not of ROWS_LISTS) = counts [n_rows][n_pixels] (floats on the device), or, with weights [n_pixels], their
       products, each row divided by its norm */
    status (*store)(const device *dev, const float *counts, const void *weights,
                    const image_rows *rows);
    /* sums[i] = sum_p rows[i][p], doubles */
    status (*count)(const device *dev, const image_rows *rows, int64_t n, double *sums);
    /* scores[i][r] (row stride ld) = sum_p rows[i][p] references[r][p]; deterministic for given
       shapes */
    status (*score)(const device *dev, const image_rows *rows, int64_t n, int64_t n_references,
                    const void *references, void *scores, int64_t ld);
    /* sums[r][p] += sum_i shares[i][r] (row stride ld, 0 .. 1) rows[i][p] */
    status (*accumulate)(const device *dev, const image_rows *rows, int64_t n, int64_t n_references,
                         const void *shares, int64_t ld, void *sums);
} image_kernels;

/* Volumes: merging's linear algebra and what phasing shares with it. */
typedef struct volume_kernels {
    /* out (n^3) += real part of the centre of complex modes (m^3), m >= n */
    status (*add_real_centre)(const device *dev, int64_t m, const void *modes, int64_t n,
                              void *out);
    /* out (p^3) = volume (n^3), p >= n, with its centre at index 0 (periodic), zero elsewhere */
    status (*embed)(const device *dev, int64_t n, const void *volume, int64_t p, void *out);
    /* out (n^3) = scale * in (p^3) back from embed's layout, times mask (NULL: 1), p >= n */
    status (*extract)(const device *dev, int64_t p, const void *in, double scale, const void *mask,
                      int64_t n, void *out);
    /* out[i] = (re of half[i]) * scale: the real spectrum of a real-even volume */
    status (*real_spectrum)(const device *dev, int64_t n, const void *half, double scale,
                            void *out);
    /* half[i] *= spectrum[i] (complex by real) */
    status (*scale_half)(const device *dev, int64_t n, const void *spectrum, void *half);
    /* between reals and doubles, both on the device */
    status (*to_doubles)(const device *dev, int64_t n, const void *in, double *out);
    status (*from_doubles)(const device *dev, int64_t n, const double *in, void *out);
    /* v = (v(x) + v(-x)) / 2 about the centre; for even n the -n/2 planes are their own partners */
    status (*symmetrise)(const device *dev, int64_t n, void *volume);
} volume_kernels;

/* Conjugate gradients (Hestenes & Stiefel, J. Res. NBS 49, 409, 1952) for (S T S + shift) x = b, with
   T a product on the grid.  Their scalars (pointwise.h) are on the device, so that the host need not
   look: an iteration is direct, T from padded to grid, product, step, and changes nothing once
   done. */

/* Sums are made in a fixed order of at most cg_parts(n^3) parts. */
static inline int64_t cg_parts(int64_t n_voxels)
{
    return n_voxels / 512 + 1;
}

/* In the memory of the device: volumes of n^3, grids of p^3 in embed's layout. */
typedef struct cg_arrays {
    int64_t n, p;
    const void *b, *support;
    void *x, *residual, *direction, *product;
    void *padded; /* zero outside the volume */
    void *grid;
    double *parts; /* [2][cg_parts] */
    cg_scalars *scalars;
} cg_arrays;

typedef struct cg_kernels {
    /* direction = residual + ratio direction, and into padded */
    status (*direct)(const device *dev, const cg_arrays *cg);
    /* product = S grid + shift direction, and the curvature */
    status (*product)(const device *dev, const cg_arrays *cg);
    /* residual = b - product, and cg_begin */
    status (*start)(const device *dev, const cg_arrays *cg);
    /* x += a direction, residual -= a product, a = r2 / curvature, and cg_advance */
    status (*step)(const device *dev, const cg_arrays *cg);
    /* The edge p >= 2n-1 of the grid for which `iterate` can do a volume of n^3; 0: none. NULL: never */
    int64_t (*edge)(const device *dev, int64_t n);
    /* `count` iterations at once, or until they are done; spectrum: reals, T's multiplier over p^3;
       half: a half volume of p^3, left with anything */
    status (*iterate)(const device *dev, const cg_arrays *cg, const void *spectrum, void *half,
                      int count);
} cg_kernels;

/* What steps of phasing work on: `batch` volumes of grid^3 reals (density, support), their half
   volumes (half), and the half volume of amplitudes, < 0 where free. */
typedef struct phase_state {
    int64_t grid, batch;
    const void *amplitude, *support;
    void *density, *half;
} phase_state;

/* Phasing, `batch` volumes at a time. */
typedef struct phase_kernels {
    /* amplitude[i] = sqrt(max(re half[i], 0)) where k_min <= |k| <= k_max and k is not 0, -1 (free)
       elsewhere; half is a half volume of grid^3, |k| in voxels of a grid of n^3 */
    status (*amplitudes)(const device *dev, int64_t grid, int64_t n, double k_min, double k_max,
                         const void *half, void *amplitude);
    /* density[i] = number i of the stream (seed, RANDOM_PHASE, number, 0) inside the support, else 0 */
    status (*random_start)(const device *dev, int64_t n, uint64_t seed, uint64_t number,
                           const void *support, void *density);
    /* every element whose amplitude is >= 0 gets that modulus; all are multiplied by scale */
    status (*project_modulus)(const device *dev, int64_t n, int64_t batch, const void *amplitude,
                              double scale, void *half);
    /* density[b][i] = density_update(step, density, projected, support[b][i], beta) */
    status (*update_density)(const device *dev, int64_t n, phase_step step, double beta,
                             const void *projected, const void *support, void *density);
    /* `count` steps (transform, project_modulus, transform back, update_density) at once; half is
       left with anything. *done says whether the backend can, for a grid of this size. NULL: never */
    status (*iterate)(const device *dev, const phase_state *state, phase_step step, double beta,
                      int count, bool *done);
    /* half[b][i] = |half[b][i]|^2 */
    status (*squared_modulus)(const device *dev, int64_t n, void *half);
    /* support[b][i] = blurred[b][i] > threshold * max of blurred[b] */
    status (*threshold)(const device *dev, int64_t n, int64_t batch, double threshold,
                        const void *blurred, void *support);
    /* per volume: sum |F - amplitude projection|^2 and sum amplitude^2 over measured elements */
    status (*modulus_error)(const device *dev, int64_t n, int64_t batch, const void *amplitude,
                            const void *half, double *error_host, double *norm_host);
} phase_kernels;

/* From atoms to images, in double precision. */
typedef struct scatter_kernels {
    /* out[k] += radial_host[|k|^2] in[k], complex, on centred modes [n][n][n]; nothing is added
       where |k|^2 >= n_radial */
    status (*add_radial)(const device *dev, int64_t n, int64_t n_radial, const double *radial_host,
                         const double *in, double *out);
    /* volume[z][y][x] *= scale (-1)^(x+y+z), complex [n][n][n]: half a period's shift, in the
       other space of an even n */
    status (*alternate)(const device *dev, int64_t n, double scale, double *volume);
    /* out[r][p] = weight[p] |amplitudes[r][p]|^2 of complex amplitudes */
    status (*intensities)(const device *dev, int64_t n_rows, int64_t n_pixels, const double *weight,
                          const double *amplitudes, double *out);
} scatter_kernels;

/* Aligning and averaging densities, in double precision; see align_shift.c. */
typedef struct average_kernels {
    /* sums_host[b] = sum over all k but 0 of |half[b]|^2, the unlisted half of k too */
    status (*power)(const device *dev, int64_t n, int64_t batch, const double *half,
                    double *sums_host);
    /* cross[b] = fixed conj(moving[b]), of moving's conjugate if hand is -1; 0 at k = 0 */
    status (*cross)(const device *dev, int64_t n, int64_t batch, double hand, const double *fixed,
                    const double *moving, double *cross);
    /* index_host[b] = the first index of the largest of the n numbers maps[b] */
    status (*peaks)(const device *dev, int64_t n, int64_t batch, const double *maps,
                    int64_t *index_host);
    /* sums_host[t] = the sums of shift_add (shift_math.h) over cross[trial's volume] */
    status (*correlations)(const device *dev, int64_t n, int64_t n_trials,
                           const shift_motion *trials_host, const double *cross,
                           double (*sums_host)[SHIFT_SUMS]);
    /* half[b] moved as motions_host[b] says (shift_move) */
    status (*move)(const device *dev, int64_t n, int64_t batch, const shift_motion *motions_host,
                   double *half);
    /* mean[i] = mean of maps[b][i] over the b of chosen_host, added in their order; 0 of none */
    status (*mean)(const device *dev, int64_t n, int64_t n_chosen, const int64_t *chosen_host,
                   const double *maps, double *mean);
} average_kernels;

/* The tables of a device in a precision. */
const match_kernels *match_kernels_of(const device *dev, precision p);
const image_kernels *image_kernels_of(const device *dev, precision p);
const volume_kernels *volume_kernels_of(const device *dev, precision p);
const cg_kernels *cg_kernels_of(const device *dev, precision p);
const phase_kernels *phase_kernels_of(const device *dev, precision p);
const scatter_kernels *scatter_kernels_of(const device *dev);
const average_kernels *average_kernels_of(const device *dev);

#endif
