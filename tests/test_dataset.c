/* Data sets: what is written is read, layouts of other programs are understood, damage is named. */
#include <math.h>
#include <unistd.h>

#include "dataset.h"
#include "io_hdf5.h"
#include "sim_case.h"

enum { N_IMAGES = 7, N_ROWS = 6, N_COLS = 5, N_PIXELS = N_ROWS * N_COLS };

static detector *make_detector(void)
{
    const detector_settings settings = {N_ROWS, N_COLS, 1e-3, 50e-3, 2.5, POLARIZATION_HORIZONTAL,
                                        1};
    detector *det;
    assert_ok(detector_create(&settings, &det));
    return det;
}

static void fill(float *images, double *quaternions, double *fluences)
{
    for (int i = 0; i < N_IMAGES * N_PIXELS; i++)
        images[i] = (float)(i % 11);
    for (int i = 0; i < N_IMAGES; i++) {
        quaternions[4 * i] = cos(i);
        quaternions[4 * i + 1] = 0;
        quaternions[4 * i + 2] = sin(i);
        quaternions[4 * i + 3] = 0;
        fluences[i] = 1 + 0.1 * i;
    }
}

static const char *write_example(const char *name)
{
    const char *path = case_scratch(name);
    atom atoms[2] = {{{1, 2, 3}, 0.5, 10, 6}, {{-1, 0, 1}, 1, 20, 26}};
    const dataset_atoms truth = {atoms, 2, {4959.4, true, false}};
    detector *det = make_detector();
    const dataset_description about = {det, N_IMAGES, "a test", "key: value\n", &truth, 1e20, 5};
    float images[N_IMAGES * N_PIXELS];
    double quaternions[4 * N_IMAGES], fluences[N_IMAGES];
    fill(images, quaternions, fluences);
    dataset_writer *w;
    assert_ok(dataset_create(path, &about, &w));
    assert_ok(dataset_write(w, 0, 4, images, quaternions, fluences));
    assert_ok(dataset_write(w, 4, 3, images + 4 * N_PIXELS, quaternions + 16, fluences + 4));
    assert_ok(dataset_commit(w));
    detector_destroy(det);
    return path;
}

static void gives_back_images_detector_and_truth(void **state)
{
    (void)state;
    detector *det = make_detector();
    dataset *ds;
    assert_ok(dataset_open(&(dataset_settings){.path = write_example("a.h5")}, &ds));
    assert_int_equal(ds->n_images, N_IMAGES);
    assert_int_equal(ds->n_pixels, N_PIXELS);
    assert_int_equal(ds->det->shape[1], N_ROWS);
    assert_int_equal(ds->det->shape[2], N_COLS);
    assert_close(ds->det->wavelength, 2.5, 0);
    assert_true(ds->has_truth);
    double sum = 0;
    int n_used = 0;
    for (int p = 0; p < N_PIXELS; p++) {
        for (int d = 0; d < 3; d++)
            assert_close(ds->det->s[3 * p + d], det->s[3 * p + d], 1e-15);
        assert_int_equal(ds->det->mask[p], det->mask[p]);
        double gain = det->polarization[p] * det->solid_angle[p];
        double gain_0 = det->polarization[0] * det->solid_angle[0];
        assert_close(ds->correction[p] / ds->correction[0], gain / gain_0, 1e-12);
        if (ds->det->mask[p]) sum += ds->correction[p];
        n_used += ds->det->mask[p];
    }
    assert_int_equal(n_used, N_PIXELS - 2);
    assert_close(sum / n_used, 1, 1e-12);
    float images[N_IMAGES * N_PIXELS], found[3 * N_PIXELS];
    double quaternions[4 * N_IMAGES], fluences[N_IMAGES], q[12], phi[3];
    fill(images, quaternions, fluences);
    assert_ok(dataset_read(ds, 3, 3, found));
    assert_memory_equal(found, images + 3 * N_PIXELS, sizeof found);
    assert_ok(dataset_read(ds, N_IMAGES, 0, found));
    assert_ok(dataset_read_truth(ds, 3, 3, q, phi));
    for (int i = 0; i < 12; i++)
        assert_close(q[i], quaternions[12 + i], 1e-15);
    assert_close(phi[2], 1.5, 1e-15);
    dataset_atoms truth;
    assert_ok(dataset_read_atoms(ds, &truth));
    assert_int_equal(truth.n_atoms, 2);
    assert_close(truth.atoms[0].position[2], 3, 0);
    assert_close(truth.atoms[0].occupancy, 0.5, 0);
    assert_close(truth.atoms[1].b_factor, 20, 0);
    assert_int_equal(truth.atoms[1].element, 26);
    assert_close(truth.scattering.photon_energy, 4959.4, 0);
    assert_true(truth.scattering.dispersion && !truth.scattering.absorption);
    free(truth.atoms);
    dataset_close(ds);
    dataset_close(NULL);
    detector_destroy(det);
}

