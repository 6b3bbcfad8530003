/* Image files and geometries of other programs, against the numbers their makers give and against
   each other. */
#include <math.h>

#include "core/log.h"
#include "format_case.h"

static const double prd1_wavelength = 6.2;

static dataset_settings at(const char *path, const char *geometry)
{
    static char paths[8][4096];
    static int next;
    char *copy = paths[next++ % 8];
    snprintf(copy, sizeof paths[0], "%s", geometry);
    return (dataset_settings){.path = path,
                              .geometry = {.file = copy, .wavelength = prd1_wavelength}};
}

static dataset *open_shared(const char *name, const char *geometry)
{
    dataset *ds = NULL;
    const dataset_settings settings = at(case_shared(name), geometry);
    assert_ok(dataset_open(&settings, &ds));
    return ds;
}

/* case_shared for paths that are used together. */
static const char *shared_copy(const char *name)
{
    static char paths[4][4096];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s", case_shared(name));
    return path;
}

static double mean_photons(const dataset *ds, const float *images)
{
    double sum = 0;
    for (int64_t i = 0; i < ds->n_images * ds->n_pixels; i++)
        sum += (double)images[i];
    return sum / (double)ds->n_images;
}

/* ---- Dragonfly ---- */

static void dragonfly_photons_have_the_numbers_their_makers_give(void **state)
{
    (void)state;
    const char *pixels = shared_copy("dragonfly/prd1/det_sim.h5");
    dataset *ds = open_shared("dragonfly/prd1/photons.emc", pixels);
    assert_string_equal(dataset_format_name(ds), "emc");
    assert_int_equal(ds->n_images, 600);
    assert_int_equal(ds->n_pixels, 10201);
    float *images = all_images(ds);
    assert_close(mean_photons(ds, images), 664.2617, 5e-5);
    double ones = 0, multi = 0, most = 0;
    for (int64_t i = 0; i < 600 * 10201; i++) {
        ones += images[i] == 1;
        multi += images[i] > 1;
        most = fmax(most, (double)images[i]);
    }
    assert_close(ones / 600, 317.83, 5e-3);
    assert_close(multi / 600, 132.72, 5e-3);
    assert_close(most, 10, 0);
    int n_used = 0;
    for (int p = 0; p < 10201; p++)
        n_used += ds->det->mask[p];
    assert_int_equal(n_used, 7652 + 2356);
    free(images);
    dataset_close(ds);
    ds = open_shared("dragonfly/prd1/photons.h5", pixels);
    assert_string_equal(dataset_format_name(ds), "dragonfly");
    assert_int_equal(ds->n_images, 300);
    free(all_images(ds));
    dataset_close(ds);
    ds = open_shared("dragonfly/prd1_mini/photons.emc",
                     shared_copy("dragonfly/prd1_mini/det_sim.h5"));
    assert_int_equal(ds->n_images, 1000);
    assert_int_equal(ds->n_pixels, 41 * 41);
    images = all_images(ds);
    assert_close(mean_photons(ds, images), 1518.9, 0.05);
    free(images);
    dataset_close(ds);
}

static void lists_of_photons_are_the_images(void **state)
{
    (void)state;
    static const char *const names[] = {"dragonfly/prd1/photons.emc", "dragonfly/prd1/photons.h5"};
    const char *pixels = shared_copy("dragonfly/prd1/det_sim.h5");
    for (int k = 0; k < 2; k++) {
        dataset *ds = open_shared(names[k], pixels);
        photon_lists lists;
        float *images = all_images(ds);
        assert_true(dataset_is_sparse(ds));
        assert_ok(dataset_read_photons(ds, 17, 100, &lists));
        for (int64_t i = 0; i < 100; i++) {
            float *image = images + (17 + i) * ds->n_pixels;
            for (int64_t j = lists.start[i]; j < lists.start[i + 1]; j++) {
                assert_close((double)image[lists.pixel[j]], lists.counts[j], 0);
                image[lists.pixel[j]] = 0;
            }
            for (int64_t p = 0; p < ds->n_pixels; p++)
                assert_close((double)image[p], 0, 0);
        }
        photon_lists_free(&lists);
        free(images);
        dataset_close(ds);
    }
}

