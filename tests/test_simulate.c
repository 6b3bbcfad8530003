/* Detector formulas against numbers worked out by hand, and images against their expectations. */
#include <math.h>
#include <xraylib.h>

#include "molecule.h"
#include "mtip/rotation.h"
#include "sim_case.h"

static detector *make_detector(int n_rows, int n_cols, int stop, polarization polarized)
{
    const detector_settings settings = {.n_rows = n_rows,
                                        .n_cols = n_cols,
                                        .pixel_size = 1e-3,
                                        .distance = 53.71e-3,
                                        .wavelength = PHYSICS_HC / 4600,
                                        .polarized = polarized,
                                        .stop_pixels = stop};
    detector *det;
    assert_ok(detector_create(&settings, &det));
    return det;
}

/* x = y = 15.5 mm: tan 2theta = 0.408, |s| = 2 sin(theta) / lambda. */
static void corner_pixel_is_at_seven_angstrom(void **state)
{
    (void)state;
    detector *det = make_detector(32, 32, 4, POLARIZATION_HORIZONTAL);
    double theta = atan(15.5 * sqrt(2) / 53.71) / 2;
    assert_close(det->wavelength, 2.69530866, 1e-8);
    assert_close(detector_s_corner(det), 2 * sin(theta) / 2.69530866, 1e-9);
    assert_close(1 / detector_s_corner(det), 7, 1e-3);
    double edge = atan(hypot(15.5, 0.5) / 53.71) / 2;
    assert_close(detector_s_edge(det), 2 * sin(edge) / 2.69530866, 1e-9);
    detector_destroy(det);
}

static void every_pixel_lies_on_the_ewald_sphere(void **state)
{
    (void)state;
    detector *det = make_detector(31, 17, 0, POLARIZATION_NONE);
    double k = 1 / det->wavelength;
    for (int64_t p = 0; p < det->n_pixels; p++) {
        const double *s = det->s + 3 * p;
        assert_close(sqrt(s[0] * s[0] + s[1] * s[1] + (s[2] + k) * (s[2] + k)), k, 1e-15);
    }
    const double *middle = det->s + 3 * (15 * 17 + 8);
    assert_close(fabs(middle[0]) + fabs(middle[1]) + fabs(middle[2]), 0, 0);
    assert_true(det->s[3 * 16] > 0 && det->s[1] < 0); /* x along columns, y along rows */
    detector_destroy(det);
}

/* A pixel seen under 2theta has (p/D)^2 cos^3 2theta; a whole sphere around would be 4 pi. */
static void solid_angles_are_those_of_a_plane(void **state)
{
    (void)state;
    detector *det = make_detector(32, 32, 0, POLARIZATION_NONE);
    for (int64_t p = 0; p < det->n_pixels; p++) {
        double k = 1 / det->wavelength, cosine = 1 + det->s[3 * p + 2] / k;
        assert_close(det->solid_angle[p] * 53.71 * 53.71 / pow(cosine, 3), 1, 1e-12);
    }
    detector_destroy(det);
    /* a plane so large that it nearly fills half the space; its rim leaves out 4 sqrt(2) D/W */
    const detector_settings wide = {1001, 1001, 0.2, 1, 1, POLARIZATION_NONE, 0};
    assert_ok(detector_create(&wide, &det));
    double sum = 0;
    for (int64_t p = 0; p < det->n_pixels; p++)
        sum += det->solid_angle[p];
    assert_close(sum, 2 * acos(-1) - 4 * sqrt(2) / 100.1, 2e-3);
    detector_destroy(det);
}

/* At 2theta = 45 degrees along x: 1/2, 1 and 3/4; (1 + cos^2)/2 for unpolarized light. */
static void polarization_follows_the_field(void **state)
{
    (void)state;
    const polarization kinds[3] = {POLARIZATION_HORIZONTAL, POLARIZATION_VERTICAL,
                                   POLARIZATION_NONE};
    const double along_x[3] = {0.5, 1, 0.75}, along_y[3] = {1, 0.5, 0.75};
    for (int i = 0; i < 3; i++) {
        const detector_settings set = {3, 3, 1, 1, 1, kinds[i], 0};
        detector *det;
        assert_ok(detector_create(&set, &det));
        assert_close(det->polarization[5], along_x[i], 1e-12);
        assert_close(det->polarization[1], along_y[i], 1e-12);
        assert_close(det->polarization[4], 1, 0);
        detector_destroy(det);
    }
}

