/* The sum over atoms through NUFFTs, on the CPU or with the argument `cuda` on a GPU: against the
   direct sum, against libm, and what must not change a value.  Without a GPU `cuda` is skipped
   visibly (77), which MTIP_REQUIRE_GPU=1 forbids. */
#include <complex.h>
#include <math.h>
#include <xraylib.h>

#include "molecule.h"
#include "mtip/random.h"
#include "mtip/rotation.h"
#include "sim_case.h"

static const double TURN = 6.283185307179586;
static device *dev, *cpu;

/* sqrt(sum (x - y)^2 / sum y^2) */
static double distance(int64_t n, const double *x, const double *y)
{
    double difference = 0, norm = 0;
    for (int64_t i = 0; i < n; i++) {
        difference += (x[i] - y[i]) * (x[i] - y[i]);
        norm += y[i] * y[i];
    }
    return sqrt(difference / norm);
}

/* ---- a protein, several elements, B factors from the file ---- */

enum { SIDE = 32, N_PIXELS = SIDE * SIDE, N_IMAGES = 10 };

typedef struct protein {
    molecule *mol;
    detector *det; /* 7 Angstrom at the corner */
    double rotations[4 * N_IMAGES], direct[N_IMAGES * N_PIXELS], fast[N_IMAGES * N_PIXELS];
} protein;

static protein *make_protein(void)
{
    protein *p = malloc(sizeof *p);
    const molecule_settings from_file = {.b_factor = 0};
    const detector_settings set = {SIDE, SIDE, 1e-3, 53.71e-3, 2.6953, POLARIZATION_NONE, 0};
    assert_non_null(p);
    assert_ok(molecule_read(case_data("2cex_a.pdb"), &from_file, &p->mol));
    assert_ok(detector_create(&set, &p->det));
    rotation_cover(N_IMAGES, 0, N_IMAGES, NULL, p->rotations);
    return p;
}

static void destroy_protein(protein *p)
{
    molecule_destroy(p->mol);
    detector_destroy(p->det);
    free(p);
}

static void sum_on(const device *where, const protein *p, const scatter_settings *settings,
                   int count, double *intensities)
{
    scatter *sc;
    assert_ok(scatter_create_nufft(where, p->mol->atoms, p->mol->n_atoms, p->det->s, N_PIXELS,
                                   settings, &sc));
    assert_ok(scatter_intensities(sc, p->rotations, count, intensities));
    scatter_destroy(sc);
}

static void check_against_direct(const scatter_settings *settings)
{
    protein *p = make_protein();
    scatter *sc;
    assert_ok(
        scatter_create_direct(p->mol->atoms, p->mol->n_atoms, p->det->s, N_PIXELS, settings, &sc));
    assert_ok(scatter_intensities(sc, p->rotations, N_IMAGES, p->direct));
    sum_on(dev, p, settings, N_IMAGES, p->fast);
    double error = distance(N_IMAGES * N_PIXELS, p->fast, p->direct);
    print_message("relative l2 difference from the direct sum: %.1e\n", error);
    assert_close(error, 0, 1e-5);
    for (int i = 0; i < N_IMAGES * N_PIXELS; i++) /* weak pixels too */
        assert_close(sqrt(p->fast[i]), sqrt(p->direct[i]), 1e-3 * sqrt(p->direct[i]) + 0.5);
    scatter_destroy(sc);
    destroy_protein(p);
}

static void equals_the_direct_sum(void **state)
{
    (void)state;
    const scatter_settings settings = {.photon_energy = 4600, .dispersion = true};
    check_against_direct(&settings);
}

static void equals_it_with_absorption(void **state)
{
    (void)state;
    const scatter_settings settings = {4600, true, true};
    check_against_direct(&settings);
}

static void is_the_same_on_the_cpu(void **state)
{
    (void)state;
    protein *p = make_protein();
    const scatter_settings settings = {4600, true, true};
    sum_on(cpu, p, &settings, N_IMAGES, p->direct);
    sum_on(dev, p, &settings, N_IMAGES, p->fast);
    assert_close(distance(N_IMAGES * N_PIXELS, p->fast, p->direct), 0, 1e-8);
    destroy_protein(p);
}

/* Bits, not tolerances. */
static void batches_and_threads_change_no_bit(void **state)
{
    (void)state;
    device *two;
    protein *p = make_protein();
    scatter *sc;
    const scatter_settings settings = {.photon_energy = 4600};
    assert_ok(device_create_cpu(2, &two));
    sum_on(two, p, &settings, N_IMAGES, p->direct);
    assert_ok(scatter_create_nufft(cpu, p->mol->atoms, p->mol->n_atoms, p->det->s, N_PIXELS,
                                   &settings, &sc));
    for (int i = 0; i < N_IMAGES; i++) {
        assert_ok(scatter_intensities(sc, p->rotations + 4 * i, 1, p->fast));
        assert_memory_equal(p->fast, p->direct + i * N_PIXELS, N_PIXELS * sizeof(double));
    }
    scatter_destroy(sc);
    device_destroy(two);
    destroy_protein(p);
}

/* ---- one element, for which smoothing the form factor changes nothing ---- */

enum { N_ATOMS = 200, N_POINTS = 300 };

typedef struct scene {
    atom atoms[N_ATOMS];
    double s[3 * N_POINTS];
} scene;

