/* random.h: random numbers that belong to a place, not to a moment.

   A stream is named by (seed, purpose, image, item); the numbers it gives are Philox4x64-10 of that
   name and a counter (Salmon et al., SC11), so neither ranks, threads nor batches change them. */
#ifndef MTIP_RANDOM_H
#define MTIP_RANDOM_H

#include <stdint.h>

/* What a number is for; two purposes never share numbers. */
typedef enum random_purpose {
    RANDOM_ORIENTATION = 1,
    RANDOM_FLUENCE = 2,
    RANDOM_PHOTONS = 3,
    RANDOM_TURN = 4,   /* of the reference set of a generation */
    RANDOM_ASSIGN = 5, /* of an image to a reference before there is a model */
    RANDOM_PHASE = 6,  /* start of a phasing */
    RANDOM_CHECK = 7   /* what is computed again */
} random_purpose;

typedef struct random_stream {
    uint64_t key[2];     /* seed, purpose */
    uint64_t counter[4]; /* image, item, block of four numbers, 0 */
    uint64_t block[4];
    int used; /* numbers of the block already given */
} random_stream;

void random_start(random_stream *stream, uint64_t seed, random_purpose purpose, uint64_t image,
                  uint64_t item);

/* 64 random bits. */
uint64_t random_bits(random_stream *stream);

/* Uniform in [0, 1), a multiple of 2^-53. */
double random_uniform(random_stream *stream);

/* A Poisson number of this mean (>= 0, below 1e15): inversion by sequential search below a mean of
   10, else transformed rejection PTRS (Hormann, Insurance: Mathematics and Economics 12, 39, 1993).
   Exact up to the rounding of double arithmetic. */
int64_t random_poisson(random_stream *stream, double mean);

#endif
