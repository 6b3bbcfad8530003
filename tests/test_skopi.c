/* Predictions against images made by another program (skopi): 40 images of 2CEX chain A with Poisson
   noise and their orientations. An independent calculation gives chi^2 = 0.997 per pixel, with the
   inverse of the rotations 1.38. */
#include <math.h>
#include <stdlib.h>

#include "dataset.h"
#include "molecule.h"
#include "mtip/rotation.h"
#include "sim_case.h"

/* chi^2 per pixel of images against intensities, with one common scale, over pixels with a
   predicted mean of at least 0.1 photons. */
static double chi_square(const dataset *ds, const float *images, double *predicted)
{
    int64_t n = ds->n_images * ds->n_pixels;
    double photons = 0, sum = 0, chi = 0;
    int64_t n_used = 0;
    for (int64_t i = 0; i < n; i++) {
        predicted[i] *= ds->correction[i % ds->n_pixels];
        photons += (double)images[i];
        sum += predicted[i];
    }
    for (int64_t i = 0; i < n; i++) {
        double mean = predicted[i] * photons / sum, difference = (double)images[i] - mean;
        if (mean < 0.1) continue;
        chi += difference * difference / mean;
        n_used++;
    }
    assert_true(n_used > 10000);
    return chi / (double)n_used;
}

static void predicts_the_images_of_another_program(void **state)
{
    (void)state;
    dataset *ds;
    molecule *mol;
    scatter *sc;
    const molecule_settings from_file = {.b_factor = 0};
    assert_ok(
        dataset_open(&(dataset_settings){.path = case_shared("spinifel/skopi_2cex_a_40.h5")}, &ds));
    assert_int_equal(ds->n_images, 40);
    assert_int_equal(ds->n_pixels, 128 * 128);
    assert_close(ds->det->wavelength, 2.6953086, 1e-5);
    assert_ok(molecule_read(case_data("2cex_a.pdb"), &from_file, &mol));
    const scatter_settings settings = {.photon_energy = PHYSICS_HC / ds->det->wavelength};
    assert_ok(
        scatter_create_direct(mol->atoms, mol->n_atoms, ds->det->s, ds->n_pixels, &settings, &sc));
    size_t n = (size_t)(ds->n_images * ds->n_pixels);
    float *images = malloc(n * sizeof *images);
    double *predicted = malloc(n * sizeof *predicted), quaternions[4 * 40];
    assert_ok(dataset_read(ds, 0, ds->n_images, images));
    double total = 0;
    for (size_t i = 0; i < n; i++)
        total += (double)images[i];
    assert_close(total / 40, 1191.775, 1e-9);
    assert_ok(dataset_read_truth(ds, 0, ds->n_images, quaternions, NULL));
    assert_ok(scatter_intensities(sc, quaternions, ds->n_images, predicted));
    double right = chi_square(ds, images, predicted);
    for (int i = 0; i < 40; i++)
        rotation_inverse(quaternions + 4 * i, quaternions + 4 * i);
    assert_ok(scatter_intensities(sc, quaternions, ds->n_images, predicted));
    double inverted = chi_square(ds, images, predicted);
    print_message("chi^2 per pixel %.4f, with inverted rotations %.4f\n", right, inverted);
    assert_close(right, 1, 0.03);
    assert_true(inverted > 1.2);
    free(images);
    free(predicted);
    scatter_destroy(sc);
    molecule_destroy(mol);
    dataset_close(ds);
}

/* Its detector: 0.1 m wide, 0.2 m away, 128 x 128 pixels. */
static detector *its_detector(double wavelength)
{
    const detector_settings settings = {.n_rows = 128,
                                        .n_cols = 128,
                                        .pixel_size = 0.1 / 128,
                                        .distance = 0.2,
                                        .wavelength = wavelength,
                                        .polarized = POLARIZATION_HORIZONTAL};
    detector *det;
    assert_ok(detector_create(&settings, &det));
    return det;
}

static void agrees_with_its_geometry(void **state)
{
    (void)state;
    dataset *ds;
    assert_ok(
        dataset_open(&(dataset_settings){.path = case_shared("spinifel/skopi_2cex_a_40.h5")}, &ds));
    detector *det = its_detector(ds->det->wavelength);
    double sum = 0;
    for (int64_t p = 0; p < det->n_pixels; p++)
        sum += det->solid_angle[p] * det->polarization[p];
    for (int64_t p = 0; p < det->n_pixels; p++) {
        double gain = det->solid_angle[p] * det->polarization[p] * (double)det->n_pixels / sum;
        for (int d = 0; d < 3; d++)
            assert_close(det->s[3 * p + d], ds->det->s[3 * p + d], 1e-9);
        assert_close(gain, ds->correction[p], 1e-6);
    }
    detector_destroy(det);
    dataset_close(ds);
}

/* Its beam: 1e14 photons in a disc of 0.5 um radius; its 40 images hold 1191.8 photons on average,
   with a statistical error of 5, and its form factors are other fits than ours. */
static void agrees_with_its_number_of_photons(void **state)
{
    (void)state;
    molecule *mol;
    scatter *sc;
    simulate *sim;
    const molecule_settings from_file = {.b_factor = 0};
    const simulate_settings beam = {.flux = 1e14 / (acos(-1) * 0.25e-12)};
    case_shared("spinifel/skopi_2cex_a_40.h5");
    detector *det = its_detector(2.6953086);
    assert_ok(molecule_read(case_data("2cex_a.pdb"), &from_file, &mol));
    const scatter_settings settings = {.photon_energy = 4600};
    assert_ok(
        scatter_create_direct(mol->atoms, mol->n_atoms, det->s, det->n_pixels, &settings, &sc));
    assert_ok(simulate_create(det, sc, &beam, &sim));
    print_message("%.1f photons per image\n", simulate_mean_photons(sim));
    assert_close(simulate_mean_photons(sim) / 1191.775, 1, 0.03);
    simulate_destroy(sim);
    scatter_destroy(sc);
    molecule_destroy(mol);
    detector_destroy(det);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(predicts_the_images_of_another_program),
        cmocka_unit_test(agrees_with_its_geometry),
        cmocka_unit_test(agrees_with_its_number_of_photons),
    };
    return case_run(tests);
}
