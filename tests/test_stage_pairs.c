/* test_stage_pairs.c: every stage makes of the same input on a GPU what it makes on the CPU, to 1e-5
   in single precision and 1e-10 in double.  All distances are printed, and those of the CPU from
   double precision, which the posterior makes larger.  Without a GPU it is skipped visibly (77),
   which MTIP_REQUIRE_GPU=1 forbids. */
#include "mtip/match.h"
#include "mtip/merge.h"
#include "mtip/phase.h"
#include "mtip/random.h"
#include "mtip/slice.h"
#include "stage_case.h"

#include <stdio.h>

enum { SKIPPED = 77 };
enum {
    N = 21,
    CUBE = N * N * N,
    SUMS = 41 * 41 * 41 + CUBE, /* kernel and data */
    REFERENCES = 300,
    IMAGES = 150,
    PIXELS = 120,
    POINTS = REFERENCES * PIXELS,
    OF_IMAGES = 4 * IMAGES,
    MATCHED = OF_IMAGES + REFERENCES + POINTS,
    MOST = MATCHED > SUMS ? MATCHED : SUMS
};

/* What does not change: orientations and pixels, images and their fluences. */
static double *quaternions, *pixels, *fluences;
static float images[IMAGES * PIXELS];

/* A lopsided particle. */
static void particle(double *density)
{
    for (int i = 0; i < CUBE; i++) {
        const double x = i % N - N / 2, y = i / N % N - N / 2, z = i / N / N - N / 2;
        density[i] = exp(-(x * x + y * y + z * z) / 8) +
                     exp(-((x - 2) * (x - 2) + (y + 1) * (y + 1) + z * z) / 3);
    }
}

/* Doubles on the device under test. */
static double *upload_doubles(const double *values, int64_t n)
{
    void *memory;
    assert_ok(device_alloc(stage.dev, n * (int64_t)sizeof *values, &memory));
    assert_ok(device_from_host(stage.dev, memory, values, n * (int64_t)sizeof *values));
    return memory;
}

static phaser *new_phaser(void)
{
    const phase_options options = {.precision = stage.precision,
                                   .size = N,
                                   .starts = 1,
                                   .radius = 7,
                                   .step = PHASE_HIO,
                                   .n_er = 1,
                                   .beta = 0.9,
                                   .blur = 1,
                                   .threshold = 0.1};
    phaser *p;
    assert_ok(phaser_create(stage.dev, &options, &p));
    return p;
}

/* -- the stages: from host doubles to host doubles -- */

static void model_of(const double *density, double *model)
{
    double *on_device = upload_doubles(density, CUBE);
    void *result = stage_new(CUBE);
    phaser *p = new_phaser();
    assert_ok(phaser_autocorrelation(p, on_device, result));
    stage_download(result, CUBE, model);
    phaser_destroy(p);
    stage_free(on_device), stage_free(result);
}

static void slices_of(const double *model, double *slices)
{
    const slice_options options = {stage.precision, N, stage_either(1e-6, 1e-12), 0};
    slicer *s;
    assert_ok(slicer_create(stage.dev, &options, &s));
    void *volume = stage_upload(model, CUBE), *points = stage_upload(pixels, 3 * PIXELS);
    void *result = stage_new(POINTS);
    assert_ok(slicer_set_model(s, volume));
    assert_ok(slicer_run(s, REFERENCES, quaternions, PIXELS, points, result));
    stage_download(result, POINTS, slices);
    slicer_destroy(s);
    stage_free(volume), stage_free(points), stage_free(result);
}