static int64_t n_stopped(int n_rows, int n_cols, int stop)
{
    detector *det = make_detector(n_rows, n_cols, stop, POLARIZATION_NONE);
    int64_t n = 0;
    for (int64_t p = 0; p < det->n_pixels; p++) {
        n += !det->mask[p];
        assert_int_equal(det->mask[p], det->mask[det->n_pixels - 1 - p]); /* centred */
    }
    detector_destroy(det);
    return n;
}

static void beam_stop_covers_the_middle(void **state)
{
    (void)state;
    assert_int_equal(n_stopped(32, 32, 4), 16);
    assert_int_equal(n_stopped(32, 32, 0), 0);
    assert_int_equal(n_stopped(33, 33, 3), 9);
    assert_int_equal(n_stopped(33, 32, 4), 20); /* one more where it would not be centred */
    assert_int_equal(n_stopped(8, 8, 100), 64);
}

static void refuses_detectors_that_make_no_sense(void **state)
{
    (void)state;
    detector *det;
    detector_settings set = {32, 32, 1e-3, 0, 1, POLARIZATION_NONE, 0};
    assert_fails(detector_create(&set, &det), STATUS_INVALID, "distance 0");
    set = (detector_settings){0, 32, 1e-3, 1, 1, POLARIZATION_NONE, 0};
    assert_fails(detector_create(&set, &det), STATUS_INVALID, "0 x 32");
    set = (detector_settings){4, 4, NAN, 1, 1, POLARIZATION_NONE, 0};
    assert_fails(detector_create(&set, &det), STATUS_INVALID, "pixel size nan");
    assert_null(det);
}

/* ---- images ---- */

typedef struct bench {
    molecule *mol;
    detector *det;
    scatter *sc;
} bench;

static bench make_bench(const char *file, int stop)
{
    bench b;
    const molecule_settings settings = {.b_factor = 20};
    const scatter_settings scattering = {4600, true, false};
    assert_ok(molecule_read(case_data(file), &settings, &b.mol));
    b.det = make_detector(16, 16, stop, POLARIZATION_HORIZONTAL);
    assert_ok(scatter_create_direct(b.mol->atoms, b.mol->n_atoms, b.det->s, b.det->n_pixels,
                                    &scattering, &b.sc));
    return b;
}

static void destroy_bench(bench *b)
{
    scatter_destroy(b->sc);
    detector_destroy(b->det);
    molecule_destroy(b->mol);
}

static simulate *make_simulation(const bench *b, const simulate_settings *settings)
{
    simulate *sim;
    assert_ok(simulate_create(b->det, b->sc, settings, &sim));
    return sim;
}

static void flux_is_scaled_to_the_photons_wanted(void **state)
{
    (void)state;
    enum { N = 400 };
    bench b = make_bench("2LYZ.pdb", 0);
    const simulate_settings settings = {.seed = 1, .photons_per_image = 1000, .noise = true};
    simulate *sim = make_simulation(&b, &settings);
    float *images = malloc(sizeof *images * N * 256);
    assert_ok(simulate_images(sim, 0, N, images));
    double sum = 0;
    for (int i = 0; i < N * 256; i++)
        sum += (double)images[i];
    assert_close(simulate_mean_photons(sim), 1000, 1e-9);
    assert_close(simulate_mean_photons_used(sim), 1000, 1e-9);
    /* orientations scatter by some 5 %, so their mean by 0.3 % */
    assert_close(sum / N, 1000, 20);
    free(images);
    simulate_destroy(sim);
    destroy_bench(&b);
}

/* Debye's formula: the average of |F|^2 over all orientations from distances alone. */
static double debye_intensity(const molecule *mol, double s, double energy)
{
    double sum = 0;
    for (int64_t i = 0; i < mol->n_atoms; i++) {
        const atom *a = &mol->atoms[i];
        double fa = FF_Rayl(a->element, s / 2, NULL) + Fi(a->element, energy / 1000, NULL);
        sum += fa * fa;
        for (int64_t j = 0; j < i; j++) {
            const atom *b = &mol->atoms[j];
            double fb = FF_Rayl(b->element, s / 2, NULL) + Fi(b->element, energy / 1000, NULL);
            double x = a->position[0] - b->position[0], y = a->position[1] - b->position[1];
            double z = a->position[2] - b->position[2];
            double phase = 2 * acos(-1) * s * sqrt(x * x + y * y + z * z);
            sum += 2 * fa * fb * (phase > 0 ? sin(phase) / phase : 1);
        }
    }
    return sum * exp(-2 * mol->atoms[0].b_factor * s * s / 4);
}