static void detector_files_of_both_kinds_agree(void **state)
{
    (void)state;
    const geometry_settings binary = {.file = shared_copy("dragonfly/prd1/det_sim.h5"),
                                      .wavelength = prd1_wavelength};
    detector *a, *b;
    assert_ok(geometry_read_alone(&binary, &a));
    const geometry_settings text = {.file = case_shared("dragonfly/prd1/det_sim.dat"),
                                    .wavelength = prd1_wavelength};
    assert_ok(geometry_read_alone(&text, &b));
    assert_int_equal(a->n_pixels, b->n_pixels);
    double least = INFINITY, most = 0;
    for (int64_t p = 0; p < a->n_pixels; p++) {
        for (int d = 0; d < 3; d++)
            assert_close(a->s[3 * p + d], b->s[3 * p + d], 1e-15);
        assert_close(a->solid_angle[p] / b->solid_angle[p], 1, 1e-14);
        assert_int_equal(a->mask[p], b->mask[p]);
        least = fmin(least, a->solid_angle[p]);
        most = fmax(most, a->solid_angle[p]);
    }
    assert_close(least * 1e6, 2.829764, 1e-6);
    assert_close(most * 1e6, 2.912711, 1e-6);
    detector_destroy(a);
    detector_destroy(b);
}

/* A flat detector by its numbers gives the places and the factors of Dragonfly's: 101 pixels of
   0.512 mm at 300 mm, whose order has x slowest. */
static void flat_numbers_give_the_detector_of_dragonfly(void **state)
{
    (void)state;
    dataset *a =
                open_shared("dragonfly/prd1/photons.emc", shared_copy("dragonfly/prd1/det_sim.h5")),
            *b;
    dataset_settings flat = at(case_shared("dragonfly/prd1/photons.emc"), "");
    flat.geometry.distance = 0.3;
    flat.geometry.pixel_size = 0.512e-3;
    assert_ok(dataset_open(&flat, &b));
    double ratio = b->det->polarization[0] * b->det->solid_angle[0] / a->det->solid_angle[0];
    for (int i = 0; i < 101; i++)
        for (int j = 0; j < 101; j++) {
            int p = 101 * i + j, q = 101 * j + i;
            for (int d = 0; d < 3; d++)
                assert_close(a->det->s[3 * p + d], b->det->s[3 * q + d], 1e-7);
            double factor = b->det->polarization[q] * b->det->solid_angle[q];
            assert_close(factor / a->det->solid_angle[p] / ratio, 1, 1e-6);
        }
    dataset_close(a);
    dataset_close(b);
}

/* ---- CXI ---- */

/* The stack has Dragonfly's images with rows for y.  Its axes, the default of CXI, run against x and
   y: its vectors are those of Dragonfly after half a turn about the beam. */
static void cxi_and_crystfel_give_the_vectors_of_dragonfly(void **state)
{
    (void)state;
    const char *geometries[2] = {"", shared_copy("cxi/derived_prd1.geom")};
    dataset *a =
        open_shared("dragonfly/prd1/photons.emc", shared_copy("dragonfly/prd1/det_sim.h5"));
    float *photons_a = all_images(a);
    double worst = 0, largest = 1 / a->det->wavelength;
    for (int k = 0; k < 2; k++) {
        dataset_settings settings = at(case_shared("cxi/derived_prd1_stack100.cxi"), geometries[k]);
        settings.geometry.wavelength = 0; /* of the files */
        dataset *b;
        assert_ok(dataset_open(&settings, &b));
        assert_string_equal(dataset_format_name(b), "cxi");
        assert_int_equal(b->n_images, 100);
        assert_close(b->det->wavelength, prd1_wavelength, 1e-5);
        float *photons_b = all_images(b);
        for (int64_t n = 0; n < 100; n++)
            for (int64_t i = 0; i < 101; i++)
                for (int64_t j = 0; j < 101; j++)
                    assert_true(photons_a[10201 * n + 101 * i + j] ==
                                photons_b[10201 * n + 101 * j + i]);
        for (int i = 0; i < 101; i++)
            for (int j = 0; j < 101; j++) {
                const double *s = a->det->s + 3 * (101 * i + j), *t = b->det->s + 3 * (101 * j + i);
                double apart = hypot(hypot(s[0] + t[0], s[1] + t[1]), s[2] - t[2]);
                worst = fmax(worst, apart / fmax(hypot(hypot(s[0], s[1]), s[2]), 1e-3 * largest));
            }
        int n_used = 0;
        for (int p = 0; p < 10201; p++)
            n_used += b->det->mask[p];
        assert_int_equal(n_used, 10201 - 193);
        free(photons_b);
        dataset_close(b);
    }
    print_message("vectors apart by %.2g of their length\n", worst);
    assert_close(worst, 0, 1e-4);
    free(photons_a);
    dataset_close(a);
}

