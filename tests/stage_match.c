/* stage_match.c: scores, posteriors and tomograms are their formulas (match_problem.h). */
#include "match_problem.h"
#include "mtip/match.h"
#include "stage_case.h"
#include "stage_suite.h"

#include <stdio.h>

static bool halves, lists; /* images stored as such, where the device can */

/* What a generation came to. */
typedef struct outcome {
    double tomograms[REFERENCES][USED];
    double posterior[IMAGES][REFERENCES];
    int64_t weights[REFERENCES], fixed[REFERENCES][USED];
} outcome;

/* The pixels of an image in descending order: a file has them in any. */
static photon_lists list_images(const problem *p, int first, int count)
{
    photon_lists made = {.n_images = count,
                         .start = calloc((size_t)count + 1, sizeof *made.start),
                         .pixel = malloc((size_t)(count * PIXELS + 1) * sizeof *made.pixel),
                         .counts = malloc((size_t)(count * PIXELS + 1) * sizeof *made.counts)};
    assert_true(made.start && made.pixel && made.counts);
    int64_t n = 0;
    for (int k = 0; k < count; k++) {
        for (int i = PIXELS - 1; i >= 0; i--) {
            if (p->images[first + k][i] == 0) continue;
            made.pixel[n] = i;
            made.counts[n++] = (int32_t)p->images[first + k][i];
        }
        made.start[k + 1] = n;
    }
    return made;
}

/* A matcher of images first .. first+count-1. */
static match *new_match(const problem *p, match_method method, int64_t memory, int first, int count)
{
    const match_options options = {stage.precision, method, memory, floor_value,
                                   count,           PIXELS, halves};
    double mean[PIXELS]; /* understated, so that lists are chosen; else a constant of the scores */
    for (int i = 0; i < PIXELS; i++)
        mean[i] = 1e-2 * p->mean[i];
    const match_pixels pixels = {p->correction, mean, p->whitening};
    photon_lists photons = {0};
    if (lists) photons = list_images(p, first, count);
    const match_source counts = {lists ? NULL : p->images[first], &photons};
    match *m;
    assert_ok(match_create(stage.dev, &options, &pixels, &counts, &m));
    photon_lists_free(&photons);
    assert_ok(match_begin(m, REFERENCES, BATCH, USED));
    assert_ok(match_set_fluence(m, p->fluence + first));
    return m;
}

/* The slices of a batch, used pixels only, on the device. */
static void *batch_slices(const problem *p, int first, int count)
{
    double rows[BATCH * USED];
    for (int r = 0; r < count; r++)
        memcpy(rows + r * USED, p->slices[first + r], USED * sizeof(double));
    return stage_upload(rows, count * USED);
}

static int batch_count(int first)
{
    return REFERENCES - first < BATCH ? REFERENCES - first : BATCH;
}

static void first_pass(const problem *p, match *m)
{
    for (int first = 0; first < REFERENCES; first += BATCH) {
        void *slices = batch_slices(p, first, batch_count(first));
        assert_ok(match_add(m, first, batch_count(first), slices));
        stage_free(slices);
    }
}

/* match_tomograms_fixed on sums in host memory. */
static void add_fixed(match *m, int64_t n, const int64_t *columns, double scale, int64_t *sums)
{
    const int64_t bytes = n * USED * (int64_t)sizeof *sums;
    void *memory;
    assert_ok(device_alloc(stage.dev, bytes, &memory));
    assert_ok(device_from_host(stage.dev, memory, sums, bytes));
    assert_ok(match_tomograms_fixed(m, n, columns, scale, memory));
    assert_ok(device_to_host(stage.dev, sums, memory, bytes));
    device_free(stage.dev, memory);
}

/* Adds to the weights and fixed-point tomograms of `to`, sets the rest. */
static void second_pass(const problem *p, match *m, outcome *to)
{
    int64_t columns[BATCH];
    for (int i = 0; i < BATCH; i++)
        columns[i] = i;
    for (int first = 0; first < REFERENCES; first += BATCH) {
        const int count = batch_count(first);
        void *slices = batch_slices(p, first, count), *tomograms = stage_new(BATCH * USED);
        assert_ok(match_weights(m, first, count, match_keeps_scores(m) ? NULL : slices,
                                to->weights + first));
        assert_ok(match_tomograms(m, count, columns, tomograms));
        stage_download(tomograms, count * USED, to->tomograms[first]);
        add_fixed(m, count, columns, 0x1p30, to->fixed[first]);
        stage_free(tomograms), stage_free(slices);
    }
    for (int k = 0; k < IMAGES; k++)
        for (int r = 0; r < REFERENCES; r++)
            to->posterior[k][r] = to->tomograms[r][TRUE_PIXELS + k];
}