/* Pixels of an eighth of the detector stand for all, with light polarized every way. */
static void mean_photons_agree_with_debye(void **state)
{
    (void)state;
    bench b = make_bench("2LYZ.pdb", 0);
    const simulate_settings beam = {.flux = 1e24};
    simulate *sim = make_simulation(&b, &beam);
    double r_e = 2.8179403205e-15, sum = 0;
    for (int row = 8; row < 16; row++)
        for (int col = row; col < 16; col++) {
            const double *s = b.det->s + 3 * (16 * row + col);
            double length = sqrt(s[0] * s[0] + s[1] * s[1] + s[2] * s[2]);
            double x = (col - 7.5) / 53.71, y = (row - 7.5) / 53.71, r2 = 1 + x * x + y * y;
            double gain = 1 / (53.71 * 53.71) / pow(r2, 1.5) * (1 - 0.5 * (x * x + y * y) / r2);
            sum += (row == col ? 4 : 8) * gain * debye_intensity(b.mol, length, 4600);
        }
    print_message("%.5g photons, Debye %.5g\n", simulate_mean_photons(sim), 1e24 * r_e * r_e * sum);
    assert_close(simulate_mean_photons(sim) / (1e24 * r_e * r_e * sum), 1, 0.002);
    simulate_destroy(sim);
    destroy_bench(&b);
}

static void guinier_estimate_is_near(void **state)
{
    (void)state;
    bench b = make_bench("2LYZ.pdb", 0);
    scatter_size size = scatter_measure(b.mol->atoms, b.mol->n_atoms);
    assert_close(size.n_electrons, 6669, 10);
    assert_close(size.gyration, 14, 0.1);
    double flux = 1e12 / (acos(-1) * 0.25e-12), wavelength = b.det->wavelength;
    assert_close(simulate_guinier_photons(flux, size.n_electrons, wavelength, size.gyration), 4.0,
                 0.05);
    destroy_bench(&b);
}

static void stopped_pixels_are_dark_and_others_unchanged(void **state)
{
    (void)state;
    bench open = make_bench("2LYZ.pdb", 0), stopped = make_bench("2LYZ.pdb", 6);
    const simulate_settings settings = {.seed = 1, .photons_per_image = 1e4, .noise = true};
    simulate *a = make_simulation(&open, &settings), *b = make_simulation(&stopped, &settings);
    float all[256], some[256];
    assert_ok(simulate_images(a, 5, 1, all));
    assert_ok(simulate_images(b, 5, 1, some));
    double lost = 0;
    for (int p = 0; p < 256; p++) {
        assert_true(some[p] == (stopped.det->mask[p] ? all[p] : 0));
        lost += (double)(all[p] - some[p]);
    }
    assert_true(lost > 1000);
    assert_close(simulate_mean_photons(a), simulate_mean_photons(b), 1e-6);
    assert_true(simulate_mean_photons_used(b) < simulate_mean_photons_used(a));
    simulate_destroy(a);
    simulate_destroy(b);
    destroy_bench(&open);
    destroy_bench(&stopped);
}

static void images_do_not_depend_on_their_neighbours(void **state)
{
    (void)state;
    enum { N = 70 };
    bench b = make_bench("2LYZ.pdb", 2);
    const simulate_settings settings = {
        .seed = 9, .photons_per_image = 500, .fluence_jitter = 0.5, .noise = true};
    simulate *sim = make_simulation(&b, &settings);
    static float all[N * 256], one[256];
    assert_ok(simulate_images(sim, 100, N, all));
    for (int i = 0; i < N; i += 13) {
        assert_ok(simulate_images(sim, 100 + i, 1, one));
        assert_memory_equal(one, all + i * 256, sizeof one);
    }
    simulate_destroy(sim);
    destroy_bench(&b);
}

/* Counts over many images of the same expectation: their deviance from Poisson noise. */
static void noise_is_poisson_about_the_expectation(void **state)
{
    (void)state;
    enum { N = 200 };
    bench b = make_bench("2LYZ.pdb", 0);
    simulate_settings settings = {
        .seed = 4, .photons_per_image = 3000, .fluence_jitter = 0.3, .noise = true};
    static float counts[N * 256], means[N * 256];
    simulate *noisy = make_simulation(&b, &settings);
    settings.noise = false;
    simulate *exact = make_simulation(&b, &settings);
    assert_ok(simulate_images(noisy, 0, N, counts));
    assert_ok(simulate_images(exact, 0, N, means));
    double chi = 0;
    for (int i = 0; i < N * 256; i++) {
        assert_true(counts[i] == floorf(counts[i]));
        double difference = (double)(counts[i] - means[i]);
        chi += difference * difference / (double)means[i];
    }
    assert_close(chi / (N * 256), 1, 0.05);
    simulate_destroy(noisy);
    simulate_destroy(exact);
    destroy_bench(&b);
}