static void refuses_rows_that_are_not_there(void **state)
{
    (void)state;
    dataset *ds;
    float found[2 * N_PIXELS];
    assert_ok(dataset_open(&(dataset_settings){.path = write_example("b.h5")}, &ds));
    assert_fails(dataset_read(ds, 6, 2, found), STATUS_INPUT, "images 6 to 7");
    assert_fails(dataset_read(ds, -1, 2, found), STATUS_INPUT, "images -1 to 0");
    dataset_close(ds);
    assert_fails(
        dataset_open(&(dataset_settings){.path = case_scratch("b.h5"), .images = "none"}, &ds),
        STATUS_INPUT, "no dataset '/none'; the file holds /fluences, /intensities, /mask");
    assert_null(ds);
}

/* ---- files of other makes, described by what differs from a plain one ---- */

typedef struct layout {
    int64_t image_dims[4], position_dims[4], quaternion_dims[3];
    int image_rank, position_rank, quaternion_rank; /* 0: absent */
    h5_type image_type;
    bool components_first;
    double scale;      /* of s, to 1/m */
    double wavelength; /* attribute, 0: absent */
    double factor;     /* solid angle, 0: absent */
    int mask;          /* its values, -1: absent */
} layout;

static const layout plain = {
    .image_dims = {2, 3, 3, 4},
    .position_dims = {3, 3, 4, 3},
    .quaternion_dims = {2, 1, 4},
    .image_rank = 4,
    .position_rank = 4,
    .quaternion_rank = 3,
    .image_type = H5_SINGLE,
    .scale = 1e10,
    .factor = 1,
    .mask = 1,
};

/* Pixel p of 36 at ((p + 1) / 1000, p / 2000, on the Ewald sphere of 2 A). */
static void position_of(int64_t p, double s[3])
{
    s[0] = (double)(p + 1) / 1000;
    s[1] = (double)p / 2000;
    s[2] = sqrt(0.25 - s[0] * s[0] - s[1] * s[1]) - 0.5;
}

static int64_t product(const int64_t *dims, int rank)
{
    int64_t n = 1;
    for (int d = 0; d < rank; d++)
        n *= dims[d];
    return n;
}

