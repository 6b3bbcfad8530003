/* match.h: how probable every reference orientation is for every image.

   All methods are one product of images with references and a bias, S_kr = Y_k . X_r - c_k b_r:

   MATCH_EMC  Poisson log-likelihood (Loh & Elser, Phys. Rev. E 80, 026705, 2009) of counts y_kp for
              rates phi_k m_rp:  S_kr = sum_p y_kp log m_rp - phi_k sum_p m_rp, up to a constant of
              the image.  Posterior P_kr ~ exp(beta_k S_kr) with beta_k <= 1 chosen per image so that
              its perplexity is what is asked for; perplexity <= 1: the best reference alone.
   MATCH_NCC  correlation of images and slices, both weighted by 1/sqrt(standard deviation of the
              data in the pixel's shell); the best reference alone.
   MATCH_L2   minus half the squared distance of raw intensities; the best reference alone.

   References are handled in batches; a generation is

       match_begin
       for every batch:  match_add                      scores, ladder
       match_decide  (or match_assign)                  beta, perplexity, fluence
       for every batch:  match_weights, match_tomograms

   The score matrix is kept between the two passes when it fits options.memory; otherwise the
   slices of each batch are needed again in the second pass (match_keeps_scores tells).

   Images stand in blocks of MATCH_BLOCK rows padded with zeros, which makes a row's result the same
   bits wherever its block is computed.  Nothing here communicates: the functions leave per-rank
   sums for the caller to add up. */
#ifndef MTIP_MATCH_H
#define MTIP_MATCH_H

#include "mtip/kernels.h"
#include "mtip/photons.h"

enum { MATCH_BLOCK = 32 };

typedef struct match match;

typedef struct match_options {
    precision precision;
    match_method method;
    int64_t memory;   /* bytes the score matrix may take */
    double floor;     /* smallest slice value, in photons */
    int64_t n_images; /* of this rank; any number, 0 too */
    int64_t n_pixels; /* row length of images and slices */
    bool halves;      /* MATCH_EMC on a GPU, single precision, counts that allow it: images as
                         halves and products on tensor cores (kernels.h) */
} match_options;

/* Per-pixel constants, host arrays of n_pixels (not kept). */
typedef struct match_pixels {
    const double *correction; /* detector factor: expected counts = correction * model */
    const double *mean;       /* mean counts over all images of all ranks */
    const double *whitening;  /* weights for MATCH_NCC (NULL otherwise) */
} match_pixels;

/* What was decided for each image, host arrays of n_images owned by the match. */
typedef struct match_images {
    const int64_t *best;    /* reference with the largest score */
    const double *score;    /* its score */
    const double *beta;     /* inverse temperature */
    const double *entropy;  /* of the posterior, in nats */
    const double *expected; /* sum_r P_kr sum_p m_rp over the pixels in use, fluence 1 */
} match_images;

/* Bytes of device memory of a match that is told to begin with these. */
typedef struct match_memory {
    int64_t images, scores, batches; /* batches: what is made of each of them */
} match_memory;

/* lists: of images that are given as lists; none: as rows. */
void match_forecast(device_kind kind, const match_options *options, const photon_means *lists,
                    int64_t n_references, int64_t max_batch, match_memory *memory);

/* Images in host memory (not kept). */
typedef struct match_source {
    const float *rows;         /* [n_images][n_pixels], or NULL: */
    const photon_lists *lists; /* of n_images. Where they are short enough for that to be faster
                                  (by pixels->mean, alike on all ranks), and the backend can, they
                                  stay lists: MATCH_EMC then sums over photons. */
} match_source;

status match_create(const device *dev, const match_options *options, const match_pixels *pixels,
                    const match_source *images, match **created);
void match_destroy(match *m);

/* Starts a generation of n_references, batches of at most max_batch, using the first n_pixels_used
   of every row (slices then have rows of that length). */
status match_begin(match *m, int64_t n_references, int64_t max_batch, int64_t n_pixels_used);

/* Fluences for the scores and the weights, host [n_images]. */
status match_set_fluence(match *m, const double *fluence);

/* Scores of references first .. first+count-1 against all images; slices [count][n_pixels_used] on
   the device, overwritten. */
status match_add(match *m, int64_t first, int64_t count, void *slices);

/* Chooses every image's beta for this perplexity. */
status match_decide(match *m, double perplexity);
/* Instead of scores: image k belongs to reference best[k], host [n_images]. */
status match_assign(match *m, const int64_t *best);

/* counts[k] = sum of image k over its first n_pixels_used pixels, host [n_images]. */
status match_counts(match *m, int64_t n_pixels_used, double *counts);

void match_get_images(const match *m, match_images *images);
bool match_keeps_scores(const match *m);
/* Bytes of device memory that the images take. */
int64_t match_image_bytes(const match *m);

/* For checks: the score of an image for reference first + column, of the batch that began at `first`
   and was added last; and sums[k] = sum_r P_kr, host [n_images], over the batch of the last
   match_weights, or (n_active >= 0) over the references of the last tomograms. */
status match_get_score(const match *m, int64_t first, int64_t column, int64_t image, double *score);
status match_posterior_sums(match *m, int64_t n_active, double *sums);

/* Posterior of a batch, in the same order of batches as match_add; slices (overwritten) are needed
   when the scores were not kept, else NULL. weights [count] (host, WEIGHT_SCALE fixed point) +=
   sum_k P_kr phi_k. */
status match_weights(match *m, int64_t first, int64_t count, void *slices, int64_t *weights);

/* tomograms [n_active][n_pixels_used] (device) = sum_k P_kr y_kp for the batch of the last
   match_weights, of the references columns[0..n_active-1] within it (host). */
status match_tomograms(match *m, int64_t n_active, const int64_t *columns, void *tomograms);
/* The same in fixed point, rounded per block of images and therefore the same bits for any
   division of the images over ranks: += into sums [n_active][n_pixels_used] (device). */
status match_tomograms_fixed(match *m, int64_t n_active, const int64_t *columns, double scale,
                             int64_t *sums);

#endif
