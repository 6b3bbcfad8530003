/* test_kernels_cuda.c: every entry of the GPU's tables gives what the CPU's gives from the same
   input.  Without a GPU it is skipped visibly (77), which MTIP_REQUIRE_GPU=1 forbids. */
#include "kernel_pairs.h"

#include <stdio.h>

enum { SKIPPED = 77 };

/* -- slicing and matching -- */

enum { ROWS = 70, PIXELS = 333, REFERENCES = 299, STRIDE = 310 };

static void rotates(void **state)
{
    (void)state;
    double *rotations = uniform(9 * ROWS, 1, -1, 1);
    pair s = reals(3 * PIXELS, 2, -3, 3), x = zeros(REALS, ROWS * PIXELS),
         y = zeros(REALS, ROWS * PIXELS), z = zeros(REALS, ROWS * PIXELS);
    BOTH(MATCH->rotate(dev, ROWS, rotations, PIXELS, s.on[d],
                       (void *const[3]){x.on[d], y.on[d], z.on[d]}))
    SAME(x), SAME(y), SAME(z);
    FREE(s, x, y, z);
    free(rotations);
}

static void widens_and_spreads(void **state)
{
    (void)state;
    double *weights = uniform(ROWS, 3, 0, 9);
    pair in = reals(1000, 4, -1, 1), wide = reals(2000, 5, -1, 1), divisor = reals(PIXELS, 6, 1, 2),
         rows = reals(ROWS * PIXELS, 7, -1, 1);
    BOTH(MATCH->complex_from_real(dev, 1000, in.on[d], wide.on[d]))
    SAME_BITS(wide);
    BOTH(MATCH->spread_rows(dev, ROWS, PIXELS, weights, rows.on[d]))
    SAME_BITS(rows);
    BOTH(MATCH->divide_rows(dev, ROWS, PIXELS, divisor.on[d], rows.on[d]))
    SAME(rows);
    FREE(in, wide, divisor, rows);
    free(weights);
}

static void makes_operands(void **state)
{
    (void)state;
    pair correction = reals(PIXELS, 1, .5, 1.5), offset = reals(PIXELS, 2, -1, 1),
         whitening = reals(PIXELS, 3, .1, 2);
    for (match_method method = MATCH_EMC; method <= MATCH_L2; method++)
        for (int in_place = 0; in_place < 2; in_place++) {
            pair slices = reals(ROWS * PIXELS, 4, -.5, 4), rows = zeros(REALS, ROWS * PIXELS),
                 bias = reals(ROWS, 5, 1, 2);
            BOTH(MATCH->operand(
                dev,
                &(operand_rule){method, 0.05, correction.on[d], offset.on[d], whitening.on[d], 123},
                ROWS, PIXELS, slices.on[d], in_place ? slices.on[d] : rows.on[d], bias.on[d]))
            check_pair(in_place ? &slices : &rows, either(1e-5, 1e-10), __LINE__);
            if (method != MATCH_NCC) SAME(bias);
            FREE(slices, rows, bias);
        }
    FREE(correction, offset, whitening);
}

/* Enough images for several pieces. */
enum { IMAGES = 16500, PADDED = 336 };

/* Counts as rows of a format on both devices; the CPU has reals alone. */
static void store_rows(const pair *counts, const pair *weights, row_format format, pair *data,
                       image_rows rows[2])
{
    for (int d = CPU; d <= GPU; d++) {
        const device *dev = test.dev[d];
        rows[d] = (image_rows){.format = d == GPU ? format : ROWS_REAL,
                               .n_rows = IMAGES,
                               .n_pixels = PIXELS,
                               .stride = PADDED,
                               .data = data->on[d]};
        must(IMAGE->store(dev, counts->on[d], weights ? weights->on[d] : NULL, &rows[d]));
    }
}

static pair new_counts(void)
{
    double *values = uniform(IMAGES * PIXELS, 1, 0, 50);
    for (int64_t i = 0; i < IMAGES * PIXELS; i++)
        ((float *)values)[i] = i % 7 ? floorf((float)values[i]) : HALF_LARGEST - 1;
    pair p = new_pair(DOUBLES, IMAGES * PIXELS / 2 + 1, values);
    free(values);
    return p;
}