static outcome *generation(const problem *p, match *m, double perplexity)
{
    outcome *to = calloc(1, sizeof *to);
    assert_non_null(to);
    first_pass(p, m);
    assert_ok(match_decide(m, perplexity));
    second_pass(p, m, to);
    return to;
}

/* Every score, seen through a generation of one reference; differences to reference 0, since a
   constant of the image is free. */
static void check_scores(match_method method, score_formula score)
{
    problem *p = new_problem();
    double *found = malloc(sizeof(double) * IMAGES * REFERENCES);
    double *expected = malloc(sizeof(double) * IMAGES * REFERENCES);
    match *m = new_match(p, method, 1 << 20, 0, IMAGES);
    match_images chosen;
    for (int r = 0; r < REFERENCES; r++) {
        assert_ok(match_begin(m, 1, 1, USED));
        void *slice = batch_slices(p, r, 1);
        assert_ok(match_add(m, 0, 1, slice));
        stage_free(slice);
        assert_ok(match_decide(m, 1));
        match_get_images(m, &chosen);
        for (int k = 0; k < IMAGES; k++) {
            found[k * REFERENCES + r] = chosen.score[k];
            expected[k * REFERENCES + r] = score(p, k, r);
        }
    }
    for (int k = 0; k < IMAGES; k++)
        for (int r = REFERENCES - 1; r >= 0; r--) {
            found[k * REFERENCES + r] -= found[k * REFERENCES];
            expected[k * REFERENCES + r] -= expected[k * REFERENCES];
        }
    assert_near(found, expected, IMAGES * REFERENCES, stage_either(1e-5, 1e-12));
    match_destroy(m);
    free(found), free(expected), free(p);
}

static void poisson_scores_are_the_log_likelihood(void **state)
{
    (void)state;
    check_scores(MATCH_EMC, poisson_score);
}

static void ncc_scores_are_the_whitened_correlation(void **state)
{
    (void)state;
    check_scores(MATCH_NCC, ncc_score);
}

static void l2_scores_are_half_the_squared_distance(void **state)
{
    (void)state;
    check_scores(MATCH_L2, l2_score);
}

static void check_image(const problem *p, int k, double perplexity, const match_images *chosen,
                        const double found[REFERENCES])
{
    double exact[REFERENCES], sum = 0, entropy = 0, expected = 0;
    naive_posterior(p, k, chosen->beta[k], exact);
    for (int r = 0; r < REFERENCES; r++) {
        sum += found[r];
        if (exact[r] > 0) entropy -= exact[r] * log(exact[r]);
        expected += exact[r] * expected_total(p, r);
    }
    assert_int_equal(chosen->best[k], naive_best(p, poisson_score, k));
    assert_within(0.99, sum, 1.01); /* log Z is interpolated between betas */
    assert_within(0, chosen->beta[k], 1);
    assert_near(found, exact, REFERENCES, 0.01);
    assert_within(0.95 * perplexity, exp(entropy), REFERENCES);
    assert_within(entropy - 0.05, chosen->entropy[k], entropy + 0.05);
    assert_within(0.99 * expected, chosen->expected[k], 1.01 * expected);
    if (chosen->beta[k] < 1) {
        assert_within(0.95 * perplexity, exp(entropy), 1.05 * perplexity);
    } else { /* no interpolation: exact */
        assert_near(found, exact, REFERENCES, stage_either(1e-5, 1e-12));
        assert_within(entropy - 1e-5, chosen->entropy[k], entropy + 1e-5);
        assert_within(expected * (1 - 1e-5), chosen->expected[k], expected * (1 + 1e-5));
    }
}

static void posteriors_have_the_perplexity_asked_for(void **state)
{
    (void)state;
    problem *p = new_problem();
    match *m = new_match(p, MATCH_EMC, 1 << 20, 0, IMAGES);
    static const double targets[] = {1.5, 4, 20, 48};
    int n_soft = 0, n_exact = 0;
    for (int t = 0; t < 4; t++) {
        assert_ok(match_begin(m, REFERENCES, BATCH, USED));
        outcome *found = generation(p, m, targets[t]);
        match_images chosen;
        match_get_images(m, &chosen);
        for (int k = 0; k < IMAGES; k++) {
            check_image(p, k, targets[t], &chosen, found->posterior[k]);
            n_soft += chosen.beta[k] < 1;
            n_exact += chosen.beta[k] == 1;
        }
        free(found);
    }
    assert_true(n_soft > 20 && n_exact > 20);
    match_destroy(m);
    free(p);
}