/* Scores, betas, entropies and expected counts of the images, weights and tomograms. */
static void matched(const double *slices, double *to)
{
    static int64_t weights[REFERENCES], columns[REFERENCES];
    double correction[PIXELS], mean[PIXELS];
    const match_options options = {stage.precision, MATCH_EMC, 1 << 30, 1e-3,
                                   IMAGES,          PIXELS,    false};
    const match_pixels constants = {correction, mean, NULL};
    match_images found;
    match *m;
    for (int i = 0; i < PIXELS; i++) {
        correction[i] = 1, mean[i] = 0;
        for (int k = 0; k < IMAGES; k++)
            mean[i] += (double)images[k * PIXELS + i] / IMAGES;
    }
    for (int i = 0; i < REFERENCES; i++)
        columns[i] = i, weights[i] = 0;
    void *rows = stage_upload(slices, POINTS), *tomograms = stage_new(POINTS);
    assert_ok(match_create(stage.dev, &options, &constants, &(match_source){images, NULL}, &m));
    assert_ok(match_begin(m, REFERENCES, REFERENCES, PIXELS));
    assert_ok(match_set_fluence(m, fluences));
    assert_ok(match_add(m, 0, REFERENCES, rows));
    assert_ok(match_decide(m, 3));
    match_get_images(m, &found);
    memcpy(to, found.score, sizeof(double[IMAGES]));
    memcpy(to + IMAGES, found.beta, sizeof(double[IMAGES]));
    memcpy(to + 2 * IMAGES, found.entropy, sizeof(double[IMAGES]));
    memcpy(to + 3 * IMAGES, found.expected, sizeof(double[IMAGES]));
    assert_ok(match_weights(m, 0, REFERENCES, NULL, weights));
    assert_ok(match_tomograms(m, REFERENCES, columns, tomograms));
    for (int i = 0; i < REFERENCES; i++)
        to[OF_IMAGES + i] = (double)weights[i] / WEIGHT_SCALE;
    stage_download(tomograms, POINTS, to + OF_IMAGES + REFERENCES);
    match_destroy(m);
    stage_free(rows), stage_free(tomograms);
}

static merger *new_merger(void)
{
    const merge_options options = {.precision = stage.precision,
                                   .size = N,
                                   .radius = 10,
                                   .tolerance = stage_either(1e-6, 1e-12),
                                   .lambda = 1e-3,
                                   .iterations = 5,
                                   .residual = 1e-12};
    merger *m;
    assert_ok(merger_create(stage.dev, &options, &m));
    return m;
}

static void sums_of(const double *from_match, double *to)
{
    const double *weights = from_match + OF_IMAGES;
    void *data = stage_upload(weights + REFERENCES, POINTS);
    void *points = stage_upload(pixels, 3 * PIXELS), *sums[2];
    int64_t n[2];
    merger *m = new_merger();
    assert_ok(merger_add(m, REFERENCES, quaternions, weights, PIXELS, points, data));
    merger_sums(m, &sums[0], &n[0], &sums[1], &n[1]);
    assert_int_equal(n[0] + n[1], SUMS);
    stage_download(sums[0], n[0], to);
    stage_download(sums[1], n[1], to + n[0]);
    merger_destroy(m);
    stage_free(data), stage_free(points);
}

static void solution_of(const double *from, double *to)
{
    void *sums[2], *result = stage_new(CUBE);
    int64_t n[2];
    merge_report report;
    merger *m = new_merger();
    merger_sums(m, &sums[0], &n[0], &sums[1], &n[1]);
    for (int i = 0; i < 2; i++)
        assert_ok(device_from_doubles(stage.dev, stage.precision, n[i], from + i * n[0], sums[i]));
    assert_ok(device_zero(stage.dev, result, real_bytes(stage.precision, CUBE)));
    assert_ok(merger_solve(m, result, &report));
    assert_int_equal(report.iterations, 5);
    stage_download(result, CUBE, to);
    merger_destroy(m);
    stage_free(result);
}

/* After one step of error reduction. */
static void density_of(const double *autocorrelation, double *to)
{
    double density[CUBE], r;
    particle(density);
    void *target = stage_upload(autocorrelation, CUBE);
    double *start = upload_doubles(density, CUBE);
    phaser *p = new_phaser();
    assert_ok(phaser_set_target(p, target, 1, 9));
    assert_ok(phaser_start_from(p, 0, start));
    assert_ok(phaser_run(p, 0));
    assert_ok(phaser_get(p, start, &r));
    assert_ok(device_to_host(stage.dev, to, start, sizeof density));
    phaser_destroy(p);
    stage_free(target), stage_free(start);
}

/* -- comparison -- */

/* n values of a stage's result, from `first` on. */
typedef struct part {
    const char *name;
    int first, n;
} part;

typedef struct comparison {
    void (*run)(const double *in, double *out);
    int n;
    part parts[5];
} comparison;