static void write_layout_arrays(h5_writer *w, const layout *f)
{
    double s[200], numbers[200], ones[200];
    uint8_t bytes[200];
    int64_t n = product(f->position_dims, f->position_rank) / 3;
    for (int64_t p = 0; p < n; p++) {
        double at[3];
        position_of(p, at);
        for (int d = 0; d < 3; d++)
            s[f->components_first ? d * n + p : 3 * p + d] = f->scale * at[d];
    }
    for (int i = 0; i < 200; i++) {
        numbers[i] = i;
        ones[i] = f->factor;
        bytes[i] = (uint8_t)(f->image_rank && f->image_type == H5_UINT8 ? i : f->mask);
    }
    float floats[200];
    for (int i = 0; i < 200; i++)
        floats[i] = (float)i;
    const void *images = f->image_type == H5_UINT8    ? (const void *)bytes
                         : f->image_type == H5_SINGLE ? (const void *)floats
                                                      : (const void *)numbers;
    if (f->image_rank)
        assert_ok(h5_write(w, "/intensities", f->image_type, f->image_rank, f->image_dims, images,
                           NULL, NULL));
    if (f->position_rank)
        assert_ok(h5_write(w, "/pixel_position_reciprocal", H5_DOUBLE, f->position_rank,
                           f->position_dims, s, NULL, NULL));
    for (int i = 0; i < 200; i++)
        numbers[i] = 0.5;
    if (f->quaternion_rank)
        assert_ok(h5_write(w, "/orientations", H5_DOUBLE, f->quaternion_rank, f->quaternion_dims,
                           numbers, NULL, NULL));
    memset(bytes, f->mask, sizeof bytes);
    if (f->mask >= 0)
        assert_ok(h5_write(w, "/mask", H5_UINT8, 3, f->image_dims + 1, bytes, NULL, NULL));
    if (f->factor != 0)
        assert_ok(h5_write(w, "/solid_angle", H5_DOUBLE, 3, f->image_dims + 1, ones, NULL, NULL));
    const int64_t none[1] = {0};
    assert_ok(h5_write(w, "/fluences", H5_DOUBLE, 1, none, numbers, NULL, NULL));
    if (f->wavelength > 0)
        assert_ok(h5_write_numbers(w, "/", "wavelength", H5_DOUBLE, 1, &f->wavelength));
}

static status open_layout(const layout *f, dataset **ds)
{
    const char *path = case_scratch("layout.h5");
    h5_writer *w;
    assert_ok(h5_create(path, &w));
    write_layout_arrays(w, f);
    assert_ok(h5_commit(w));
    return dataset_open(&(dataset_settings){.path = path}, ds);
}

static void check_positions(const layout *f)
{
    dataset *ds;
    assert_ok(open_layout(f, &ds));
    assert_int_equal(ds->n_pixels, product(f->position_dims, f->position_rank) / 3);
    for (int64_t p = 0; p < ds->n_pixels; p++) {
        double s[3];
        position_of(p, s);
        for (int d = 0; d < 3; d++)
            assert_close(ds->det->s[3 * p + d], s[d], 1e-14);
    }
    assert_close(ds->det->wavelength, 2, 1e-9);
    double q[8], phi[2];
    if (ds->has_truth) {
        assert_ok(dataset_read_truth(ds, 0, 2, q, phi));
        assert_close(q[7], 0.5, 1e-15);
        assert_close(phi[1], 1, 0); /* an empty list of fluences */
    } else {
        assert_fails(dataset_read_truth(ds, 0, 2, q, phi), STATUS_INPUT, "holds no orientations");
    }
    dataset_atoms truth;
    assert_fails(dataset_read_atoms(ds, &truth), STATUS_INPUT, "holds no atoms");
    dataset_close(ds);
}

/* Three panels: both the first and the last axis of either order can be 3. */
static void both_orders_of_the_axes_are_understood(void **state)
{
    (void)state;
    check_positions(&plain);
    layout f = plain;
    const int64_t first[4] = {3, 3, 3, 4};
    memcpy(f.position_dims, first, sizeof first);
    f.components_first = true;
    check_positions(&f);
}

static void missing_extras_are_no_error(void **state)
{
    (void)state;
    layout f = plain;
    f.mask = -1;
    f.factor = 0;
    f.quaternion_rank = 0;
    check_positions(&f);
    const int64_t images[3] = {2, 4, 3}, positions[3] = {4, 3, 3};
    memcpy(f.image_dims, images, sizeof images); /* no axis of panels */
    memcpy(f.position_dims, positions, sizeof positions);
    f.image_rank = f.position_rank = 3;
    check_positions(&f);
}

