/* Random numbers: the generator against its published vector, distributions against theory. */
#include <math.h>

#include "mtip/random.h"
#include "sim_case.h"

/* Random123's kat_vectors: philox4x64-10 with the digits of pi as counter and key. */
static void generator_gives_its_published_numbers(void **state)
{
    (void)state;
    random_stream stream = {
        .key = {0x452821e638d01377u, 0xbe5466cf34e90c6cu},
        .counter = {0x243f6a8885a308d3u, 0x13198a2e03707344u, 0xa4093822299f31d0u,
                    0x082efa98ec4e6c89u},
        .used = 4,
    };
    const uint64_t expected[4] = {0xa528f45403e61d95u, 0x38c72dbd566e9788u, 0xa5a1610e72fd18b5u,
                                  0x57bd43b5e52b7fe6u};
    for (int i = 0; i < 4; i++)
        assert_true(random_bits(&stream) == expected[i]);
}

static void streams_of_other_names_differ(void **state)
{
    (void)state;
    random_stream a, b;
    random_start(&a, 1, RANDOM_PHOTONS, 7, 9);
    uint64_t first = random_bits(&a);
    random_start(&b, 2, RANDOM_PHOTONS, 7, 9);
    assert_true(random_bits(&b) != first);
    random_start(&b, 1, RANDOM_FLUENCE, 7, 9);
    assert_true(random_bits(&b) != first);
    random_start(&b, 1, RANDOM_PHOTONS, 8, 9);
    assert_true(random_bits(&b) != first);
    random_start(&b, 1, RANDOM_PHOTONS, 7, 10);
    assert_true(random_bits(&b) != first);
    random_start(&b, 1, RANDOM_PHOTONS, 7, 9);
    assert_true(random_bits(&b) == first);
}

static void uniform_numbers_have_their_moments(void **state)
{
    (void)state;
    enum { N = 1000000 };
    random_stream stream;
    random_start(&stream, 3, RANDOM_FLUENCE, 0, 0);
    double sum = 0, squares = 0;
    for (int i = 0; i < N; i++) {
        double u = random_uniform(&stream);
        assert_true(u >= 0 && u < 1);
        sum += u;
        squares += u * u;
    }
    assert_close(sum / N, 0.5, 5 * sqrt(1.0 / 12 / N));
    assert_close(squares / N, 1.0 / 3, 5 * sqrt(4.0 / 45 / N));
}

/* Mean and variance of N numbers within five standard errors, for both methods. */
static void poisson_numbers_have_their_moments(void **state)
{
    (void)state;
    enum { N = 200000 };
    const double means[] = {1e-3, 0.3, 4, 9.99, 10, 10.01, 25, 300, 1e5, 1e9};
    for (size_t m = 0; m < sizeof means / sizeof *means; m++) {
        double mean = means[m], sum = 0, squares = 0;
        random_stream stream;
        random_start(&stream, 5, RANDOM_PHOTONS, m, 0);
        for (int i = 0; i < N; i++) {
            double d = (double)random_poisson(&stream, mean) - mean;
            sum += d;
            squares += d * d;
        }
        assert_close(sum / N, 0, 5 * sqrt(mean / N));
        assert_close(squares / N, mean, 5 * sqrt((mean + 2 * mean * mean) / N));
    }
}

/* chi^2 over all values with an expected count of at least 20, the rest in one bin; the limit is
   mean + 5 standard deviations of chi^2. */
static void check_distribution(double mean, uint64_t item)
{
    enum { N = 400000, MAX_VALUE = 600 };
    int64_t counts[MAX_VALUE + 1] = {0};
    random_stream stream;
    random_start(&stream, 11, RANDOM_PHOTONS, item, 0);
    for (int i = 0; i < N; i++) {
        int64_t k = random_poisson(&stream, mean);
        counts[k < MAX_VALUE ? k : MAX_VALUE]++;
    }
    double chi = 0, rest_expected = N, rest = N;
    int bins = 0;
    for (int k = 0; k < MAX_VALUE; k++) {
        double expected = N * exp(k * log(mean) - mean - lgamma(k + 1.0));
        if (expected < 20) continue;
        double d = (double)counts[k] - expected;
        chi += d * d / expected;
        rest -= (double)counts[k];
        rest_expected -= expected;
        bins++;
    }
    if (rest_expected > 5) chi += (rest - rest_expected) * (rest - rest_expected) / rest_expected;
    assert_true(bins > 2);
    assert_true(chi < bins + 5 * sqrt(2.0 * bins));
    assert_true(chi > bins - 5 * sqrt(2.0 * bins) - 2);
}

static void poisson_numbers_follow_the_distribution(void **state)
{
    (void)state;
    const double means[] = {0.1, 1, 5, 9.5, 10, 10.5, 12, 30, 120, 400};
    for (size_t m = 0; m < sizeof means / sizeof *means; m++)
        check_distribution(means[m], m);
}

static void no_light_gives_no_photons(void **state)
{
    (void)state;
    random_stream stream;
    random_start(&stream, 1, RANDOM_PHOTONS, 0, 0);
    assert_int_equal(random_poisson(&stream, 0), 0);
    assert_int_equal(random_poisson(&stream, -1), 0);
    assert_int_equal(random_poisson(&stream, NAN), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(generator_gives_its_published_numbers),
        cmocka_unit_test(streams_of_other_names_differ),
        cmocka_unit_test(uniform_numbers_have_their_moments),
        cmocka_unit_test(poisson_numbers_have_their_moments),
        cmocka_unit_test(poisson_numbers_follow_the_distribution),
        cmocka_unit_test(no_light_gives_no_photons),
    };
    return case_run(tests);
}
