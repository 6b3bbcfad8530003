#include "mtip/random.h"

#include <Random123/philox.h>
#include <math.h>
#include <string.h>

void random_start(random_stream *stream, uint64_t seed, random_purpose purpose, uint64_t image,
                  uint64_t item)
{
    *stream = (random_stream){
        .key = {seed, (uint64_t)purpose}, .counter = {image, item, 0, 0}, .used = 4};
}

uint64_t random_bits(random_stream *stream)
{
    if (stream->used == 4) {
        philox4x64_ctr_t counter;
        philox4x64_key_t key;
        memcpy(counter.v, stream->counter, sizeof stream->counter);
        memcpy(key.v, stream->key, sizeof stream->key);
        philox4x64_ctr_t block = philox4x64(counter, key);
        memcpy(stream->block, block.v, sizeof stream->block);
        stream->counter[2]++;
        stream->used = 0;
    }
    return stream->block[stream->used++];
}

double random_uniform(random_stream *stream)
{
    return (double)(random_bits(stream) >> 11) * 0x1p-53;
}

/* Adds up probabilities until they pass a uniform number. Below a mean of 10 the sum has reached 1
   to the last bit long before k = 200, which only bounds the loop. */
static int64_t poisson_by_inversion(random_stream *stream, double mean)
{
    double u = random_uniform(stream), p = exp(-mean), sum = p;
    int64_t k = 0;
    while (u >= sum && k < 200) {
        k++;
        p *= mean / (double)k;
        sum += p;
    }
    return k;
}

static int64_t poisson_by_rejection(random_stream *stream, double mean)
{
    double b = 0.931 + 2.53 * sqrt(mean), a = -0.059 + 0.02483 * b;
    double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), v_r = 0.9277 - 3.6224 / (b - 2);
    double log_mean = log(mean);
    for (;;) {
        double u = random_uniform(stream) - 0.5, v = 1 - random_uniform(stream);
        double us = 0.5 - fabs(u);
        double k = floor((2 * a / us + b) * u + mean + 0.43);
        if (us >= 0.07 && v <= v_r) return (int64_t)k;
        if (k < 0 || (us < 0.013 && v > us)) continue;
        int sign;
        double accept = k * log_mean - mean - lgamma_r(k + 1, &sign);
        if (log(v * inverse_alpha / (a / (us * us) + b)) <= accept) return (int64_t)k;
    }
}

int64_t random_poisson(random_stream *stream, double mean)
{
    if (!(mean > 0)) return 0;
    return mean < 10 ? poisson_by_inversion(stream, mean) : poisson_by_rejection(stream, mean);
}
