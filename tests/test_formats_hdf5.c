/* CXI and other HDF5 files as programs of the field write them: modules, masks, links, attributes of
   bytes, booleans, and geometries that take their numbers from them. */
#include <hdf5.h>

#include "core/log.h"
#include "format_case.h"

static void put(hid_t file, const char *name, hid_t file_type, hid_t memory_type, int rank,
                const hsize_t *dims, const void *data)
{
    hid_t links = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(links, 1);
    hid_t space = rank ? H5Screate_simple(rank, dims, NULL) : H5Screate(H5S_SCALAR);
    hid_t set = H5Dcreate2(file, name, file_type, space, links, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(set >= 0);
    assert_true(H5Dwrite(set, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
    H5Dclose(set);
    H5Sclose(space);
    H5Pclose(links);
}

static void put_doubles(hid_t file, const char *name, int rank, const hsize_t *dims,
                        const double *data)
{
    put(file, name, H5T_NATIVE_DOUBLE, H5T_NATIVE_DOUBLE, rank, dims, data);
}

/* The attribute `axes` as an array of one string of bytes. */
static void put_axes(hid_t file, const char *name, const char *axes)
{
    const hsize_t one = 1;
    hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate_simple(1, &one, NULL);
    H5Tset_size(type, strlen(axes));
    H5Tset_strpad(type, H5T_STR_NULLPAD);
    hid_t id =
        H5Acreate_by_name(file, name, "axes", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(id >= 0 && H5Awrite(id, type, axes) >= 0);
    H5Aclose(id);
    H5Sclose(space);
    H5Tclose(type);
}

/* h5py's booleans: an enumeration of bytes. */
static hid_t boolean_type(void)
{
    const int8_t values[2] = {0, 1};
    hid_t type = H5Tenum_create(H5T_NATIVE_INT8);
    H5Tenum_insert(type, "FALSE", &values[0]);
    H5Tenum_insert(type, "TRUE", &values[1]);
    return type;
}

enum { CXI_IMAGES = 3, CXI_MODULES = 2, CXI_ROWS = 4, CXI_COLUMNS = 5, CXI_PIXELS = 40 };

#define CXI_DETECTOR "/entry_1/instrument_1/detector_1"

/* Stacks of two modules, each with its corner; masks of each image; an energy for each image. */
static const char *write_modules(const char *axes, double energy)
{
    const char *path = case_scratch("modules.cxi");
    const hsize_t dims[4] = {CXI_IMAGES, CXI_MODULES, CXI_ROWS, CXI_COLUMNS};
    const hsize_t corner_dims[2] = {2, 3}, basis_dims[3] = {2, 2, 3};
    int16_t images[CXI_IMAGES * CXI_PIXELS];
    uint32_t mask[CXI_IMAGES * CXI_PIXELS] = {0};
    const double energies[3] = {energy, energy, energy}, distance = 0.1;
    const double corners[6] = {-0.01, 0.01, 0.1, 0.002, 0.01, 0.11};
    const double basis[12] = {0, -1e-3, 0, 1e-3, 0, 0, 0, 0, 1e-3, 0, 1e-3, 0};
    for (int i = 0; i < CXI_IMAGES * CXI_PIXELS; i++)
        images[i] = (int16_t)(i % 17);
    mask[7] = 0x4;                  /* hot in image 0 */
    mask[2 * CXI_PIXELS + 9] = 0x1; /* invalid in image 2 */
    mask[11] = 0x1000 | 0x400;      /* good, with remarks */
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    put(file, CXI_DETECTOR "/data", H5T_STD_I16BE, H5T_NATIVE_INT16, 4, dims, images);
    put(file, CXI_DETECTOR "/mask", H5T_STD_U32LE, H5T_NATIVE_UINT32, 4, dims, mask);
    put_doubles(file, CXI_DETECTOR "/distance", 0, NULL, &distance);
    put_doubles(file, CXI_DETECTOR "/corner_position", 2, corner_dims, corners);
    put_doubles(file, CXI_DETECTOR "/basis_vectors", 3, basis_dims, basis);
    put_doubles(file, "/entry_1/instrument_1/source_1/energy", 1, dims, energies);
    hid_t group = H5Gcreate2(file, "/entry_1/data_1", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft(CXI_DETECTOR "/data", group, "data", H5P_DEFAULT, H5P_DEFAULT);
    H5Gclose(group);
    put_axes(file, CXI_DETECTOR "/data", axes);
    assert_true(H5Fclose(file) >= 0);
    return path;
}

static void stacks_of_modules_are_read(void **state)
{
    (void)state;
    dataset *ds;
    const double energy = 1e3 * 1.602176634e-19;
    const dataset_settings settings = {
        .path = write_modules("experiment_identifier:module_identifier:y:x", energy)};
    assert_ok(dataset_open(&settings, &ds));
    assert_int_equal(ds->n_images, CXI_IMAGES);
    assert_int_equal(ds->n_pixels, CXI_PIXELS);
    assert_int_equal(ds->det->shape[0], CXI_MODULES);
    assert_close(ds->det->wavelength, PHYSICS_HC / 1e3, 1e-9);
    assert_centre(ds->det, 0, -0.0095, 0.0095, 0.1);
    assert_centre(ds->det, 5 + 1, -0.0085, 0.0085, 0.1);
    assert_centre(ds->det, 20 + 10 + 3, 0.002, 0.0135, 0.1125);
    for (int p = 0; p < CXI_PIXELS; p++)
        assert_int_equal(ds->det->mask[p], p != 7 && p != 9);
    float *images = all_images(ds);
    for (int i = 0; i < CXI_IMAGES * CXI_PIXELS; i++)
        assert_close((double)images[i], i % 17, 0);
    free(images);
    dataset_close(ds);
}

static void energies_that_are_no_joules_are_named(void **state)
{
    (void)state;
    dataset *ds;
    const dataset_settings settings = {.path = write_modules("experiment_identifier:y:x", 1e3)};
    assert_fails(dataset_open(&settings, &ds), STATUS_INPUT, "expected joules (is it in eV?)");
}

/* One image of modules, as `axes` says, with a mask of booleans. */
static void axes_and_booleans_of_other_programs_are_understood(void **state)
{
    (void)state;
    const char *path = case_scratch("single.cxi");
    const hsize_t dims[3] = {CXI_MODULES, CXI_ROWS, CXI_COLUMNS};
    double image[CXI_PIXELS];
    int8_t mask[CXI_PIXELS] = {0};
    for (int p = 0; p < CXI_PIXELS; p++)
        image[p] = 0.5 * p;
    mask[3] = 1;
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), type = boolean_type();
    put_doubles(file, "/entry_1/data_1/data", 3, dims, image);
    put(file, "/entry_1/data_1/mask", type, type, 3, dims, mask);
    put_axes(file, "/entry_1/data_1/data", "module_identifier:y:x");
    H5Tclose(type);
    assert_true(H5Fclose(file) >= 0);
    dataset *ds;
    const dataset_settings settings = {.path = path, .anywhere = true};
    assert_ok(dataset_open(&settings, &ds));
    assert_int_equal(ds->n_images, 1);
    assert_int_equal(ds->det->shape[0], CXI_MODULES);
    for (int p = 0; p < CXI_PIXELS; p++)
        assert_int_equal(ds->det->mask[p], p != 3);
    float *read = all_images(ds);
    for (int p = 0; p < CXI_PIXELS; p++)
        assert_close((double)read[p], 0.5 * p, 0);
    free(read);
    dataset_close(ds);
}

/* A geometry whose panels lie in modules (dim1 a number), with clen, energy and mask from the file of
   the images, which is any HDF5. */
static void a_geometry_takes_what_it_needs_from_the_images(void **state)
{
    (void)state;
    const char *path = case_scratch("plain.h5");
    const hsize_t dims[4] = {CXI_IMAGES, CXI_MODULES, CXI_ROWS, CXI_COLUMNS};
    float images[CXI_IMAGES * CXI_PIXELS];
    uint16_t mask[CXI_PIXELS];
    const double clen = 80, energy = 7000;
    for (int i = 0; i < CXI_IMAGES * CXI_PIXELS; i++)
        images[i] = (float)i;
    for (int p = 0; p < CXI_PIXELS; p++)
        mask[p] = p == 4 ? 0x3 : p == 5 ? 0x0 : 0x1;
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    put(file, "/run/images", H5T_NATIVE_FLOAT, H5T_NATIVE_FLOAT, 4, dims, images);
    put(file, "/run/mask", H5T_NATIVE_UINT16, H5T_NATIVE_UINT16, 3, dims + 1, mask);
    put_doubles(file, "/run/clen", 0, NULL, &clen);
    put_doubles(file, "/run/energy", 0, NULL, &energy);
    assert_true(H5Fclose(file) >= 0);
    const char *geom = text_file(
        "m.geom", "photon_energy = /run/energy eV\nclen = /run/clen\nres = 1000\n"
                  "data = /run/images\nmask = /run/mask\nmask_good = 0x1\nmask_bad = 0x2\n"
                  "dim0 = %\ndim2 = ss\ndim3 = fs\nmin_fs = 0\nmax_fs = 4\nmin_ss = 0\nmax_ss = 3\n"
                  "a/dim1 = 0\na/corner_x = 0\na/corner_y = 0\na/fs = x\na/ss = y\n"
                  "b/dim1 = 1\nb/corner_x = -10\nb/corner_y = 0\nb/fs = y\nb/ss = -x\n");
    dataset *ds;
    dataset_settings settings = {.path = path, .images = "run/images", .geometry = {.file = geom}};
    assert_ok(dataset_open(&settings, &ds));
    assert_string_equal(dataset_format_name(ds), "dense");
    assert_close(ds->det->wavelength, PHYSICS_HC / 7000, 1e-12);
    assert_centre(ds->det, 0, 0.5e-3, 0.5e-3, 0.08);
    assert_centre(ds->det, 20 + 5 + 2, -11.5e-3, 2.5e-3, 0.08);
    for (int p = 0; p < CXI_PIXELS; p++)
        assert_int_equal(ds->det->mask[p], p != 4 && p != 5);
    dataset_close(ds);
    settings.images = "run/nothing";
    assert_fails(dataset_open(&settings, &ds), STATUS_INPUT,
                 "no dataset '/run/nothing'; the file holds /run/clen");
}

/* Values that a panel flags make pixels bad where and when they occur, in bins of several too. */
static void flagged_values_are_of_bad_pixels(void **state)
{
    (void)state;
    const char *geom = text_file(
        "f.geom",
        "wavelength = 2 A\nclen = 0.1\nres = 1000\nsaturation_map = /none\n"
        "dim0 = %\ndim2 = ss\ndim3 = fs\nmin_fs = 0\nmax_fs = 4\nmin_ss = 0\nmax_ss = 3\n"
        "a/dim1 = 0\na/corner_x = 0\na/corner_y = 0\na/flag_morethan = 14\na/flag_lessthan = 2\n"
        "b/dim1 = 1\nb/corner_x = -10\nb/corner_y = 0\nb/flag_equal = 5\n");
    dataset *ds;
    dataset_settings settings = {.path = write_modules("experiment_identifier:y:x", 1e-16),
                                 .format = CONFIG_FORMAT_DENSE,
                                 .images = CXI_DETECTOR "/data",
                                 .geometry = {.file = geom}};
    assert_ok(dataset_open(&settings, &ds));
    float *images = all_images(ds);
    for (int i = 0; i < CXI_IMAGES * CXI_PIXELS; i++) {
        const bool first = i % CXI_PIXELS < CXI_PIXELS / 2;
        const bool bad = first ? i % 17 > 14 || i % 17 < 2 : i % 17 == 5;
        assert_int_equal(isnan(images[i]), bad);
        if (!bad) assert_close((double)images[i], i % 17, 0);
    }
    dataset_close(ds);
    settings.bin = 2;
    assert_ok(dataset_open(&settings, &ds));
    float *bins = all_images(ds);
    for (int64_t i = 0; i < CXI_IMAGES * ds->n_pixels; i++) {
        const int64_t image = i / ds->n_pixels, p = i % ds->n_pixels;
        const int64_t at = image * CXI_PIXELS + p / 4 * 20 + p % 4 / 2 * 10 + p % 2 * 2;
        const float sum = images[at] + images[at + 1] + images[at + 5] + images[at + 6];
        assert_true(isnan(sum) ? isnan(bins[i]) : bins[i] == sum);
    }
    free(images);
    free(bins);
    dataset_close(ds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stacks_of_modules_are_read),
        cmocka_unit_test(energies_that_are_no_joules_are_named),
        cmocka_unit_test(axes_and_booleans_of_other_programs_are_understood),
        cmocka_unit_test(a_geometry_takes_what_it_needs_from_the_images),
        cmocka_unit_test(flagged_values_are_of_bad_pixels),
    };
    log_setup(LOG_ERROR, 0, 1);
    return case_run(tests);
}