static void integer_images_are_read_as_numbers(void **state)
{
    (void)state;
    layout f = plain;
    dataset *ds;
    float images[72];
    const h5_type types[2] = {H5_UINT8, H5_DOUBLE};
    for (int t = 0; t < 2; t++) {
        f.image_type = types[t];
        assert_ok(open_layout(&f, &ds));
        assert_ok(dataset_read(ds, 0, 2, images));
        for (int i = 0; i < 72; i++)
            assert_close((double)images[i], i, 0);
        dataset_close(ds);
    }
}

static void refuse(const layout *f, const char *words)
{
    dataset *ds;
    assert_fails(open_layout(f, &ds), STATUS_INPUT, words);
    assert_null(ds);
}

static void wrong_files_are_named(void **state)
{
    (void)state;
    layout f = plain;
    f.image_rank = 0;
    refuse(&f, "no dataset '/intensities'; the file holds /fluences, /mask");
    f = plain;
    f.position_rank = 0;
    refuse(&f, "no dataset '/pixel_position_reciprocal'");
    f = plain;
    f.position_dims[1] = 2;
    refuse(&f, "'/pixel_position_reciprocal' is (3, 2, 4, 3) float64; for images of 3 x 3 x 4");
    f = plain;
    f.image_rank = 2;
    refuse(&f, "expected images (N, panels, rows, columns)");
    f = plain;
    f.image_dims[0] = 0;
    refuse(&f, "no images");
    f = plain;
    f.quaternion_dims[0] = 3;
    refuse(&f, "'/orientations' is (3, 1, 4) float64; expected (2, 4)");
    f = plain;
    f.scale = 1; /* 1/Angstrom */
    refuse(&f, "expected 1/m");
    f = plain;
    f.scale = NAN;
    refuse(&f, "pixel 0 is at (nan");
    f = plain;
    f.wavelength = 1.9;
    refuse(&f, "'wavelength' is 1.9 Angstrom, but the pixel positions lie on an Ewald sphere of 2");
    f = plain;
    f.mask = 0;
    refuse(&f, "leaves no pixel");
    f = plain;
    f.factor = -1;
    refuse(&f, "'/solid_angle' is -1 in pixel 0");
}

static void faults_of_images_are_counted(void **state)
{
    (void)state;
    dataset *ds;
    assert_ok(dataset_open(&(dataset_settings){.path = write_example("c.h5")}, &ds));
    float images[4 * N_PIXELS];
    for (int i = 0; i < 4 * N_PIXELS; i++)
        images[i] = 1;
    dataset_faults faults = dataset_no_faults;
    dataset_check(ds, images, 0, 4, &faults);
    assert_int_equal(faults.n_bad_images + faults.n_dark_images, 0);
    assert_int_equal(faults.first_bad, -1);
    images[1 * N_PIXELS] = NAN;
    images[1 * N_PIXELS + 1] = -1;
    images[2 * N_PIXELS + 3] = -INFINITY;
    memset(images + 3 * N_PIXELS, 0, N_PIXELS * sizeof *images);
    int stopped = 0;
    while (ds->det->mask[stopped])
        stopped++;
    images[stopped] = NAN; /* where no one looks */
    images[3 * N_PIXELS + stopped] = 5;
    dataset_check(ds, images, 100, 4, &faults);
    assert_int_equal(faults.n_nan, 1);
    assert_int_equal(faults.n_negative, 1);
    assert_int_equal(faults.n_infinite, 1);
    assert_int_equal(faults.n_bad_images, 2);
    assert_int_equal(faults.first_bad, 101);
    assert_int_equal(faults.n_dark_images, 1);
    assert_int_equal(faults.first_dark, 103);
    dataset_close(ds);
}

static size_t load(const char *path, char *bytes, size_t size)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t n = fread(bytes, 1, size, file);
    fclose(file);
    return n;
}