static const comparison stages[] = {
    {model_of, CUBE, {{"model", 0, CUBE}}},
    {slices_of, POINTS, {{"slices", 0, POINTS}}},
    {matched,
     MATCHED,
     {{"scores", 0, IMAGES},
      {"betas", IMAGES, IMAGES},
      {"expected counts", 3 * IMAGES, IMAGES},
      {"weights", OF_IMAGES, REFERENCES},
      {"tomograms", OF_IMAGES + REFERENCES, POINTS}}},
    {sums_of, SUMS, {{"kernel", 0, SUMS - CUBE}, {"data", SUMS - CUBE, CUBE}}},
    {solution_of, CUBE, {{"autocorrelation", 0, CUBE}}},
    {density_of, CUBE, {{"density", 0, CUBE}}},
};
enum { N_STAGES = sizeof stages / sizeof *stages };

static device *devices[2]; /* CPU, GPU */
static double cpu[MOST], gpu[MOST], wide[MOST];

static void run_on(device *dev, precision p, const comparison *c, const double *in, double *out)
{
    stage = (stage_setup){dev, p};
    c->run(in, out);
}

/* Of the parts that are further apart than allowed. */
static int count_differences(const comparison *c, precision p)
{
    int n = 0;
    for (const part *a = c->parts; a < c->parts + 5 && a->name; a++) {
        const double is = stage_distance(gpu + a->first, cpu + a->first, a->n);
        const double own = stage_distance(cpu + a->first, wide + a->first, a->n);
        const double allowed = p == PRECISION_DOUBLE ? 1e-10 : 1e-5;
        printf("%s, %s: GPU to CPU %.1e, CPU to double precision %.1e, allowed %.1e\n", a->name,
               p == PRECISION_DOUBLE ? "double" : "single", is, own, allowed);
        n += !(is <= allowed);
    }
    return n;
}

/* What the next stage is given: numbers that both precisions have. */
static void round_to(const double *from, int n, double *to)
{
    for (int i = 0; i < n; i++)
        to[i] = (double)(float)from[i];
}

static void make_images(const double *slices)
{
    for (int k = 0; k < IMAGES; k++) {
        random_stream stream;
        random_start(&stream, 13, RANDOM_PHOTONS, (uint64_t)k, 0);
        for (int i = 0; i < PIXELS; i++) {
            const double rate = fmax(0, slices[2 * k * PIXELS + i]) * fluences[k];
            images[k * PIXELS + i] = (float)random_poisson(&stream, rate);
        }
    }
}

/* About 2,000 photons an image. */
static void make_fluences(const double *slices)
{
    double sum = 0;
    for (int i = 0; i < POINTS; i++)
        sum += fmax(0, slices[i]);
    for (int k = 0; k < IMAGES; k++)
        fluences[k] *= 2000.0 * REFERENCES / sum;
}

static void stages_agree(precision p)
{
    static double in[MOST];
    int failed = 0;
    fluences = uniform(IMAGES, 3, 0.7, 1.3);
    particle(wide);
    for (const comparison *c = stages; c < stages + N_STAGES; c++) {
        round_to(wide, MOST, in);
        run_on(devices[0], p, c, in, cpu);
        run_on(devices[1], p, c, in, gpu);
        run_on(devices[0], PRECISION_DOUBLE, c, in, wide);
        failed += count_differences(c, p);
        if (c->run == slices_of) make_fluences(wide), make_images(wide);
    }
    free(fluences);
    assert_int_equal(failed, 0);
}

static void agree_in_single_precision(void **state)
{
    (void)state;
    stages_agree(PRECISION_SINGLE);
}

static void agree_in_double_precision(void **state)
{
    (void)state;
    stages_agree(PRECISION_DOUBLE);
}

int main(void)
{
    const char *require = getenv("MTIP_REQUIRE_GPU");
    if (device_create_cuda(-1, &devices[1]) != STATUS_OK) {
        printf("no GPU: %s\n", status_message());
        return require && strcmp(require, "1") == 0 ? 1 : SKIPPED;
    }
    if (device_create_cpu(2, &devices[0]) != STATUS_OK) return 1;
    quaternions = stage_rotations(1, REFERENCES);
    pixels = stage_pixels(2, PIXELS, 0.9 * M_PI);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agree_in_single_precision),
        cmocka_unit_test(agree_in_double_precision),
    };
    const int failed = cmocka_run_group_tests_name("stages on both", tests, NULL, NULL) ? 1 : 0;
    free(quaternions), free(pixels);
    device_destroy(devices[0]);
    device_destroy(devices[1]);
    return failed;
}