static void multiplies_as(row_format format)
{
    pair counts = new_counts(), data = zeros(DOUBLES, IMAGES * PADDED),
         references = reals(REFERENCES * 305, 2, -1, 1), c = reals(IMAGES * STRIDE, 3, 0, 1),
         coefficient = reals(IMAGES, 4, 0, 2), bias = reals(REFERENCES, 5, -1, 1),
         sum = reals(REFERENCES * 301, 6, -1, 1), totals = zeros(DOUBLES, IMAGES);
    image_rows rows[2];
    store_rows(&counts, NULL, format, &data, rows);
    BOTH(IMAGE->count(dev, &rows[d], 301, totals.on[d]))
    SAME_BITS(totals);
    BOTH(IMAGE->accumulate(dev, &rows[d], 301, REFERENCES, c.on[d], STRIDE, sum.on[d]))
    SAME(sum);
    BOTH(IMAGE->score(dev, &rows[d], 305, REFERENCES, references.on[d], c.on[d], STRIDE))
    SAME(c);
    BOTH(MATCH->subtract_bias(dev, IMAGES, REFERENCES, c.on[d], STRIDE, coefficient.on[d],
                              bias.on[d]))
    SAME(c);
    FREE(counts, data, references, c, coefficient, bias, sum, totals);
}

static void multiplies(void **state)
{
    (void)state;
    const device *dev = test.dev[GPU];
    multiplies_as(ROWS_REAL);
    assert_true(IMAGE->halves == (test.precision == PRECISION_SINGLE));
    if (IMAGE->halves) multiplies_as(ROWS_HALF);
}

static void weighs_and_normalises(void **state)
{
    (void)state;
    pair counts = new_counts(), weights = reals(PIXELS, 2, 0, 1),
         data = zeros(REALS, IMAGES * PADDED);
    image_rows rows[2];
    store_rows(&counts, &weights, ROWS_REAL, &data, rows);
    SAME(data);
    FREE(counts, weights, data);
}

/* Sums that come from two pieces of the rows, the second with larger maxima in some. */
static void climbs_ladders(void **state)
{
    (void)state;
    pair scores = reals(ROWS * STRIDE, 1, -40, 0), total = reals(REFERENCES, 2, .5, 2),
         max = same(ROWS, -INFINITY), best = zeros(INTEGERS, ROWS),
         sums = zeros(DOUBLES, ROWS * LADDER * 3), out = zeros(REALS, ROWS * STRIDE);
    pair beta = zeros(DOUBLES, ROWS), log_z = zeros(DOUBLES, ROWS), entropy = zeros(DOUBLES, ROWS),
         expected = zeros(DOUBLES, ROWS);
    for (int piece = 0; piece < 2; piece++) {
        const int64_t first = piece ? 150 : 0, n = piece ? REFERENCES - 150 : 150,
                      skip = first * (int64_t)real_size(test.precision);
        BOTH(MATCH->ladder_add(dev, ROWS, n, (char *)scores.on[d] + skip, STRIDE, first,
                               (char *)total.on[d] + skip,
                               &(ladder){.max = max.on[d], .best = best.on[d], .sums = sums.on[d]}))
        SAME_BITS(max), SAME_BITS(best), SAME(sums);
    }
    for (int hard = 0; hard < 2; hard++) {
        const ladder_rule rule = {hard, log(5), 0.25};
        ladder l[2];
        for (int d = CPU; d <= GPU; d++)
            l[d] = (ladder){max.on[d],   best.on[d],    sums.on[d],    beta.on[d],
                            log_z.on[d], entropy.on[d], expected.on[d]};
        BOTH(MATCH->choose(dev, ROWS, ROWS - 3, &rule, &l[d]))
        SAME(beta), SAME(log_z), SAME(expected), SAME_BITS(best);
        if (!hard) SAME(entropy);
        BOTH(MATCH->posterior(dev, ROWS, REFERENCES, scores.on[d], STRIDE, 0, &l[d], out.on[d],
                              STRIDE))
        SAME(out);
    }
    FREE(scores, total, max, best, sums, out, beta, log_z, entropy, expected);
}

static void counts_in_fixed_point(void **state)
{
    (void)state;
    int64_t columns[77];
    for (int64_t i = 0; i < 77; i++)
        columns[i] = (i * 31) % REFERENCES;
    pair posterior = reals(ROWS * STRIDE, 1, 0, 1), fluence = reals(ROWS, 2, 0, 3),
         weights = zeros(INTEGERS, REFERENCES), taken = zeros(REALS, ROWS * 80),
         fixed = zeros(INTEGERS, ROWS * STRIDE), back = zeros(REALS, ROWS * STRIDE);
    for (int twice = 0; twice < 2; twice++) {
        BOTH(MATCH->add_weights(dev, ROWS, REFERENCES, posterior.on[d], STRIDE, fluence.on[d],
                                weights.on[d]))
        BOTH(MATCH->add_fixed(dev, ROWS * STRIDE, posterior.on[d], 0x1p40, fixed.on[d]))
    }
    SAME_BITS(weights), SAME_BITS(fixed);
    BOTH(MATCH->from_fixed(dev, ROWS * STRIDE, fixed.on[d], 0x1p40, back.on[d]))
    SAME_BITS(back);
    BOTH(MATCH->take_columns(dev, ROWS, 77, columns, posterior.on[d], STRIDE, taken.on[d], 80))
    SAME_BITS(taken);
    FREE(posterior, fluence, weights, taken, fixed, back);
}