static void cxi_without_a_place_for_its_pixels_says_what_is_missing(void **state)
{
    (void)state;
    dataset *ds;
    dataset_settings settings = {.path = case_shared("cxi/cxidb_minimal.cxi")};
    assert_fails(dataset_open(&settings, &ds), STATUS_CONFIG,
                 "no source_1/energy no detector_1/distance no detector_1/x_pixel_size");
    settings.anywhere = true;
    assert_ok(dataset_open(&settings, &ds));
    assert_int_equal(ds->n_images, 1);
    assert_int_equal(ds->n_pixels, 5000);
    assert_null(ds->det->s);
    float *image = all_images(ds);
    assert_close((double)image[0], -0.0052475, 5e-8);
    free(image);
    dataset_close(ds);
    settings = (dataset_settings){.path = case_shared("cxi/typical_raw.cxi")};
    assert_fails(dataset_open(&settings, &ds), STATUS_CONFIG, ": no detector_1/x_pixel_size");
    settings.geometry.pixel_size = 75e-6;
    assert_ok(dataset_open(&settings, &ds));
    assert_close(ds->det->wavelength, PHYSICS_HC / (2.8893e-16 / 1.602176634e-19), 1e-12);
    assert_close(ds->det->distance, 0.15, 1e-12);
    dataset_close(ds);
}

/* ---- CrystFEL ---- */

static detector *read_geometry(const char *path, double wavelength, double distance)
{
    detector *det;
    const geometry_settings set = {.file = path, .wavelength = wavelength, .distance = distance};
    assert_ok(geometry_read_alone(&set, &det));
    return det;
}

/* Corners, not centres: the first pixel's centre is half a pixel along both axes from the corner. */
static void corners_are_half_a_pixel_before_centres(void **state)
{
    (void)state;
    detector *det = read_geometry(
        text_file("a.geom", "wavelength = 1.5 A\nclen = 100 mm\nres = 1000\n"
                            "dim0 = %\ndim1 = ss\ndim2 = fs\n"
                            "p0/min_fs = 0\np0/max_fs = 3\np0/min_ss = 0\np0/max_ss = 1\n"
                            "p0/corner_x = -2\np0/corner_y = 5\np0/fs = x\np0/ss = -1.0y\n"
                            "coffset = 0.5\n" /* too late for p0 */
                            "p1/min_fs = 0\np1/max_fs = 3\np1/min_ss = 2\np1/max_ss = 3\n"
                            "p1/corner_x = 10\np1/corner_y = 0\np1/fs = +0.6x + 0.8y\n"
                            "p1/ss = -0.8x+0.6y\n"
                            "bad_a/min_fs = 1\nbad_a/max_fs = 2\nbad_a/min_ss = 1\n"
                            "bad_a/max_ss = 1\nbad_b/min_x = 9\nbad_b/max_x = 1e3\n"
                            "bad_b/min_y = 0\nbad_b/max_y = 1.2\nbad_b/panel = p1\n"),
        0, 0);
    assert_int_equal(det->shape[1], 4);
    assert_int_equal(det->shape[2], 4);
    assert_close(det->wavelength, 1.5, 1e-15);
    assert_centre(det, 0, -1.5e-3, 4.5e-3, 0.1);
    assert_centre(det, 4 + 3, 1.5e-3, 3.5e-3, 0.1);
    assert_centre(det, 8, 9.9e-3, 0.7e-3, 0.6);
    assert_centre(det, 12 + 1, (10 + 0.9 - 1.2) * 1e-3, (1.2 + 0.9) * 1e-3, 0.6);
    const uint8_t mask[16] = {1, 1, 1, 1, 1, 0, 0, 1, 0, 1, 1, 1, 1, 1, 1, 1};
    assert_memory_equal(det->mask, mask, 16);
    detector_destroy(det);
}

