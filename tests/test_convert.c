/* Round trips: what is written in another program's format is read back as it was. */
#include <math.h>

#include "core/log.h"
#include "geometry_write.h"
#include "image_writer.h"
#include "mtip/rotation.h"
#include "orientations.h"
#include "sim_case.h"
#include "volume.h"

enum { N_IMAGES = 9, N = 12, N_PIXELS = N * N };

/* A data set of ours: whole photons, orientations, a beam stop. */
static const char *write_example(void)
{
    const char *path = case_scratch("ours.h5");
    const detector_settings flat = {N, N, 0.4e-3, 70e-3, 1.9, POLARIZATION_HORIZONTAL, 2};
    detector *det;
    dataset_writer *w;
    float images[N_IMAGES * N_PIXELS];
    double quaternions[4 * N_IMAGES], fluences[N_IMAGES];
    for (int i = 0; i < N_IMAGES * N_PIXELS; i++)
        images[i] = (float)(i * 7919 % 13 < 8 ? 0 : i * 31 % 5);
    for (int i = 0; i < N_IMAGES; i++) {
        const double u[3] = {i / 10.0, 0.3, 0.7};
        rotation_uniform(u, quaternions + 4 * i);
        fluences[i] = 1 + 0.1 * i;
    }
    assert_ok(detector_create(&flat, &det));
    const dataset_atoms none = {0};
    const dataset_description about = {
        .det = det, .n_images = N_IMAGES, .command_line = "a test", .truth = &none};
    assert_ok(dataset_create(path, &about, &w));
    assert_ok(dataset_write(w, 0, N_IMAGES, images, quaternions, fluences));
    assert_ok(dataset_commit(w));
    detector_destroy(det);
    return path;
}

static dataset *open_at(const char *path, const char *geometry, double wavelength)
{
    dataset *ds;
    const dataset_settings settings = {.path = path,
                                       .geometry = {.file = geometry, .wavelength = wavelength}};
    assert_ok(dataset_open(&settings, &ds));
    return ds;
}

static void assert_same_images(const dataset *a, const dataset *b)
{
    assert_int_equal(a->n_images, b->n_images);
    assert_int_equal(a->n_pixels, b->n_pixels);
    const size_t n = (size_t)(a->n_images * a->n_pixels);
    float *x = malloc(n * sizeof *x), *y = malloc(n * sizeof *y);
    assert_ok(dataset_read(a, 0, a->n_images, x));
    for (int64_t i = 0; i < b->n_images; i += 2) /* in pieces */
        assert_ok(dataset_read(b, i, i + 2 > b->n_images ? 1 : 2, y + i * b->n_pixels));
    assert_memory_equal(x, y, n * sizeof *x);
    free(x);
    free(y);
}

static void assert_same_pixels(const dataset *a, const dataset *b, double tolerance)
{
    assert_close(a->det->wavelength / b->det->wavelength, 1, 1e-12);
    for (int64_t p = 0; p < a->n_pixels; p++) {
        for (int d = 0; d < 3; d++)
            assert_close(a->det->s[3 * p + d], b->det->s[3 * p + d], tolerance);
        assert_close(a->correction[p] / b->correction[p], 1, tolerance);
        assert_int_equal(a->det->mask[p], b->det->mask[p]);
    }
}

static const image_format *format_named(const char *name)
{
    for (int i = 0; i < N_IMAGE_FORMATS; i++)
        if (strcmp(image_formats[i]->name, name) == 0) return image_formats[i];
    fail_msg("no format %s", name);
    return NULL;
}

/* ours -> Dragonfly's -> ours: the bits of every image, places within rounding. */
static void images_come_back_from_every_format(void **state)
{
    (void)state;
    static const char *const formats[] = {"emc", "emc-int", "emc-double", "dragonfly"};
    const char *ours_path = write_example(), *pixels = case_scratch("det.h5");
    dataset *ours = open_at(ours_path, NULL, 0);
    assert_ok(geometry_write_dragonfly(pixels, ours->det));
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        const char *path = case_scratch("theirs"), *back_path = case_scratch("back.h5");
        assert_ok(image_write_all(format_named(formats[i]), path, ours));
        dataset *theirs = open_at(path, pixels, ours->det->wavelength);
        assert_int_equal(strncmp(dataset_format_name(theirs), formats[i], 3), 0);
        assert_int_equal(dataset_is_sparse(theirs), i == 0 || i == 3);
        assert_same_images(ours, theirs);
        assert_same_pixels(ours, theirs, 1e-14);
        assert_ok(image_write_all(format_named("spinifel"), back_path, theirs));
        dataset *back = open_at(back_path, NULL, 0);
        assert_same_images(ours, back);
        assert_same_pixels(ours, back, 1e-14);
        dataset_close(back);
        dataset_close(theirs);
    }
    dataset_close(ours);
}