static void check_hard(match_method method, score_formula score, double perplexity)
{
    problem *p = new_problem();
    match *m = new_match(p, method, 1 << 20, 0, IMAGES);
    outcome *found = generation(p, m, perplexity);
    for (int k = 0; k < IMAGES; k++)
        for (int r = 0; r < REFERENCES; r++)
            assert_true(found->posterior[k][r] == (r == naive_best(p, score, k)));
    match_destroy(m);
    free(found), free(p);
}

static void hard_choices_are_the_best_score(void **state)
{
    (void)state;
    check_hard(MATCH_EMC, poisson_score, 1);
    check_hard(MATCH_NCC, ncc_score, 4);
    check_hard(MATCH_L2, l2_score, 4);
}

static void kept_scores_and_two_passes_agree(void **state)
{
    (void)state;
    problem *p = new_problem();
    match *keeps = new_match(p, MATCH_EMC, 1 << 20, 0, IMAGES);
    match *again = new_match(p, MATCH_EMC, 0, 0, IMAGES);
    outcome *a = generation(p, keeps, 4), *b = generation(p, again, 4);
    assert_true(match_keeps_scores(keeps) && !match_keeps_scores(again));
    assert_near(b->posterior[0], a->posterior[0], IMAGES * REFERENCES, stage_either(1e-4, 1e-11));
    assert_near(b->tomograms[0], a->tomograms[0], USED * REFERENCES, stage_either(1e-4, 1e-11));
    match_destroy(again), match_destroy(keeps);
    free(a), free(b), free(p);
}

static void tomograms_are_sums_over_images(void **state)
{
    (void)state;
    problem *p = new_problem();
    match *m = new_match(p, MATCH_EMC, 1 << 20, 0, IMAGES);
    outcome *found = generation(p, m, 4);
    double *sums = calloc(REFERENCES * USED, sizeof *sums);
    double *fixed = malloc(sizeof(double[REFERENCES][USED]));
    double weights[REFERENCES] = {0}, found_weights[REFERENCES];
    for (int r = 0; r < REFERENCES; r++) {
        found_weights[r] = (double)found->weights[r] / WEIGHT_SCALE;
        for (int k = 0; k < IMAGES; k++) {
            weights[r] += found->posterior[k][r] * p->fluence[k];
            for (int i = 0; i < USED; i++)
                sums[r * USED + i] += found->posterior[k][r] * (double)p->images[k][i];
        }
        for (int i = 0; i < USED; i++)
            fixed[r * USED + i] = (double)found->fixed[r][i] / 0x1p30;
    }
    assert_near(found->tomograms[0], sums, REFERENCES * USED, stage_either(1e-6, 1e-14));
    assert_near(fixed, sums, REFERENCES * USED, stage_either(1e-6, 1e-9));
    assert_near(found_weights, weights, REFERENCES, stage_either(1e-6, 1e-11));
    match_destroy(m);
    free(sums), free(fixed), free(found), free(p);
}

/* Divided at a block border, as between ranks, one part empty. */
static void fixed_point_sums_do_not_depend_on_the_division(void **state)
{
    (void)state;
    if (device_kind_of(stage.dev) != DEVICE_CPU) skip(); /* promised on CPUs only */
    problem *p = new_problem();
    match *whole = new_match(p, MATCH_EMC, 1 << 20, 0, IMAGES);
    outcome *one = generation(p, whole, 4), *parts = calloc(1, sizeof *parts);
    match_images chosen, part;
    match_get_images(whole, &chosen);
    const int borders[] = {0, 0, MATCH_BLOCK, IMAGES};
    for (int i = 0; i < 3; i++) {
        const int first = borders[i], count = borders[i + 1] - first;
        match *m = new_match(p, MATCH_EMC, i == 1 ? 0 : 1 << 20, first, count);
        first_pass(p, m);
        assert_ok(match_decide(m, 4));
        match_get_images(m, &part);
        for (int k = 0; k < count; k++) {
            assert_int_equal(part.best[k], chosen.best[first + k]);
            assert_true(part.beta[k] == chosen.beta[first + k]);
            assert_true(part.expected[k] == chosen.expected[first + k]);
        }
        second_pass(p, m, parts);
        match_destroy(m);
    }
    assert_memory_equal(parts->weights, one->weights, sizeof one->weights);
    assert_memory_equal(parts->fixed, one->fixed, sizeof one->fixed);
    match_destroy(whole);
    free(one), free(parts), free(p);
}