static void geometries_of_facilities_are_read(void **state)
{
    (void)state;
    detector *det = read_geometry(case_shared("geom/simple.geom"), 1, 0);
    assert_int_equal(det->n_pixels, 1024 * 1024);
    assert_centre(det, 512 * 1024, (-512 + 0.5) / 13333.3, (10 + 0.5) / 13333.3, 0.05);
    assert_centre(det, 1023, (511 + 0.5) / 13333.3, (-522 + 0.5) / 13333.3, 0.05);
    detector_destroy(det);
    det = read_geometry(case_shared("geom/pilatus.geom"), 0, 0.2);
    assert_int_equal(det->n_pixels, 2463 * 2527);
    assert_close(det->wavelength, PHYSICS_HC / 9800, 1e-12);
    assert_centre(det, 0, (-1272.37 + 0.5) / 5814, (-1243.8 + 0.5) / 5814, 0.2 - 0.00064);
    assert_int_equal(det->mask[490], 0);               /* bad_v1 */
    assert_int_equal(det->mask[200 * 2463 + 5], 0);    /* bad_h1 */
    assert_int_equal(det->mask[1240 * 2463 + 300], 0); /* bad_beamstop */
    assert_int_equal(det->mask[1240 * 2463 + 1400], 1);
    detector_destroy(det);
    det = read_geometry(case_shared("geom/cspad-cxiformat.geom"), 1.3, 0.08);
    int64_t n_used = 0;
    for (int64_t p = 0; p < det->n_pixels; p++)
        n_used += det->mask[p];
    assert_int_equal(n_used, 64 * 194 * 185);
    detector_destroy(det);
    det = read_geometry(case_shared("geom/cxix53120_jungfrau4M.geom"), 1.3, 0.2);
    assert_centre(det, 0, (101.693333 + 0.5) / 13333.333, (-495.386667 - 0.5) / 13333.333,
                  0.2 - 0.06);
    detector_destroy(det);
    const geometry_settings lacking = {.file = case_shared("geom/cspad-cxiformat.geom")};
    assert_fails(geometry_read_alone(&lacking, &det), STATUS_CONFIG,
                 "takes a number from /LCLS/photon_energy_eV in the file of images, which is not "
                 "HDF5 or not given; set geometry.photon_energy (eV)");
}

/* The JSON puts the centre of each first pixel where the .geom has its corner, and knows no distance;
   steps agree, and all places after half a step along both axes. */
static void crystfel_and_json_give_the_same_panels(void **state)
{
    (void)state;
    detector *geom = read_geometry(shared_copy("geom/pnccd_crystfel.geom"), 0, 0.3);
    detector *json = read_geometry(case_shared("geom/pnccd_geometry.json"), geom->wavelength, 0.3);
    assert_close(geom->wavelength, PHYSICS_HC / 1700, 1e-12);
    assert_int_equal(json->shape[0], 2);
    assert_int_equal(json->n_pixels, geom->n_pixels);
    for (int64_t k = 0; k < 2; k++)
        for (int64_t ss = 0; ss < 1024; ss++)
            for (int64_t fs = 0; fs < 512; fs++) {
                const double *a = geom->s + 3 * (ss * 1024 + k * 512 + fs);
                const double *b = json->s + 3 * ((k * 1024 + ss) * 512 + fs);
                const double wave = geom->wavelength;
                /* back to the plane at 0.3 m, in pixels */
                double za = 0.3 / (a[2] * wave + 1), zb = 0.3 / (b[2] * wave + 1);
                double dx = (a[0] * wave * za - b[0] * wave * zb) / 75e-6;
                double dy = (a[1] * wave * za - b[1] * wave * zb) / 75e-6;
                assert_close(dx, 0.5, 1e-3);
                assert_close(dy, -0.5, 1e-3);
            }
    detector_destroy(geom);
    detector_destroy(json);
}

static void wrong_geometries_are_named(void **state)
{
    (void)state;
    static const char head[] = "wavelength = 1 A\nclen = 0.1\nres = 1000\n";
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"p0/min_fs = 0\np0/max_fs = 1.5\n", "a.geom:5: '1.5' is no index"},
        {"p0/min_fs = 0\np0/mix_fs = 1\n", "a.geom:5: 'mix_fs' is not known"},
        {"p0/fs = 1.0q\n", "a.geom:4: '1.0q' is no vector"},
        {"p0/fs = x\np0/min_fs\n", "a.geom:5: 'p0/min_fs': expected name = value"},
        {"clen = 3 furlongs\n", "a.geom:4: '3 furlongs' has a unit"},
        {"p0/min_fs = 0\np0/max_fs = 1\np0/min_ss = 0\np0/max_ss = 1\n", "no corner_x"},
        {"p0/min_fs = 0\np0/max_fs = 16777216\np0/min_ss = 0\np0/max_ss = 16777216\n"
         "p0/corner_x = 0\np0/corner_y = 0\n",
         "16777217"},
        {"p0/min_fs = 2\np0/max_fs = 1\np0/min_ss = 0\np0/max_ss = 1\n"
         "p0/corner_x = 0\np0/corner_y = 0\n",
         "expected ranges from low to high"},
        {"p0/min_fs = 0\np0/max_fs = 1\np0/min_ss = 0\np0/max_ss = 1\n"
         "p0/corner_x = 0\np0/corner_y = 0\np0/dim0 = ss\np0/dim1 = ss\n",
         "2 of ss"},
        {"electron_voltage = 200 kV\np0/fs = x\n", "for electrons"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1024];
        detector *det;
        snprintf(text, sizeof text, "%s%s", head, cases[i].text);
        const geometry_settings set = {.file = text_file("a.geom", text)};
        status result = geometry_read_alone(&set, &det);
        assert_true(result == STATUS_INPUT || result == STATUS_INVALID);
        assert_null(det);
        if (!strstr(status_message(), cases[i].words))
            print_error("%zu: '%s' does not say '%s'\n", i, status_message(), cases[i].words);
        assert_non_null(strstr(status_message(), cases[i].words));
    }
}