static void cxi_holds_images_mask_and_detector(void **state)
{
    (void)state;
    dataset *ours = open_at(write_example(), NULL, 0);
    const char *path = case_scratch("a.cxi");
    assert_ok(image_write_all(format_named("cxi"), path, ours));
    dataset *theirs = open_at(path, NULL, 0);
    assert_string_equal(dataset_format_name(theirs), "cxi");
    assert_same_images(ours, theirs);
    assert_same_pixels(ours, theirs, 1e-12);
    assert_close(theirs->det->distance, 70e-3, 1e-12);
    dataset_close(theirs);
    dataset_close(ours);
}

/* Two panels side by side, one of them turned. */
static void cxi_holds_modules(void **state)
{
    (void)state;
    const double p = 1e-3, z = 0.08;
    const panel panels[2] = {{4, 3, {-5 * p, -p, z}, {p, 0, 0}, {0, p, 0}, 0, 1, 4},
                             {4, 3, {p, 2 * p, z}, {0, -p, 0}, {p, 0, 0}, 12, 1, 4}};
    const int64_t shape[3] = {2, 3, 4};
    const char *path = case_scratch("two.h5"), *cxi = case_scratch("two.cxi");
    detector *det;
    dataset_writer *w;
    float images[2 * 24];
    for (int i = 0; i < 48; i++)
        images[i] = (float)(i % 7);
    assert_ok(detector_from_panels(panels, 2, shape, 2, POLARIZATION_HORIZONTAL, &det));
    const dataset_description about = {.det = det, .n_images = 2, .command_line = "a test"};
    assert_ok(dataset_create(path, &about, &w));
    assert_ok(dataset_write(w, 0, 2, images, NULL, NULL));
    assert_ok(dataset_commit(w));
    detector_destroy(det);
    dataset *ours = open_at(path, NULL, 0);
    assert_ok(image_write_all(format_named("cxi"), cxi, ours));
    dataset *theirs = open_at(cxi, NULL, 0);
    assert_int_equal(theirs->det->shape[0], 2);
    assert_same_images(ours, theirs);
    assert_same_pixels(ours, theirs, 1e-12);
    dataset_close(theirs);
    dataset_close(ours);
}

static void our_own_format_keeps_the_truth(void **state)
{
    (void)state;
    dataset *ours = open_at(write_example(), NULL, 0);
    const char *path = case_scratch("copy.h5");
    double a[4 * N_IMAGES], b[4 * N_IMAGES], phi_a[N_IMAGES], phi_b[N_IMAGES];
    assert_ok(image_write_all(format_named("spinifel"), path, ours));
    dataset *copy = open_at(path, NULL, 0);
    assert_same_images(ours, copy);
    assert_ok(dataset_read_truth(ours, 0, N_IMAGES, a, phi_a));
    assert_ok(dataset_read_truth(copy, 0, N_IMAGES, b, phi_b));
    assert_memory_equal(phi_a, phi_b, sizeof phi_a);
    for (int i = 0; i < 4 * N_IMAGES; i++)
        assert_close(a[i], b[i], 1e-15);
    dataset_close(copy);
    dataset_close(ours);
}

static void detectors_come_back_from_text(void **state)
{
    (void)state;
    const char *path = case_scratch("det.dat");
    dataset *ours = open_at(write_example(), NULL, 0);
    const geometry_settings set = {
        .file = path, .wavelength = ours->det->wavelength, .pixel_size = 0.4e-3};
    detector *det;
    assert_ok(geometry_write_dragonfly(path, ours->det));
    assert_ok(geometry_read_alone(&set, &det));
    for (int64_t p = 0; p < det->n_pixels; p++) {
        for (int d = 0; d < 3; d++)
            assert_close(det->s[3 * p + d], ours->det->s[3 * p + d], 1e-15);
        assert_int_equal(det->mask[p], ours->det->mask[p]);
    }
    assert_close(det->distance, 70e-3, 1e-12);
    detector_destroy(det);
    dataset_close(ours);
}

