/* uniform.h: random numbers of a test; after cmocka.h. */
#ifndef UNIFORM_H
#define UNIFORM_H

#include <stdlib.h>

#include "mtip/random.h"

/* n uniform numbers in [low, high), always the same for a seed; the caller frees them. */
static inline double *uniform(int64_t n, uint64_t seed, double low, double high)
{
    random_stream stream;
    random_start(&stream, seed, RANDOM_TURN, 0, 0);
    double *values = malloc((size_t)(n + 1) * sizeof *values);
    assert_non_null(values);
    for (int64_t i = 0; i < n; i++)
        values[i] = low + (high - low) * random_uniform(&stream);
    return values;
}

#endif
