/* stage_phase.c: phasing does what its formulas say, computed here by sums without FFTs. */
#include "mtip/phase.h"
#include "nufft/fft.h"
#include "stage_case.h"
#include "stage_suite.h"

#include <complex.h>

enum { LARGEST = 14, MOST = LARGEST * LARGEST * LARGEST };

static const int64_t sizes[] = {8, 9, 10, 11, 13}; /* even, odd, prime: 11 and 13 are padded */
enum { N_SIZES = sizeof sizes / sizeof *sizes };

static const double k_min = 0.8;

static double k_max_of(int64_t n)
{
    return 0.45 * (double)n;
}

/* The phasing of a density on a periodic grid of g^3 voxels, origin at index 0. */
typedef struct naive {
    phase_options options;
    int64_t g, cube;
    double amplitude[MOST]; /* -1: free */
    double density[MOST], support[MOST], projected[MOST];
    double complex half[MOST]; /* all of the transform */
} naive;

/* out(k) = sum_x in(x) exp(sign 2 pi i k.x/g), one axis after the other. */
static void transform(int64_t g, int sign, double complex *values)
{
    double complex root[LARGEST], line[LARGEST];
    for (int64_t i = 0; i < g; i++)
        root[i] = cexp(sign * 2 * M_PI * I * (double)i / (double)g);
    for (int64_t stride = 1; stride < g * g * g; stride *= g)
        for (int64_t at = 0; at < g * g * g; at++) {
            if (at / stride % g != 0) continue;
            for (int64_t k = 0; k < g; k++) {
                line[k] = 0;
                for (int64_t x = 0; x < g; x++)
                    line[k] += values[at + x * stride] * root[k * x % g];
            }
            for (int64_t k = 0; k < g; k++)
                values[at + k * stride] = line[k];
        }
}

static double radius_of(int64_t i, int64_t g)
{
    const double x = (double)frequency(i % g, g), y = (double)frequency(i / g % g, g);
    const double z = (double)frequency(i / g / g, g);
    return sqrt(x * x + y * y + z * z);
}

/* Index on the periodic grid of voxel i of a centred cube of n. */
static int64_t on_grid(int64_t i, int64_t n, int64_t g)
{
    const int64_t x = (centred(i % n, n) + g) % g, y = (centred(i / n % n, n) + g) % g;
    return ((centred(i / n / n, n) + g) % g * g + y) * g + x;
}

static naive *naive_new(const phase_options *options)
{
    naive *p = calloc(1, sizeof *p);
    assert_non_null(p);
    p->options = *options;
    p->g = fft_good_size(options->size, false);
    assert_true(p->g <= LARGEST);
    p->cube = p->g * p->g * p->g;
    for (int64_t i = 0; i < p->cube; i++)
        p->support[i] = radius_of(i, p->g) <= options->radius;
    return p;
}

static void naive_embed(naive *p, const double *volume, double *to)
{
    const int64_t n = p->options.size;
    memset(to, 0, (size_t)p->cube * sizeof *to);
    for (int64_t i = 0; i < n * n * n; i++)
        to[on_grid(i, n, p->g)] = volume[i];
}

static void naive_extract(const naive *p, double *volume)
{
    const int64_t n = p->options.size;
    for (int64_t i = 0; i < n * n * n; i++)
        volume[i] = p->density[on_grid(i, n, p->g)];
}

static void naive_target(naive *p, const double *autocorrelation)
{
    const double ratio = (double)p->g / (double)p->options.size;
    naive_embed(p, autocorrelation, p->projected);
    for (int64_t i = 0; i < p->cube; i++)
        p->half[i] = p->projected[i];
    transform(p->g, -1, p->half);
    for (int64_t i = 0; i < p->cube; i++) {
        const double k = radius_of(i, p->g) / ratio;
        const bool measured = k > 0 && k >= k_min && k <= k_max_of(p->options.size);
        p->amplitude[i] = measured ? sqrt(fmax(creal(p->half[i]), 0)) : -1;
    }
}

static void naive_transform(naive *p)
{
    for (int64_t i = 0; i < p->cube; i++)
        p->half[i] = p->density[i];
    transform(p->g, -1, p->half);
}

