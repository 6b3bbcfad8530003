/* The direct sum against libm and complex arithmetic, and what symmetry demands of it. */
#include <complex.h>
#include <math.h>
#include <omp.h>
#include <xraylib.h>

#include "mtip/form_factor.h"
#include "mtip/phase_sum.h"
#include "mtip/random.h"
#include "mtip/rotation.h"
#include "sim_case.h"

enum { N_ATOMS = 300, N_PIXELS = 40, N_ROTATIONS = 70 };

static const double TURN = 6.283185307179586;
static const scatter_settings plain = {.photon_energy = 4600};

typedef struct scene {
    atom atoms[N_ATOMS];
    double s[3 * N_PIXELS];
    double rotations[4 * N_ROTATIONS];
} scene;

static scene make_scene(void)
{
    static const int elements[] = {1, 6, 7, 8, 16, 26};
    scene sc;
    random_stream stream;
    random_start(&stream, 42, RANDOM_FLUENCE, 0, 0);
    for (int j = 0; j < N_ATOMS; j++) {
        atom *a = &sc.atoms[j];
        for (int d = 0; d < 3; d++)
            a->position[d] = 60 * random_uniform(&stream) - 30;
        a->occupancy = random_uniform(&stream);
        a->b_factor = 40 * random_uniform(&stream);
        a->element = elements[random_bits(&stream) % 6];
    }
    for (int i = 0; i < 3 * N_PIXELS; i++)
        sc.s[i] = 0.3 * random_uniform(&stream) - 0.15;
    for (int i = 0; i < N_ROTATIONS; i++) {
        double u[3] = {random_uniform(&stream), random_uniform(&stream), random_uniform(&stream)};
        rotation_uniform(u, sc.rotations + 4 * i);
    }
    return sc;
}

static void intensities_of(const scene *sc, const scatter_settings *settings, int count,
                           double *intensities)
{
    scatter *scatterer;
    assert_ok(scatter_create_direct(sc->atoms, N_ATOMS, sc->s, N_PIXELS, settings, &scatterer));
    assert_ok(scatter_intensities(scatterer, sc->rotations, count, intensities));
    scatter_destroy(scatterer);
}

/* |sum_j occ_j f_j exp(-B s^2/4) exp(2 pi i s.R r_j)|^2, the atoms turned instead of the pixels;
   *total is sum_j |f_j| occ_j. */
static double plain_intensity(const scene *sc, const scatter_settings *set, const double *q,
                              const double *s, double *total)
{
    double r[9], length = sqrt(s[0] * s[0] + s[1] * s[1] + s[2] * s[2]), keV;
    double complex sum = 0;
    rotation_matrix(q, r);
    keV = set->photon_energy / 1000;
    *total = 0;
    for (int j = 0; j < N_ATOMS; j++) {
        const atom *a = &sc->atoms[j];
        double phase = 0;
        for (int d = 0; d < 3; d++)
            phase += s[d] * (r[3 * d] * a->position[0] + r[3 * d + 1] * a->position[1] +
                             r[3 * d + 2] * a->position[2]);
        double complex f = FF_Rayl(a->element, length / 2, NULL);
        if (set->dispersion) f += Fi(a->element, keV, NULL);
        if (set->absorption) f += I * fabs(Fii(a->element, keV, NULL));
        f *= a->occupancy * exp(-a->b_factor * length * length / 4);
        sum += f * cexp(I * TURN * phase);
        *total += cabs(f);
    }
    return creal(sum) * creal(sum) + cimag(sum) * cimag(sum);
}

static void check_against_plain_sum(const scatter_settings *settings)
{
    scene sc = make_scene();
    double intensities[3 * N_PIXELS], worst = 0;
    intensities_of(&sc, settings, 3, intensities);
    for (int i = 0; i < 3; i++)
        for (int p = 0; p < N_PIXELS; p++) {
            double total;
            double expected =
                plain_intensity(&sc, settings, sc.rotations + 4 * i, sc.s + 3 * p, &total);
            double error = fabs(sqrt(intensities[i * N_PIXELS + p]) - sqrt(expected)) / total;
            assert_close(error, 0, 1e-6);
            worst = fmax(worst, error);
        }
    print_message("largest error of |F| over sum |f|: %.1e\n", worst);
}

