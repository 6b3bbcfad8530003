/* match_problem.h: images of random slices for the tests of matching, and what the formulas make of
   them.

   Every image has a pixel of its own, where it alone has a count and all slices are equal: the
   tomograms of these pixels are the posterior. */
#ifndef MATCH_PROBLEM_H
#define MATCH_PROBLEM_H

enum { IMAGES = 70, REFERENCES = 50, BATCH = 16, TRUE_PIXELS = 24, UNUSED = 5 };
enum { USED = TRUE_PIXELS + IMAGES, PIXELS = USED + UNUSED };

static const double floor_value = 0.05; /* the least a slice is taken for */

typedef struct problem {
    double slices[REFERENCES][PIXELS], correction[PIXELS], mean[PIXELS], whitening[PIXELS];
    double fluence[IMAGES];
    float images[IMAGES][PIXELS];
} problem;

/* The same each time; the caller frees it. */
problem *new_problem(void);

/* Counts expected of reference r at fluence 1, summed over the pixels used. */
double expected_total(const problem *p, int r);

/* The score of image k for reference r. */
typedef double (*score_formula)(const problem *p, int k, int r);
/* Log-likelihood, up to a constant of the image. */
double poisson_score(const problem *p, int k, int r);
/* Correlation of whitened image and slice; the image's norm is over all its pixels. */
double ncc_score(const problem *p, int k, int r);
/* Minus half the squared distance. */
double l2_score(const problem *p, int k, int r);

int naive_best(const problem *p, score_formula score, int k);
/* Posterior of image k at beta by its formula. */
void naive_posterior(const problem *p, int k, double beta, double posterior[REFERENCES]);

#endif