/* Dragonfly's own 600 images, through ours and back: the file's bytes. */
static void an_emc_file_is_written_as_dragonfly_does(void **state)
{
    (void)state;
    const char *path = case_shared("dragonfly/prd1/photons.emc"), *copy = case_scratch("copy.emc");
    dataset *ds;
    const dataset_settings settings = {.path = path, .anywhere = true};
    assert_ok(dataset_open(&settings, &ds));
    assert_ok(image_write_all(format_named("emc"), copy, ds));
    dataset_close(ds);
    FILE *a = fopen(case_shared("dragonfly/prd1/photons.emc"), "rb"), *b = fopen(copy, "rb");
    assert_true(a && b);
    int64_t n = 0;
    for (int x, y; (x = fgetc(a)) != EOF; n++) {
        y = fgetc(b);
        assert_int_equal(x, y);
    }
    assert_int_equal(fgetc(b), EOF);
    assert_int_equal(n, 1405652);
    fclose(a);
    fclose(b);
}

/* Before it takes memory for the pixels. */
static void a_detector_of_too_many_pixels_is_refused(void **state)
{
    (void)state;
    const char *path = case_scratch("large.emc");
    const int32_t head[3] = {1, DETECTOR_MAX_PIXELS + 1, 0};
    char bytes[1024 + 8] = {0};
    dataset *ds;
    memcpy(bytes, head, sizeof head);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, sizeof bytes, file), sizeof bytes);
    assert_int_equal(fclose(file), 0);
    const dataset_settings settings = {.path = path, .format = CONFIG_FORMAT_EMC, .anywhere = true};
    assert_fails(dataset_open(&settings, &ds), STATUS_INPUT, "1 images of 67108865 pixels");
}

static void parts_of_photons_are_refused(void **state)
{
    (void)state;
    dataset *ds;
    dataset_settings settings = {.path = write_example(), .units_per_photon = 2};
    assert_ok(dataset_open(&settings, &ds));
    const char *path = case_scratch("half.emc");
    assert_fails(image_write_all(format_named("emc"), path, ds), STATUS_INPUT,
                 "this format holds whole numbers");
    assert_null(fopen(path, "r"));
    assert_ok(image_write_all(format_named("emc-double"), path, ds));
    dataset_close(ds);
}

/* ---- maps ---- */

static void maps_come_back_from_every_format(void **state)
{
    (void)state;
    float values[2 * 3 * 5];
    for (int i = 0; i < 30; i++)
        values[i] = (float)sin(i);
    mrc_map map = {5, 3, 2, {1.5, 1.5, 2.5}, {-3, -1.5, -2.5}, values};
    for (int f = 0; f < n_volume_formats; f++) {
        const char *path = case_scratch("map.xdmf"), *data = case_scratch("map.h5");
        const bool is_pair = strcmp(volume_formats[f].name, "xdmf") == 0;
        mrc_map *back;
        assert_ok(volume_formats[f].write(path, &map));
        assert_true(volume_recognize(is_pair ? data : path));
        assert_ok(volume_read(is_pair ? data : path, NULL, &back));
        assert_int_equal(back->nx, 5);
        assert_int_equal(back->ny, 3);
        assert_int_equal(back->nz, 2);
        assert_memory_equal(back->values, values, sizeof values);
        for (int d = 0; d < 3; d++) {
            assert_close(back->voxel[d], map.voxel[d], 1e-6);
            assert_close(back->origin[d], map.origin[d], 1e-6);
        }
        mrc_destroy(back);
    }
}

/* Axes in other orders: the map that gemmi made has y, z and x from fast to slow, and values of which
   gemmi says that they are 60 + 42 x + z. */
static void maps_of_any_order_of_axes_are_read(void **state)
{
    (void)state;
    mrc_map *map;
    assert_ok(mrc_read(case_shared("maps/EMD-3197.map"), &map));
    assert_int_equal(map->nx * map->ny * map->nz, 8000);
    assert_close(map->voxel[0], 11.4, 1e-3);
    mrc_destroy(map);
    assert_ok(mrc_read(case_shared("maps/gemmi_5i55_tiny.ccp4"), &map));
    assert_true(map->nx > 1 && map->voxel[0] > 0);
    mrc_destroy(map);
    assert_ok(mrc_read(case_shared("maps/gemmi_iota_yzx.ccp4.gz"), &map));
    assert_int_equal(map->nx, 4);
    assert_int_equal(map->ny, 1);
    assert_int_equal(map->nz, 2);
    for (int i = 0; i < 8; i++)
        assert_close((double)map->values[i], 60 + 42 * (i % 4) + i / 4, 0);
    mrc_destroy(map);
}