/* Carbon in a box that is 45 x 30 x 15 Angstrom, B from 0 to 80 A^2, |s| up to s_max. */
static scene make_scene(double s_max)
{
    scene sc;
    random_stream stream;
    random_start(&stream, 7, RANDOM_FLUENCE, 0, 0);
    for (int j = 0; j < N_ATOMS; j++) {
        atom *a = &sc.atoms[j];
        for (int d = 0; d < 3; d++)
            a->position[d] = 100 + (45 - 15 * d) * random_uniform(&stream);
        a->occupancy = random_uniform(&stream);
        a->b_factor = 80 * random_uniform(&stream);
        a->element = 6;
    }
    for (int p = 0; p < N_POINTS; p++) {
        double q[4], r[9], length = s_max * sqrt((p + 1.0) / N_POINTS);
        const double u[3] = {random_uniform(&stream), random_uniform(&stream),
                             random_uniform(&stream)};
        rotation_uniform(u, q);
        rotation_matrix(q, r);
        for (int d = 0; d < 3; d++)
            sc.s[3 * p + d] = length * r[d];
    }
    return sc;
}

static double plain_intensity(const scene *sc, const double *s)
{
    double length = sqrt(s[0] * s[0] + s[1] * s[1] + s[2] * s[2]);
    double complex sum = 0;
    for (int j = 0; j < N_ATOMS; j++) {
        const atom *a = &sc->atoms[j];
        double turns = s[0] * a->position[0] + s[1] * a->position[1] + s[2] * a->position[2];
        sum += a->occupancy * exp(-a->b_factor * length * length / 4) *
               cexp(I * TURN * (turns - rint(turns)));
    }
    sum *= FF_Rayl(6, length / 2, NULL);
    return creal(sum) * creal(sum) + cimag(sum) * cimag(sum);
}

static void equals_the_plain_sum_at_any_resolution(void **state)
{
    (void)state;
    static const double limits[] = {0.01, 0.05, 0.2, 0.5};
    const double still[4] = {1, 0, 0, 0};
    const scatter_settings settings = {.photon_energy = 4600};
    for (int i = 0; i < 4; i++) {
        scene sc = make_scene(limits[i]);
        double fast[N_POINTS], plain[N_POINTS];
        scatter *summed;
        for (int p = 0; p < N_POINTS; p++)
            plain[p] = plain_intensity(&sc, sc.s + 3 * p);
        assert_ok(scatter_create_nufft(dev, sc.atoms, N_ATOMS, sc.s, N_POINTS, &settings, &summed));
        assert_ok(scatter_intensities(summed, still, 1, fast));
        double error = distance(N_POINTS, fast, plain);
        print_message("up to %.2f 1/A: relative l2 difference %.1e\n", limits[i], error);
        assert_close(error, 0, 1e-6);
        scatter_destroy(summed);
    }
}

static void an_atom_alone_scatters_its_form_factor(void **state)
{
    (void)state;
    const atom iron = {{12, -7, 1e4}, 0.5, 15, 26};
    const double s[9] = {0, 0, 0, 0.1, 0, 0, 0.1, -0.2, 0.05}, still[4] = {1, 0, 0, 0};
    const scatter_settings settings = {.photon_energy = 4600};
    double intensities[3];
    scatter *sc;
    assert_ok(scatter_create_nufft(dev, &iron, 1, s, 3, &settings, &sc));
    assert_ok(scatter_intensities(sc, still, 1, intensities));
    for (int p = 0; p < 3; p++) {
        double square =
            s[3 * p] * s[3 * p] + s[3 * p + 1] * s[3 * p + 1] + s[3 * p + 2] * s[3 * p + 2];
        double f = 0.5 * FF_Rayl(26, sqrt(square) / 2, NULL) * exp(-15 * square / 4);
        assert_close(sqrt(intensities[p]), f, 1e-6 * f);
    }
    scatter_destroy(sc);
}

static void refuses_b_factors_too_far_apart(void **state)
{
    (void)state;
    scene sc = make_scene(0.5);
    const scatter_settings settings = {.photon_energy = 4600};
    scatter *summed;
    sc.atoms[3].b_factor = 3000;
    assert_fails(scatter_create_nufft(dev, sc.atoms, N_ATOMS, sc.s, N_POINTS, &settings, &summed),
                 STATUS_INPUT, "B factors from");
    assert_null(summed);
}

static int run_all(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_the_direct_sum),
        cmocka_unit_test(equals_it_with_absorption),
        cmocka_unit_test(is_the_same_on_the_cpu),
        cmocka_unit_test(batches_and_threads_change_no_bit),
        cmocka_unit_test(equals_the_plain_sum_at_any_resolution),
        cmocka_unit_test(an_atom_alone_scatters_its_form_factor),
        cmocka_unit_test(refuses_b_factors_too_far_apart),
    };
    return case_run(tests);
}

int main(int argc, char **argv)
{
    const bool on_gpu = argc > 1 && strcmp(argv[1], "cuda") == 0;
    const char *require = getenv("MTIP_REQUIRE_GPU");
    status made = on_gpu ? device_create_cuda(-1, &dev) : device_create_cpu(1, &dev);
    if (made != STATUS_OK) {
        fprintf(stderr, "skipped: %s\n", status_message());
        return require && strcmp(require, "1") == 0 ? 1 : 77;
    }
    if (device_create_cpu(1, &cpu) != STATUS_OK) return 1;
    int result = run_all();
    device_destroy(dev);
    device_destroy(cpu);
    return result;
}