/* -- volumes -- */

static void moves_volumes(void **state)
{
    (void)state;
    static const int64_t sizes[][2] = {{12, 12}, {12, 25}, {13, 13}, {13, 30}, {41, 81}};
    for (int i = 0; i < 5; i++) {
        const int64_t n = sizes[i][0], p = sizes[i][1], n3 = n * n * n, p3 = p * p * p;
        pair modes = reals(2 * p3, 1, -1, 1), out = reals(n3, 2, -1, 1), grid = reals(p3, 3, -1, 1),
             mask = reals(n3, 4, 0, 1);
        BOTH(VOLUME->add_real_centre(dev, p, modes.on[d], n, out.on[d]))
        SAME_BITS(out);
        BOTH(VOLUME->symmetrise(dev, n, out.on[d]))
        SAME_BITS(out);
        BOTH(VOLUME->embed(dev, n, out.on[d], p, grid.on[d]))
        SAME_BITS(grid);
        BOTH(VOLUME->extract(dev, p, grid.on[d], 0.3, NULL, n, out.on[d]))
        SAME(out);
        BOTH(VOLUME->extract(dev, p, grid.on[d], 0.3, mask.on[d], n, out.on[d]))
        SAME(out);
        FREE(modes, out, grid, mask);
    }
}

static void scales_spectra(void **state)
{
    (void)state;
    const int64_t n = 100003;
    pair x = reals(n, 1, -1, 1), y = reals(n, 2, 0, 1), half = reals(2 * n, 3, -1, 1),
         wide = zeros(DOUBLES, n);
    BOTH(VOLUME->scale_half(dev, n, x.on[d], half.on[d]))
    SAME(half);
    BOTH(VOLUME->real_spectrum(dev, n, half.on[d], 0.25, y.on[d]))
    SAME(y);
    BOTH(VOLUME->to_doubles(dev, n, x.on[d], wide.on[d]))
    SAME_BITS(wide);
    BOTH(VOLUME->from_doubles(dev, n, wide.on[d], y.on[d]))
    SAME_BITS(y);
    FREE(x, y, half, wide);
}

/* -- conjugate gradients -- */

enum { CG_PAIRS = 9 };

typedef struct cg_case {
    pair pairs[CG_PAIRS];
    cg_arrays on[2];
} cg_case;

static cg_case new_cg_case(int64_t n, int64_t p)
{
    const int64_t n3 = cube(n), p3 = cube(p);
    const cg_scalars scalars = {.shift = 0.3, .limit = 1e-9, .ratio = 0.7};
    cg_case c = {.pairs = {reals(n3, 1, -1, 1), reals(n3, 2, 0, 1), reals(n3, 3, -1, 1),
                           reals(n3, 4, -1, 1), reals(n3, 5, -1, 1), reals(n3, 6, -1, 1),
                           zeros(REALS, p3), reals(p3, 7, -1, 1),
                           zeros(DOUBLES, 2 * cg_parts(n3))}};
    for (int d = CPU; d <= GPU; d++) {
        cg_arrays *a = &c.on[d];
        *a = (cg_arrays){.n = n, .p = p, .b = c.pairs[0].on[d], .support = c.pairs[1].on[d]};
        void **arrays[] = {&a->x, &a->residual, &a->direction, &a->product, &a->padded, &a->grid};
        for (int i = 0; i < 6; i++)
            *arrays[i] = c.pairs[2 + i].on[d];
        a->parts = c.pairs[8].on[d];
        must(device_alloc(test.dev[d], sizeof scalars, (void **)&a->scalars));
        must(device_from_host(test.dev[d], a->scalars, &scalars, sizeof scalars));
    }
    return c;
}

static void free_cg_case(cg_case *c)
{
    free_pairs(c->pairs, CG_PAIRS);
    for (int d = CPU; d <= GPU; d++)
        device_free(test.dev[d], c->on[d].scalars);
}