static void equals_the_plain_complex_sum(void **state)
{
    (void)state;
    check_against_plain_sum(&plain);
}

static void equals_it_with_anomalous_scattering(void **state)
{
    (void)state;
    const scatter_settings settings = {4600, true, true};
    check_against_plain_sum(&settings);
}

static void sine_and_cosine_agree_with_libm(void **state)
{
    (void)state;
    random_stream stream;
    random_start(&stream, 8, RANDOM_FLUENCE, 0, 0);
    double worst = 0;
    for (int i = 0; i < 1000000; i++) {
        double turns = 400 * random_uniform(&stream) - 200, whole = rint(turns);
        float sine, cosine;
        phase_sum_sincos(turns, &sine, &cosine);
        worst = fmax(worst, fabs((double)sine - sin(TURN * (turns - whole))));
        worst = fmax(worst, fabs((double)cosine - cos(TURN * (turns - whole))));
    }
    print_message("largest error of a sine or cosine: %.1e\n", worst);
    assert_close(worst, 0, 1e-6);
}

/* They leave the tables by what these are off a smooth curve, at any resolution. */
static void smooth_form_factors_follow_the_tables(void **state)
{
    (void)state;
    static const int elements[] = {1, 6, 7, 8, 15, 16, 26, 79};
    static const double limits[] = {0.01, 0.1, 0.5, 1};
    for (int i = 0; i < 32; i++) {
        const int element = elements[i % 8];
        const double s_cut = limits[i / 8];
        form_factor smooth;
        assert_ok(form_factor_fit(element, &plain, s_cut, &smooth));
        for (int k = 0; k <= 100; k++) {
            double s = s_cut * k / 100, table = FF_Rayl(element, s / 2, NULL);
            assert_close(form_factor_at(&smooth, s), table, 2e-3 * table);
        }
    }
}

static void forward_scattering_counts_the_electrons(void **state)
{
    (void)state;
    scene sc = make_scene();
    scatter *scatterer;
    const double centre[3] = {0};
    double intensity;
    assert_ok(scatter_create_direct(sc.atoms, N_ATOMS, centre, 1, &plain, &scatterer));
    assert_ok(scatter_intensities(scatterer, sc.rotations, 1, &intensity));
    double n_electrons = scatter_measure(sc.atoms, N_ATOMS).n_electrons;
    assert_close(sqrt(intensity) / n_electrons, 1, 1e-6);
    scatter_destroy(scatterer);
}

static void moving_the_particle_changes_nothing(void **state)
{
    (void)state;
    scene sc = make_scene();
    double before[N_PIXELS], after[N_PIXELS];
    intensities_of(&sc, &plain, 1, before);
    for (int j = 0; j < N_ATOMS; j++) {
        sc.atoms[j].position[0] += 1234.5;
        sc.atoms[j].position[1] -= 77.7;
        sc.atoms[j].position[2] += 0.123;
    }
    intensities_of(&sc, &plain, 1, after);
    for (int p = 0; p < N_PIXELS; p++)
        assert_close(sqrt(after[p]), sqrt(before[p]), 1e-6 * N_ATOMS * 8);
}

static void turning_particle_and_pixels_together_changes_nothing(void **state)
{
    (void)state;
    scene sc = make_scene(), turned = sc;
    double before[N_PIXELS], after[N_PIXELS], r[9];
    intensities_of(&sc, &plain, 1, before);
    rotation_matrix(sc.rotations + 4, r);
    for (int p = 0; p < N_PIXELS; p++)
        for (int d = 0; d < 3; d++)
            turned.s[3 * p + d] = r[3 * d] * sc.s[3 * p] + r[3 * d + 1] * sc.s[3 * p + 1] +
                                  r[3 * d + 2] * sc.s[3 * p + 2];
    rotation_multiply(sc.rotations + 4, sc.rotations, turned.rotations);
    intensities_of(&turned, &plain, 1, after);
    for (int p = 0; p < N_PIXELS; p++)
        assert_close(sqrt(after[p]), sqrt(before[p]), 1e-6 * N_ATOMS * 8);
}