/* ---- orientations ---- */

static void orientations_come_back(void **state)
{
    (void)state;
    int64_t image[20];
    double quaternions[80], score[20], fluence[20];
    orientations list = {20, image, quaternions, score, fluence}, back;
    for (int i = 0; i < 20; i++) {
        const double u[3] = {i / 20.0, fmod(0.37 * i, 1), fmod(0.71 * i, 1)};
        image[i] = 3 * i;
        rotation_uniform(u, quaternions + 4 * i);
        score[i] = -1.5 * i;
        fluence[i] = 1 + 0.01 * i;
    }
    for (int f = 0; f < 2; f++) { /* text and Dragonfly's */
        const char *path = case_scratch("orientations.txt");
        assert_ok(orientation_formats[f].write(path, &list));
        assert_ok(orientations_read(path, &back));
        assert_int_equal(back.n, 20);
        for (int i = 0; i < 80; i++)
            assert_close(back.quaternions[i], quaternions[i], 1e-14);
        for (int i = 0; i < 20; i++) {
            assert_int_equal(back.image[i], f == 0 ? image[i] : i);
            assert_close(back.score[i], f == 0 ? score[i] : 0, 0);
        }
        orientations_free(&back);
    }
}

/* The matrix of rot, tilt and psi by RELION's formula, against that of the quaternion. */
static void angles_make_the_matrix_of_relion(void **state)
{
    (void)state;
    for (int i = 0; i < 50; i++) {
        const double u[3] = {i / 50.0, fmod(0.37 * i, 1), fmod(0.71 * i, 1)};
        const double axes[2][4] = {{cos(0.3), 0, 0, sin(0.3)}, {0, cos(0.3), sin(0.3), 0}};
        double q[4], angles[3], r[9];
        rotation_uniform(u, q);
        if (i >= 48) memcpy(q, axes[i - 48], sizeof q); /* tilt 0 and 180 */
        orientations_euler(q, angles);
        rotation_matrix(q, r);
        const double rad = acos(-1) / 180;
        const double ca = cos(angles[0] * rad), sa = sin(angles[0] * rad);
        const double cb = cos(angles[1] * rad), sb = sin(angles[1] * rad);
        const double cg = cos(angles[2] * rad), sg = sin(angles[2] * rad);
        const double expected[9] = {cg * cb * ca - sg * sa,
                                    cg * cb * sa + sg * ca,
                                    -cg * sb,
                                    -sg * cb * ca - cg * sa,
                                    -sg * cb * sa + cg * ca,
                                    sg * sb,
                                    sb * ca,
                                    sb * sa,
                                    cb};
        for (int k = 0; k < 9; k++)
            assert_close(r[k], expected[k], 1e-8);
    }
}

static void wrong_orientations_are_named(void **state)
{
    (void)state;
    static const char *const cases[][2] = {{"0 1 0 0\n", ":1: expected image w x y z"},
                                           {"0 2 0 0 0\n", "quaternion 0 has length 2"},
                                           {"3\n1 0 0 0 1\n", "1 orientations; expected 3"},
                                           {"0 1 0 0 0 x\n", ":1: expected"},
                                           {"", "0 orientations"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *path = case_scratch("bad.txt");
        orientations list;
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fputs(cases[i][0], file);
        assert_int_equal(fclose(file), 0);
        assert_fails(orientations_read(path, &list), STATUS_INPUT, cases[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(images_come_back_from_every_format),
        cmocka_unit_test(cxi_holds_images_mask_and_detector),
        cmocka_unit_test(cxi_holds_modules),
        cmocka_unit_test(our_own_format_keeps_the_truth),
        cmocka_unit_test(detectors_come_back_from_text),
        cmocka_unit_test(an_emc_file_is_written_as_dragonfly_does),
        cmocka_unit_test(a_detector_of_too_many_pixels_is_refused),
        cmocka_unit_test(parts_of_photons_are_refused),
        cmocka_unit_test(maps_come_back_from_every_format),
        cmocka_unit_test(maps_of_any_order_of_axes_are_read),
        cmocka_unit_test(orientations_come_back),
        cmocka_unit_test(angles_make_the_matrix_of_relion),
        cmocka_unit_test(wrong_orientations_are_named),
    };
    log_setup(LOG_ERROR, 0, 1);
    return case_run(tests);
}