static void naive_back(naive *p)
{
    transform(p->g, 1, p->half);
    for (int64_t i = 0; i < p->cube; i++)
        p->projected[i] = creal(p->half[i]) / (double)p->cube;
}

static void naive_step(naive *p, phase_step step)
{
    const double beta = p->options.beta;
    naive_transform(p);
    for (int64_t i = 0; i < p->cube; i++)
        if (p->amplitude[i] >= 0) p->half[i] *= p->amplitude[i] / cabs(p->half[i]);
    naive_back(p);
    for (int64_t i = 0; i < p->cube; i++) {
        const double old = p->density[i], now = p->projected[i];
        if (p->support[i] > 0 && now > 0)
            p->density[i] = now;
        else if (step == PHASE_ER)
            p->density[i] = 0;
        else if (step == PHASE_HIO)
            p->density[i] = old - beta * now;
        else
            p->density[i] = beta * old + (1 - 2 * beta) * now;
    }
}

static void naive_shrinkwrap(naive *p)
{
    const double sigma = p->options.blur / (double)p->g;
    double max = 0;
    naive_transform(p);
    for (int64_t i = 0; i < p->cube; i++)
        p->half[i] *= exp(-2 * M_PI * M_PI * sigma * sigma * pow(radius_of(i, p->g), 2));
    naive_back(p);
    for (int64_t i = 0; i < p->cube; i++)
        max = fmax(max, p->projected[i]);
    for (int64_t i = 0; i < p->cube; i++)
        p->support[i] = p->projected[i] > p->options.threshold * max;
}

static void naive_run(naive *p, int loops)
{
    for (int l = 0; l <= loops; l++) {
        for (int i = 0; i < p->options.n_er; i++)
            naive_step(p, PHASE_ER);
        if (l == loops) return;
        for (int i = 0; i < p->options.n_hio; i++)
            naive_step(p, p->options.step);
        for (int i = 0; i < p->options.n_er; i++)
            naive_step(p, PHASE_ER);
        naive_shrinkwrap(p);
    }
}

/* sqrt(sum (|F| - a)^2 / sum a^2), over the half volume or all of it. */
static double naive_r_factor(naive *p, bool half)
{
    double error = 0, norm = 0;
    naive_transform(p);
    for (int64_t i = 0; i < p->cube; i++) {
        if (p->amplitude[i] < 0 || (half && i % p->g > p->g / 2)) continue;
        error += pow(cabs(p->half[i]) - p->amplitude[i], 2);
        norm += p->amplitude[i] * p->amplitude[i];
    }
    return sqrt(error / norm);
}

static phase_options options_for(int64_t n)
{
    return (phase_options){.precision = stage.precision,
                           .size = n,
                           .starts = 1,
                           .radius = 0.26 * (double)n,
                           .step = PHASE_HIO,
                           .n_er = 1,
                           .n_hio = 2,
                           .beta = 0.9,
                           .blur = 0.8,
                           .threshold = 0.1};
}

/* Positive inside the sphere of the options. */
static double *particle(const phase_options *options, uint64_t seed)
{
    const int64_t n = options->size;
    double *density = uniform(n * n * n, seed, 1, 2);
    for (int64_t i = 0; i < n * n * n; i++) {
        const double x = (double)centred(i % n, n), y = (double)centred(i / n % n, n);
        const double z = (double)centred(i / n / n, n);
        if (x * x + y * y + z * z > options->radius * options->radius) density[i] = 0;
    }
    return density;
}

/* The autocorrelation of a density by its sum, periodic on the phasing grid. */
static double *direct_autocorrelation(const phase_options *options, const double *density)
{
    const int64_t n = options->size;
    naive *p = naive_new(options);
    double *sum = calloc((size_t)(n * n * n), sizeof *sum);
    const int64_t g = p->g;
    naive_embed(p, density, p->density);
    for (int64_t i = 0; i < n * n * n; i++)
        for (int64_t y = 0; y < p->cube; y++) {
            if (p->density[y] == 0) continue;
            const int64_t x = on_grid(i, n, g);
            const int64_t sx = (x % g + y % g) % g, sy = (x / g % g + y / g % g) % g;
            const int64_t sz = (x / g / g + y / g / g) % g;
            sum[i] += p->density[y] * p->density[(sz * g + sy) * g + sx];
        }
    free(p);
    return sum;
}