static void friedel_mates_are_equal_without_absorption_only(void **state)
{
    (void)state;
    scene sc = make_scene(), mate = sc;
    const scatter_settings absorbing = {4600, true, true};
    double one[N_PIXELS], other[N_PIXELS], largest = 0;
    for (int i = 0; i < 3 * N_PIXELS; i++)
        mate.s[i] = -sc.s[i];
    intensities_of(&sc, &plain, 1, one);
    intensities_of(&mate, &plain, 1, other);
    for (int p = 0; p < N_PIXELS; p++)
        assert_close(sqrt(one[p]), sqrt(other[p]), 1e-6 * N_ATOMS * 8);
    intensities_of(&sc, &absorbing, 1, one);
    intensities_of(&mate, &absorbing, 1, other);
    for (int p = 0; p < N_PIXELS; p++)
        largest = fmax(largest, fabs(one[p] - other[p]) / one[p]);
    assert_true(largest > 0.01);
}

/* Bits, not tolerances: the value of an image must not depend on what is computed beside it. */
static void batches_and_threads_change_no_bit(void **state)
{
    (void)state;
    scene sc = make_scene();
    double all[N_ROTATIONS * N_PIXELS], one[N_PIXELS];
    scatter *scatterer;
    assert_ok(scatter_create_direct(sc.atoms, N_ATOMS, sc.s, N_PIXELS, &plain, &scatterer));
    omp_set_num_threads(2);
    assert_ok(scatter_intensities(scatterer, sc.rotations, N_ROTATIONS, all));
    omp_set_num_threads(1);
    for (int i = 0; i < N_ROTATIONS; i++) {
        assert_ok(scatter_intensities(scatterer, sc.rotations + 4 * i, 1, one));
        assert_memory_equal(one, all + i * N_PIXELS, sizeof one);
    }
    scatter_destroy(scatterer);
}

static void measures_a_dumbbell(void **state)
{
    (void)state;
    const atom atoms[2] = {{{10, 0, 0}, 1, 0, 6}, {{16, 8, 0}, 0.5, 0, 12}};
    scatter_size size = scatter_measure(atoms, 2);
    assert_close(size.n_electrons, 12, 0);
    assert_close(size.centre[0], 13, 1e-12);
    assert_close(size.centre[1], 4, 1e-12);
    assert_close(size.gyration, 5, 1e-12);
    assert_close(size.radius, 5, 1e-12);
    assert_true(size.diameter <= 10 + 1e-12 && size.diameter > 9.95);
}

static void refuses_elements_without_form_factors(void **state)
{
    (void)state;
    const double s[3] = {0.1, 0, 0};
    atom bad = {{0, 0, 0}, 1, 0, 0};
    scatter *scatterer;
    assert_fails(scatter_create_direct(&bad, 1, s, 1, &plain, &scatterer), STATUS_INPUT,
                 "atomic number");
    bad.element = 119;
    assert_fails(scatter_create_direct(&bad, 1, s, 1, &plain, &scatterer), STATUS_INPUT,
                 "no form factor");
    assert_null(scatterer);
    scatter_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sine_and_cosine_agree_with_libm),
        cmocka_unit_test(equals_the_plain_complex_sum),
        cmocka_unit_test(equals_it_with_anomalous_scattering),
        cmocka_unit_test(smooth_form_factors_follow_the_tables),
        cmocka_unit_test(forward_scattering_counts_the_electrons),
        cmocka_unit_test(moving_the_particle_changes_nothing),
        cmocka_unit_test(turning_particle_and_pixels_together_changes_nothing),
        cmocka_unit_test(friedel_mates_are_equal_without_absorption_only),
        cmocka_unit_test(batches_and_threads_change_no_bit),
        cmocka_unit_test(measures_a_dumbbell),
        cmocka_unit_test(refuses_elements_without_form_factors),
    };
    return case_run(tests);
}