/* Nearly: where a mean differs in the sixth digit, a random number lies in between now and then. */
static void counts_through_nuffts_are_those_of_the_direct_sum(void **state)
{
    (void)state;
    enum { N = 200 };
    bench b = make_bench("2LYZ.pdb", 0);
    device *cpu;
    scatter *fast;
    const scatter_settings scattering = {4600, true, false};
    const simulate_settings settings = {.seed = 3, .photons_per_image = 1000, .noise = true};
    static float direct[N * 256], nufft[N * 256];
    assert_ok(device_create_cpu(1, &cpu));
    assert_ok(scatter_create_nufft(cpu, b.mol->atoms, b.mol->n_atoms, b.det->s, b.det->n_pixels,
                                   &scattering, &fast));
    simulate *one = make_simulation(&b, &settings), *other;
    assert_ok(simulate_create(b.det, fast, &settings, &other));
    assert_ok(simulate_images(one, 0, N, direct));
    assert_ok(simulate_images(other, 0, N, nufft));
    int n_different = 0;
    for (int i = 0; i < N * 256; i++)
        n_different += !(direct[i] == nufft[i]);
    print_message("%d of %d counts differ\n", n_different, N * 256);
    assert_true(n_different <= 10);
    assert_close(simulate_mean_photons_used(other), simulate_mean_photons_used(one), 1e-3);
    simulate_destroy(one);
    simulate_destroy(other);
    scatter_destroy(fast);
    device_destroy(cpu);
    destroy_bench(&b);
}

static void fluences_are_even_and_orientations_uniform(void **state)
{
    (void)state;
    enum { N = 20000 };
    bench b = make_bench("2LYZ.pdb", 0);
    const simulate_settings settings = {.seed = 2, .photons_per_image = 1, .fluence_jitter = 0.4};
    simulate *sim = make_simulation(&b, &settings);
    double sum = 0, squares = 0, traces[3] = {0};
    for (int i = 0; i < N; i++) {
        double q[4], r[9], phi = simulate_fluence(sim, i);
        assert_true(phi >= 0.6 && phi < 1.4);
        sum += phi;
        squares += (phi - 1) * (phi - 1);
        simulate_orientation(sim, i, q);
        rotation_matrix(q, r);
        for (int d = 0; d < 3; d++)
            traces[d] += r[4 * d];
    }
    assert_close(sum / N, 1, 5 * 0.4 / sqrt(3.0 * N));
    assert_close(squares / N, 0.16 / 3, 0.002);
    for (int d = 0; d < 3; d++) /* elements of uniform rotations have mean 0, variance 1/3 */
        assert_close(traces[d] / N, 0, 5 / sqrt(3.0 * N));
    simulate_destroy(sim);
    destroy_bench(&b);
}

static void refuses_absurd_fluxes(void **state)
{
    (void)state;
    bench b = make_bench("2LYZ.pdb", 0);
    const double fluxes[] = {1e50, INFINITY};
    float image[4];
    for (int i = 0; i < 2; i++) {
        const simulate_settings settings = {.flux = fluxes[i]};
        simulate *sim;
        assert_ok(simulate_create(b.det, b.sc, &settings, &sim));
        assert_true(simulate_brightest_photons(sim) > SIMULATE_MOST_PHOTONS);
        assert_fails(simulate_images(sim, 0, 1, image), STATUS_INVALID, "too many");
        simulate_destroy(sim);
    }
    destroy_bench(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(corner_pixel_is_at_seven_angstrom),
        cmocka_unit_test(every_pixel_lies_on_the_ewald_sphere),
        cmocka_unit_test(solid_angles_are_those_of_a_plane),
        cmocka_unit_test(polarization_follows_the_field),
        cmocka_unit_test(beam_stop_covers_the_middle),
        cmocka_unit_test(refuses_detectors_that_make_no_sense),
        cmocka_unit_test(flux_is_scaled_to_the_photons_wanted),
        cmocka_unit_test(mean_photons_agree_with_debye),
        cmocka_unit_test(guinier_estimate_is_near),
        cmocka_unit_test(stopped_pixels_are_dark_and_others_unchanged),
        cmocka_unit_test(images_do_not_depend_on_their_neighbours),
        cmocka_unit_test(noise_is_poisson_about_the_expectation),
        cmocka_unit_test(counts_through_nuffts_are_those_of_the_direct_sum),
        cmocka_unit_test(fluences_are_even_and_orientations_uniform),
        cmocka_unit_test(refuses_absurd_fluxes),
    };
    return case_run(tests);
}