static phaser *new_phaser(const phase_options *options, const double *autocorrelation)
{
    const int64_t n = options->size;
    phaser *p;
    assert_ok(phaser_create(stage.dev, options, &p));
    void *target = stage_upload(autocorrelation, n * n * n);
    assert_ok(phaser_set_target(p, target, k_min, k_max_of(n)));
    stage_free(target);
    return p;
}

static double *device_doubles(const double *from, int64_t n)
{
    void *memory;
    assert_ok(device_alloc(stage.dev, n * (int64_t)sizeof(double), &memory));
    if (from) assert_ok(device_from_host(stage.dev, memory, from, n * (int64_t)sizeof(double)));
    return memory;
}

static void start_from(phaser *p, int64_t s, const double *density, int64_t cube)
{
    double *there = device_doubles(density, cube);
    assert_ok(phaser_start_from(p, s, there));
    stage_free(there);
}

/* All starts, densities and r_factors in host memory. */
static void get(phaser *p, int64_t starts, int64_t cube, double *densities, double *r_factors)
{
    double *there = device_doubles(NULL, starts * cube);
    assert_ok(phaser_get(p, there, r_factors));
    assert_ok(device_to_host(stage.dev, densities, there, starts * cube * (int64_t)sizeof(double)));
    stage_free(there);
}

static void autocorrelation_is_the_direct_sum(void **state)
{
    (void)state;
    for (int s = 0; s < N_SIZES; s++) {
        const phase_options options = options_for(sizes[s]);
        const int64_t cube = sizes[s] * sizes[s] * sizes[s];
        double *density = particle(&options, 61), found[MOST];
        double *there = device_doubles(density, cube);
        double *expected = direct_autocorrelation(&options, density);
        phaser *p = new_phaser(&options, expected);
        void *result = stage_new(cube);
        assert_ok(phaser_autocorrelation(p, there, result));
        stage_download(result, cube, found);
        assert_near(found, expected, cube, stage_either(1e-6, 1e-13));
        stage_free(result), stage_free(there);
        phaser_destroy(p);
        free(density), free(expected);
    }
}

/* Phases from a wrong start by both programs. */
static void check_run(const phase_options *options, int loops)
{
    const int64_t n = options->size, cube = n * n * n;
    double *truth = particle(options, 62), *start = particle(options, 63);
    double *autocorrelation = direct_autocorrelation(options, truth);
    double found[MOST], expected[MOST], r_factor;
    phaser *p = new_phaser(options, autocorrelation);
    naive *direct = naive_new(options);
    naive_target(direct, autocorrelation);
    naive_embed(direct, start, direct->density);
    naive_run(direct, loops);
    naive_extract(direct, expected);
    start_from(p, 0, start, cube);
    assert_ok(phaser_run(p, loops));
    get(p, 1, cube, found, &r_factor);
    assert_near(found, expected, cube, stage_either(1e-5, 1e-10));
    const double expected_r = naive_r_factor(direct, true);
    assert_within(expected_r * (1 - stage_either(1e-4, 1e-9)), r_factor,
                  expected_r * (1 + stage_either(1e-4, 1e-9)));
    phaser_destroy(p);
    free(direct), free(truth), free(start), free(autocorrelation);
}

static void an_er_step_is_its_formula(void **state)
{
    (void)state;
    for (int s = 0; s < N_SIZES; s++) {
        const phase_options options = options_for(sizes[s]);
        check_run(&options, 0);
    }
}

static void hio_and_raar_steps_are_their_formulas(void **state)
{
    (void)state;
    for (int s = 0; s < N_SIZES; s++)
        for (int raar = 0; raar < 2; raar++) {
            phase_options options = options_for(sizes[s]);
            options.n_er = 0;
            options.n_hio = 1;
            options.step = raar ? PHASE_RAAR : PHASE_HIO;
            check_run(&options, 1);
        }
}

static void loops_shrink_the_support(void **state)
{
    (void)state;
    for (int s = 0; s < N_SIZES; s++) {
        phase_options options = options_for(sizes[s]);
        options.threshold = 0.35;
        check_run(&options, 2);
    }
}