/* ---- lists ---- */

static void lists_of_files_count_through(void **state)
{
    (void)state;
    char text[16384];
    const char *pixels = shared_copy("dragonfly/prd1/det_sim.h5");
    snprintf(text, sizeof text, "# both\n%s\n", case_shared("dragonfly/prd1/photons.emc"));
    size_t n = strlen(text);
    snprintf(text + n, sizeof text - n, "\n%s\n", case_shared("dragonfly/prd1/photons.h5"));
    dataset *list, *second = open_shared("dragonfly/prd1/photons.h5", pixels);
    const dataset_settings settings = at(text_file("files.txt", text), pixels);
    assert_ok(dataset_open(&settings, &list));
    assert_string_equal(dataset_format_name(list), "list");
    assert_int_equal(list->n_images, 900);
    float *a = all_images(list), *b = all_images(second);
    assert_memory_equal(a + 600 * list->n_pixels, b, 300 * (size_t)list->n_pixels * sizeof *b);
    photon_lists lists;
    assert_true(dataset_is_sparse(list));
    assert_ok(dataset_read_photons(list, 590, 20, &lists));
    for (int64_t i = 0; i < 20; i++)
        for (int64_t j = lists.start[i]; j < lists.start[i + 1]; j++)
            assert_close((double)a[(590 + i) * list->n_pixels + lists.pixel[j]], lists.counts[j],
                         0);
    photon_lists_free(&lists);
    free(a);
    free(b);
    dataset_close(list);
    dataset_close(second);
}

/* ---- sums of pixels ---- */

static void bins_hold_the_photons_of_their_pixels(void **state)
{
    (void)state;
    dataset *fine, *coarse;
    dataset_settings settings = {.path = case_shared("spinifel/skopi_2cex_a_40.h5")};
    assert_ok(dataset_open(&settings, &fine));
    settings.bin = 3;
    settings.clip = 2;
    assert_ok(dataset_open(&settings, &coarse));
    assert_int_equal(coarse->n_pixels, 41 * 41);
    float *a = all_images(fine), *b = all_images(coarse);
    for (int64_t i = 0; i < 40; i++)
        for (int64_t p = 0; p < 41 * 41; p++) {
            double sum = 0;
            for (int64_t k = 0; k < 9; k++)
                sum += (double)
                    a[i * 128 * 128 + (2 + p / 41 * 3 + k / 3) * 128 + 2 + p % 41 * 3 + k % 3];
            assert_close((double)b[i * 41 * 41 + p], sum, 0);
        }
    free(a);
    free(b);
    dataset_close(fine);
    dataset_close(coarse);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dragonfly_photons_have_the_numbers_their_makers_give),
        cmocka_unit_test(lists_of_photons_are_the_images),
        cmocka_unit_test(detector_files_of_both_kinds_agree),
        cmocka_unit_test(flat_numbers_give_the_detector_of_dragonfly),
        cmocka_unit_test(cxi_and_crystfel_give_the_vectors_of_dragonfly),
        cmocka_unit_test(cxi_without_a_place_for_its_pixels_says_what_is_missing),
        cmocka_unit_test(corners_are_half_a_pixel_before_centres),
        cmocka_unit_test(geometries_of_facilities_are_read),
        cmocka_unit_test(crystfel_and_json_give_the_same_panels),
        cmocka_unit_test(wrong_geometries_are_named),
        cmocka_unit_test(lists_of_files_count_through),
        cmocka_unit_test(bins_hold_the_photons_of_their_pixels),
    };
    log_setup(LOG_ERROR, 0, 1);
    return case_run(tests);
}