static cg_scalars scalars_of(const cg_case *c, int d)
{
    cg_scalars s;
    must(device_to_host(test.dev[d], &s, c->on[d].scalars, sizeof s));
    return s;
}

static void check_scalars(const cg_case *c)
{
    const cg_scalars s[2] = {scalars_of(c, CPU), scalars_of(c, GPU)};
    check_values(1, &s[CPU].b2, &s[GPU].b2, either(1e-5, 1e-10), __LINE__);
    check_values(1, &s[CPU].r2, &s[GPU].r2, either(1e-5, 1e-10), __LINE__);
    check_values(1, &s[CPU].curvature, &s[GPU].curvature, either(1e-5, 1e-10), __LINE__);
    assert_true(fabs(s[GPU].ratio - s[CPU].ratio) <= either(1e-5, 1e-10) * fabs(s[CPU].ratio));
    assert_int_equal(s[CPU].iterations, s[GPU].iterations);
    assert_int_equal(s[CPU].done, s[GPU].done);
}

static void takes_steps(void **state)
{
    (void)state;
    static const int64_t sizes[][2] = {{5, 9}, {12, 24}, {41, 84}};
    for (int i = 0; i < 3; i++) {
        cg_case c = new_cg_case(sizes[i][0], sizes[i][1]);
        BOTH(CG->direct(dev, &c.on[d]))
        SAME(c.pairs[4]), SAME(c.pairs[6]);
        BOTH(CG->product(dev, &c.on[d]))
        SAME(c.pairs[5]);
        BOTH(CG->start(dev, &c.on[d]))
        SAME(c.pairs[3]);
        check_scalars(&c);
        const cg_scalars s = scalars_of(&c, GPU);
        BOTH(CG->step(dev, &c.on[d]))
        SAME(c.pairs[2]), SAME(c.pairs[3]);
        check_scalars(&c);
        assert_int_equal(scalars_of(&c, GPU).iterations, s.curvature > 0);
        free_cg_case(&c);
    }
}

/* -- from atoms to images, in double precision only -- */

static void makes_images(void **state)
{
    (void)state;
    if (test.precision == PRECISION_SINGLE) return;
    for (int64_t n = 11; n <= 12; n++) {
        const int64_t n3 = n * n * n, n_radial = n * n / 4;
        double *radial = uniform(2 * n_radial, 1, -1, 1);
        pair in = reals(2 * n3, 2, -1, 1), out = reals(2 * n3, 3, -1, 1);
        BOTH(SCATTER->add_radial(dev, n, n_radial, radial, in.on[d], out.on[d]))
        SAME(out);
        BOTH(SCATTER->alternate(dev, n, 0.3, out.on[d]))
        SAME(out);
        FREE(in, out);
        free(radial);
    }
    pair amplitudes = reals(2 * ROWS * PIXELS, 4, -1, 1), weight = reals(PIXELS, 5, 0, 2),
         images = zeros(REALS, ROWS * PIXELS);
    BOTH(SCATTER->intensities(dev, ROWS, PIXELS, weight.on[d], amplitudes.on[d], images.on[d]))
    SAME(images);
    FREE(amplitudes, weight, images);
}

/* -- phasing -- */

static void projects_and_updates(void **state)
{
    (void)state;
    const int64_t grid = 18, n = half_count(grid), batch = 3;
    pair half = reals(2 * n * batch, 1, -1, 1), amplitude = zeros(REALS, n),
         density = reals(n * batch, 3, -1, 1), support = reals(n * batch, 4, -.5, 1);
    double errors[2][3], norms[2][3];
    BOTH(PHASE->amplitudes(dev, grid, 17, 1.5, 7, half.on[d], amplitude.on[d]))
    SAME(amplitude);
    BOTH(PHASE->modulus_error(dev, n, batch, amplitude.on[d], half.on[d], errors[d], norms[d]))
    check_values(batch, errors[CPU], errors[GPU], either(1e-5, 1e-10), __LINE__);
    check_values(batch, norms[CPU], norms[GPU], either(1e-5, 1e-10), __LINE__);
    BOTH(PHASE->project_modulus(dev, n, batch, amplitude.on[d], 0.5, half.on[d]))
    SAME(half);
    for (phase_step step = PHASE_ER; step <= PHASE_RAAR; step++) {
        BOTH(PHASE->update_density(dev, n * batch, step, 0.8, half.on[d], support.on[d],
                                   density.on[d]))
        SAME(density);
    }
    BOTH(PHASE->squared_modulus(dev, n * batch, half.on[d]))
    SAME(half);
    FREE(half, amplitude, density, support);
}