static void the_truth_is_a_fixed_point(void **state)
{
    (void)state;
    for (int s = 0; s < N_SIZES; s++) {
        phase_options options = options_for(sizes[s]);
        options.threshold = 0.02;
        options.n_er = options.n_hio = 5;
        const int64_t cube = sizes[s] * sizes[s] * sizes[s];
        double *truth = particle(&options, 64), found[MOST], r_factor;
        double *autocorrelation = direct_autocorrelation(&options, truth);
        phaser *p = new_phaser(&options, autocorrelation);
        start_from(p, 0, truth, cube);
        assert_ok(phaser_run(p, 3));
        get(p, 1, cube, found, &r_factor);
        assert_near(found, truth, cube, stage_either(1e-4, 1e-11));
        assert_within(0, r_factor, stage_either(1e-5, 1e-12));
        phaser_destroy(p);
        free(truth), free(autocorrelation);
    }
}

/* Fienup, Appl. Opt. 21, 2758 (1982): both projections bring the density no farther. */
static void the_er_error_does_not_grow(void **state)
{
    (void)state;
    for (int s = 0; s < 2; s++) {
        const phase_options options = options_for(sizes[s]);
        const int64_t cube = sizes[s] * sizes[s] * sizes[s];
        double *truth = particle(&options, 65), found[MOST], r_factor, first = 0, last = INFINITY;
        double *autocorrelation = direct_autocorrelation(&options, truth);
        phaser *p = new_phaser(&options, autocorrelation);
        naive *direct = naive_new(&options);
        naive_target(direct, autocorrelation);
        assert_ok(phaser_start_random(p, 0, 1, 2));
        for (int i = 0; i < 40; i++) {
            assert_ok(phaser_run(p, 0));
            get(p, 1, cube, found, &r_factor);
            naive_embed(direct, found, direct->density);
            const double error = naive_r_factor(direct, false);
            assert_within(0, error, last * (1 + 1e-6));
            last = error;
            if (i == 0) first = error;
        }
        assert_within(0, last, 0.9 * first);
        phaser_destroy(p);
        free(direct), free(truth), free(autocorrelation);
    }
}

/* Starts are numbered, not counted: alone or with others, the same; and a phaser forgets. */
static void starts_do_not_know_each_other(void **state)
{
    (void)state;
    enum { STARTS = 3, CUBE = 9 * 9 * 9 };
    phase_options options = options_for(9);
    double *truth = particle(&options, 66), alone[CUBE], together[STARTS][CUBE], r, r_too[STARTS];
    double *autocorrelation = direct_autocorrelation(&options, truth);
    phaser *one = new_phaser(&options, autocorrelation);
    options.starts = STARTS;
    phaser *three = new_phaser(&options, autocorrelation);
    for (int s = 0; s < STARTS; s++)
        assert_ok(phaser_start_random(three, s, 5, (uint64_t)s));
    assert_ok(phaser_run(three, 1));
    get(three, STARTS, CUBE, together[0], r_too);
    for (int s = 0; s < STARTS; s++) {
        assert_ok(phaser_start_random(one, 0, 5, (uint64_t)s));
        assert_ok(phaser_run(one, 1));
        get(one, 1, CUBE, alone, &r);
        assert_near(together[s], alone, CUBE, stage_either(1e-5, 1e-12));
        assert_within(r * (1 - 1e-5), r_too[s], r * (1 + 1e-5));
    }
    phaser_destroy(one), phaser_destroy(three), phaser_destroy(NULL);
    free(truth), free(autocorrelation);
}

static int group(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(autocorrelation_is_the_direct_sum),
        cmocka_unit_test(an_er_step_is_its_formula),
        cmocka_unit_test(hio_and_raar_steps_are_their_formulas),
        cmocka_unit_test(loops_shrink_the_support),
        cmocka_unit_test(the_truth_is_a_fixed_point),
        cmocka_unit_test(the_er_error_does_not_grow),
        cmocka_unit_test(starts_do_not_know_each_other),
    };
    return cmocka_run_group_tests_name("phasing", tests, NULL, NULL);
}

int phase_suite(const device *dev, precision p)
{
    return stage_run(dev, p, group);
}