static void counts_are_sums_over_pixels(void **state)
{
    (void)state;
    problem *p = new_problem();
    match *m = new_match(p, MATCH_EMC, 0, 0, IMAGES);
    double found[IMAGES], expected[IMAGES];
    for (int used = 0; used <= PIXELS; used += PIXELS / 3) {
        assert_ok(match_counts(m, used, found));
        for (int k = 0; k < IMAGES; k++) {
            expected[k] = 0;
            for (int i = 0; i < used; i++)
                expected[k] += (double)p->images[k][i];
            assert_true(found[k] == expected[k]);
        }
    }
    match_destroy(m);
    free(p);
}

static void images_can_be_assigned(void **state)
{
    (void)state;
    problem *p = new_problem();
    int64_t best[IMAGES];
    match *m = new_match(p, MATCH_EMC, 0, 0, IMAGES);
    outcome *found = calloc(1, sizeof *found);
    for (int k = 0; k < IMAGES; k++)
        best[k] = (7 * k + 3) % REFERENCES;
    assert_ok(match_assign(m, best));
    second_pass(p, m, found);
    for (int k = 0; k < IMAGES; k++)
        for (int r = 0; r < REFERENCES; r++)
            assert_true(found->posterior[k][r] == (r == best[k]));
    best[3] = REFERENCES;
    assert_int_equal(match_assign(m, best), STATUS_INVALID);
    assert_non_null(strstr(status_message(), "image 3 is assigned to reference 50 of 50"));
    /* more references than scores have room for: nothing reads them */
    int64_t weights[REFERENCES] = {0};
    best[3] = 1;
    assert_ok(match_begin(m, 1000000000, REFERENCES, PIXELS));
    assert_ok(match_assign(m, best));
    assert_ok(match_weights(m, 0, REFERENCES, NULL, weights));
    match_destroy(m);
    free(found), free(p);
}

/* Of the same images, the lists in less memory where the backend keeps them. */
static void lists_and_rows_come_to_the_same(void **state)
{
    (void)state;
    problem *p = new_problem();
    outcome *found[2];
    int64_t bytes[2];
    const bool before = lists;
    for (int i = 0; i < 2; i++) {
        lists = i == 1;
        match *m = new_match(p, MATCH_EMC, 1 << 20, 0, IMAGES);
        bytes[i] = match_image_bytes(m);
        found[i] = generation(p, m, 4);
        match_destroy(m);
    }
    lists = before;
    const double tolerance = stage_either(1e-4, 1e-10);
    assert_near(found[1]->posterior[0], found[0]->posterior[0], IMAGES * REFERENCES, tolerance);
    assert_near(found[1]->tomograms[0], found[0]->tomograms[0], REFERENCES * USED, tolerance);
    if (image_kernels_of(stage.dev, stage.precision)->lists > 0)
        assert_true(bytes[1] < bytes[0] / 2);
    else
        assert_int_equal(bytes[1], bytes[0]);
    free(found[0]), free(found[1]), free(p);
}

static int group(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(poisson_scores_are_the_log_likelihood),
        cmocka_unit_test(ncc_scores_are_the_whitened_correlation),
        cmocka_unit_test(l2_scores_are_half_the_squared_distance),
        cmocka_unit_test(posteriors_have_the_perplexity_asked_for),
        cmocka_unit_test(hard_choices_are_the_best_score),
        cmocka_unit_test(kept_scores_and_two_passes_agree),
        cmocka_unit_test(tomograms_are_sums_over_images),
        cmocka_unit_test(fixed_point_sums_do_not_depend_on_the_division),
        cmocka_unit_test(counts_are_sums_over_pixels),
        cmocka_unit_test(images_can_be_assigned),
        cmocka_unit_test(lists_and_rows_come_to_the_same),
    };
    return cmocka_run_group_tests_name("matching", tests, NULL, NULL);
}

int match_suite(const device *dev, precision p)
{
    halves = lists = false;
    int failed = stage_run(dev, p, group);
    lists = true;
    failed |= stage_run(dev, p, group);
    lists = false;
    halves = true;
    return failed | (image_kernels_of(dev, p)->halves ? stage_run(dev, p, group) : 0);
}