static void starts_alike(void **state)
{
    (void)state;
    for (int64_t n = 1001; n < 1005; n++) {
        pair support = reals(n, 1, -1, 1), density = reals(n, 2, -1, 1);
        BOTH(PHASE->random_start(dev, n, 7, (uint64_t)5 << 32, support.on[d], density.on[d]))
        SAME_BITS(density);
        FREE(support, density);
    }
}

/* Blurred values of the GPU's own would differ in a rounding and cut elsewhere: the same here. */
static void cuts_supports(void **state)
{
    (void)state;
    for (int64_t n = 100; n < 200000; n *= 12) {
        pair blurred = reals(5 * n, 1, -1, 2), support = reals(5 * n, 2, 0, 9);
        BOTH(PHASE->threshold(dev, n, 5, 0.2, blurred.on[d], support.on[d]))
        SAME_BITS(support);
        FREE(blurred, support);
    }
}

static void sums_have_the_same_bits_every_time(void **state)
{
    (void)state;
    const device *dev = test.dev[GPU];
    const int64_t n = 300007;
    pair x = reals(n, 1, -1, 1), c = zeros(REALS, 500 * 500), again = zeros(REALS, 500 * 500);
    cg_case sums = new_cg_case(41, 84);
    must(CG->product(dev, &sums.on[GPU]));
    const double first = scalars_of(&sums, GPU).curvature;
    const image_rows rows = {.n_rows = 500, .n_pixels = 500, .stride = 500, .data = x.on[GPU]};
    must(IMAGE->score(dev, &rows, 500, 500, x.on[GPU], c.on[GPU], 500));
    double *expected = download(&c, GPU);
    for (int i = 0; i < 20; i++) {
        must(CG->product(dev, &sums.on[GPU]));
        assert_true(first == scalars_of(&sums, GPU).curvature);
        must(IMAGE->score(dev, &rows, 500, 500, x.on[GPU], again.on[GPU], 500));
        double *found = download(&again, GPU);
        assert_memory_equal(found, expected, 500 * 500 * sizeof(double));
        free(found);
    }
    free(expected);
    free_cg_case(&sums);
    FREE(x, c, again);
}

static void nothing_is_no_work(void **state)
{
    (void)state;
    pair x = reals(10, 1, -1, 1);
    BOTH(MATCH->rotate(dev, 0, NULL, 5, x.on[d], (void *const[3]){x.on[d], x.on[d], x.on[d]}))
    BOTH(IMAGE->score(dev, &(image_rows){.n_pixels = 5, .stride = 5, .data = x.on[d]}, 5, 2,
                      x.on[d], x.on[d], 5))
    BOTH(MATCH->add_weights(dev, 0, 5, x.on[d], 5, x.on[d], x.on[d]))
    BOTH(MATCH->take_columns(dev, 5, 0, NULL, x.on[d], 1, x.on[d], 1))
    BOTH(VOLUME->scale_half(dev, 0, x.on[d], x.on[d]))
    SAME_BITS(x);
    FREE(x);
}

static int run_in(precision p)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rotates),
        cmocka_unit_test(widens_and_spreads),
        cmocka_unit_test(makes_operands),
        cmocka_unit_test(multiplies),
        cmocka_unit_test(weighs_and_normalises),
        cmocka_unit_test(climbs_ladders),
        cmocka_unit_test(counts_in_fixed_point),
        cmocka_unit_test(moves_volumes),
        cmocka_unit_test(scales_spectra),
        cmocka_unit_test(takes_steps),
        cmocka_unit_test(makes_images),
        cmocka_unit_test(projects_and_updates),
        cmocka_unit_test(starts_alike),
        cmocka_unit_test(cuts_supports),
        cmocka_unit_test(sums_have_the_same_bits_every_time),
        cmocka_unit_test(nothing_is_no_work),
    };
    test.precision = p;
    return cmocka_run_group_tests_name(p == PRECISION_SINGLE ? "single" : "double", tests, NULL,
                                       NULL);
}

int main(void)
{
    const char *require = getenv("MTIP_REQUIRE_GPU");
    if (device_create_cuda(-1, &test.dev[GPU]) != STATUS_OK) {
        printf("no GPU: %s\n", status_message());
        return require && strcmp(require, "1") == 0 ? 1 : SKIPPED;
    }
    if (device_create_cpu(2, &test.dev[CPU]) != STATUS_OK) return 1;
    int failed = run_in(PRECISION_SINGLE) != 0;
    failed |= run_in(PRECISION_DOUBLE) != 0;
    device_destroy(test.dev[CPU]);
    device_destroy(test.dev[GPU]);
    return failed;
}