static void store(const char *path, const char *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

typedef struct contents {
    float images[N_IMAGES * N_PIXELS];
    double s[3 * N_PIXELS], correction[N_PIXELS], quaternions[4 * N_IMAGES], fluences[N_IMAGES];
    double wavelength, energy;
    atom atoms[2];
    uint8_t mask[N_PIXELS];
} contents;

static status read_open(const dataset *ds, contents *c)
{
    dataset_atoms truth;
    if (ds->n_images != N_IMAGES || ds->n_pixels != N_PIXELS) return STATUS_INTERNAL;
    memcpy(c->s, ds->det->s, sizeof c->s);
    memcpy(c->correction, ds->correction, sizeof c->correction);
    memcpy(c->mask, ds->det->mask, sizeof c->mask);
    c->wavelength = ds->det->wavelength;
    TRY(dataset_read(ds, 0, N_IMAGES, c->images));
    TRY(dataset_read_truth(ds, 0, N_IMAGES, c->quaternions, c->fluences));
    TRY(dataset_read_atoms(ds, &truth));
    c->energy = truth.scattering.photon_energy;
    for (int i = 0; i < 2 && truth.n_atoms == 2; i++) { /* by field: padding is not compared */
        memcpy(c->atoms[i].position, truth.atoms[i].position, sizeof c->atoms[i].position);
        c->atoms[i].occupancy = truth.atoms[i].occupancy;
        c->atoms[i].b_factor = truth.atoms[i].b_factor;
        c->atoms[i].element = truth.atoms[i].element;
    }
    free(truth.atoms);
    return truth.n_atoms == 2 ? STATUS_OK : STATUS_INTERNAL;
}

static status read_everything(const char *path, contents *c)
{
    dataset *ds;
    memset(c, 0, sizeof *c);
    TRY(dataset_open(&(dataset_settings){.path = path}, &ds));
    status result = read_open(ds, c);
    dataset_close(ds);
    return result;
}

/* Cut anywhere, or with any bit turned, a file gives an error or what was written. */
static void damage_is_noticed_or_harmless(void **state)
{
    (void)state;
    static char bytes[1 << 18];
    static contents whole, found;
    const char *intact = write_example("d.h5");
    size_t n = load(intact, bytes, sizeof bytes);
    assert_true(n < sizeof bytes);
    assert_ok(read_everything(intact, &whole));
    const char *path = case_scratch("damaged.h5");
    for (size_t size = 0; size < n; size += n / 40) {
        store(path, bytes, size);
        assert_int_equal(read_everything(path, &found), STATUS_INPUT);
    }
    unsigned seed = 3;
    for (int trial = 0; trial < 500; trial++) {
        seed = seed * 1664525u + 1013904223u;
        size_t at = (seed >> 8) % n; /* NOLINT: the example is not empty */
        char kept = bytes[at];
        bytes[at] = (char)(kept ^ (1 << (seed >> 29)));
        store(path, bytes, n);
        bytes[at] = kept;
        status result = read_everything(path, &found);
        if (result == STATUS_OK)
            assert_memory_equal(&found, &whole, sizeof whole);
        else
            assert_int_equal(result, STATUS_INPUT);
    }
}

static void a_file_that_is_given_up_leaves_nothing(void **state)
{
    (void)state;
    const char *path = case_scratch("e.h5");
    detector *det = make_detector();
    const dataset_description about = {.det = det, .n_images = 3, .command_line = ""};
    dataset_writer *w;
    assert_ok(dataset_create(path, &about, &w));
    dataset_abandon(w);
    dataset_abandon(NULL);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_ok(dataset_create(path, &about, &w));
    assert_fails(dataset_commit(w), STATUS_INTERNAL, "rows");
    assert_int_not_equal(access(path, F_OK), 0);
    detector_destroy(det);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_back_images_detector_and_truth),
        cmocka_unit_test(refuses_rows_that_are_not_there),
        cmocka_unit_test(both_orders_of_the_axes_are_understood),
        cmocka_unit_test(missing_extras_are_no_error),
        cmocka_unit_test(integer_images_are_read_as_numbers),
        cmocka_unit_test(wrong_files_are_named),
        cmocka_unit_test(faults_of_images_are_counted),
        cmocka_unit_test(damage_is_noticed_or_harmless),
        cmocka_unit_test(a_file_that_is_given_up_leaves_nothing),
    };
    return case_run(tests);
}
