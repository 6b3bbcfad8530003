/* test_command_evaluate.c: `mtip evaluate` on a run directory made from the truth itself, turned,
   shifted, inverted and blurred by known amounts.  Usage: test_command_evaluate MTIP PDB. */
#include "dataset.h"
#include "io_hdf5.h"
#include "io_mrc.h"
#include "mtip/align.h"
#include "mtip/reference.h"
#include "mtip/rotation.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { N = 37, N_IMAGES = 24, TEXT = 4096 };

static const char *program, *structure;
static char folder[] = "/tmp/mtip_evaluate_XXXXXX";
static const reference_grid grid = {N, 3.0, 1 / 6.5};
/* Of the run's frame to the truth's. */
static const alignment motion = {{0.5, -0.5, 0.1, 0.7}, {1.3, -0.6, 2.1}, -1, 0};

static void assert_done(status result)
{
    if (result != STATUS_OK) fail_msg("%s: %s", status_text(result), status_message());
}

/* Runs the program in the folder; returns its exit code and the end of what it printed. */
static int run(const char *arguments, char output[TEXT])
{
    char command[2 * TEXT];
    snprintf(command, sizeof command, "cd %s && %s -q %s 2>errors", folder, program, arguments);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    size_t size = 0;
    char line[512];
    *output = 0;
    while (fgets(line, sizeof line, pipe)) {
        size_t length = strlen(line);
        if (size + length >= TEXT) size = 0;
        memcpy(output + size, line, length + 1);
        size += length;
    }
    return pclose(pipe) / 256;
}

/* The number that follows the text. */
static double number_after(const char *output, const char *text)
{
    const char *found = strstr(output, text);
    if (!found) fail_msg("no %s in:\n%s", text, output);
    return found ? strtod(found + strlen(text), NULL) : NAN;
}

static void assert_between(double value, double low, double high)
{
    if (!(value >= low && value <= high)) fail_msg("%g is not in %g .. %g", value, low, high);
}

static const char *path_of(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static alignment normalized(void)
{
    alignment m = motion;
    double norm = sqrt(m.q[0] * m.q[0] + m.q[1] * m.q[1] + m.q[2] * m.q[2] + m.q[3] * m.q[3]);
    for (int d = 0; d < 4; d++)
        m.q[d] /= norm;
    return m;
}

/* The motion that undoes x = hand R y + shift: y = hand R^T x - hand R^T shift. */
static alignment inverse(const alignment *m)
{
    alignment back = {.hand = m->hand};
    double r[9];
    rotation_inverse(m->q, back.q);
    rotation_matrix(back.q, r);
    for (int d = 0; d < 3; d++)
        back.shift[d] = -m->hand * (r[3 * d] * m->shift[0] + r[3 * d + 1] * m->shift[1] +
                                    r[3 * d + 2] * m->shift[2]);
    return back;
}

static void write_map(const char *name, const double *density)
{
    static float values[N * N * N];
    for (int i = 0; i < N * N * N; i++)
        values[i] = (float)density[i];
    assert_done(mrc_write(path_of(name), N, N, N, values, grid.voxel, "test"));
}

static void write_density(const dataset *ds)
{
    static double truth[N * N * N], moved[N * N * N];
    device *dev = NULL;
    dataset_atoms atoms;
    alignment m = normalized(), back = inverse(&m);
    assert_done(device_create_cpu(1, &dev));
    assert_done(dataset_read_atoms(ds, &atoms));
    /* Finer than what is compared, so that the cut does not fall on the last shell. */
    reference_grid finer = grid;
    finer.s_max = 0.5 / grid.voxel;
    assert_done(
        reference_density(dev, atoms.atoms, atoms.n_atoms, &atoms.scattering, &finer, truth));
    assert_done(align_apply(dev, N, N / 2, truth, &back, moved));
    write_map("run/density.mrc", moved);
    write_map("truth.mrc", truth);
    free(atoms.atoms);
    device_destroy(dev);
}

static void write_result(const dataset *ds)
{
    double q[4 * N_IMAGES];
    const int64_t dims[2] = {N_IMAGES - 4, 4};
    int64_t image[N_IMAGES];
    h5_writer *w = NULL;
    alignment m = normalized(), back = inverse(&m);
    assert_done(dataset_read_truth(ds, 4, N_IMAGES - 4, q, NULL));
    align_orientations(&back, N_IMAGES - 4, q, q);
    for (int i = 0; i < N_IMAGES - 4; i++)
        image[i] = 4 + i;
    assert_done(h5_create(path_of("run/result.h5"), &w));
    assert_done(h5_write(w, "/orientations", H5_DOUBLE, 2, dims, q, NULL, NULL));
    assert_done(h5_write(w, "/image", H5_INT64, 1, dims, image, NULL, NULL));
    assert_done(h5_write_numbers(w, "/", "s_max_per_angstrom", H5_DOUBLE, 1, &grid.s_max));
    assert_done(h5_write_text(w, "/", "data_file", "images.h5"));
    assert_done(h5_commit(w));
}

static int prepare(void **state)
{
    (void)state;
    char output[TEXT], arguments[TEXT];
    dataset *ds = NULL;
    if (!mkdtemp(folder)) return 1;
    FILE *file = fopen(path_of("config.yaml"), "w");
    if (!file) return 1;
    fprintf(file,
            "molecule: {file: %s}\ndetector: {pixels: 16, pixel_size: 2}\n"
            "simulate: {images: %d, output: images.h5}\n",
            structure, N_IMAGES);
    fclose(file);
    if (run("simulate config.yaml", output) != 0) return 1;
    snprintf(arguments, sizeof arguments, "mkdir %s/run", folder);
    if (system(arguments) != 0) return 1;
    assert_done(dataset_open(&(dataset_settings){.path = path_of("images.h5")}, &ds));
    write_density(ds);
    write_result(ds);
    dataset_close(ds);
    return 0;
}

static int clean(void **state)
{
    (void)state;
    char command[TEXT];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static void the_last_line_is_the_resolution(void **state)
{
    (void)state;
    char output[TEXT];
    assert_int_equal(run("evaluate run", output), 0);
    const char *end =
        strstr(output, "FSC stays above 0.5: better than the edge\nFSC(0.5) 6.50 A\n");
    assert_non_null(end);
    assert_int_equal(strlen(strchr(strchr(end, '\n') + 1, '\n')), 1);
    assert_between(number_after(output, "frames of density and orientations differ by "), 0, 0.1);
    assert_int_equal(access(path_of("run/fsc.txt"), R_OK), 0);
}

static void json_has_the_numbers(void **state)
{
    (void)state;
    char output[TEXT];
    assert_int_equal(run("evaluate run --json", output), 0);
    assert_int_equal(output[0], '{');
    assert_between(number_after(output, "\"fsc05_angstrom\": "), 6.499, 6.501);
    assert_between(number_after(output, "\"hand\": "), -1, -1);
    assert_between(number_after(output, "\"cc\": "), 0.99, 1.0001);
    assert_between(number_after(output, "\"orientation_error_median_deg\": "), 0, 1e-3);
    assert_between(number_after(output, "\"orientation_within_10_deg\": "), 1, 1);
    assert_non_null(strstr(output, "\"half_fsc05_angstrom\": null"));
}

static void a_structure_and_a_map_serve_as_truth(void **state)
{
    (void)state;
    char output[TEXT], arguments[TEXT];
    snprintf(arguments, sizeof arguments, "evaluate run --json --truth %s", structure);
    assert_int_equal(run(arguments, output), 0);
    assert_between(number_after(output, "\"cc\": "), 0.99, 1.0001);
    assert_non_null(strstr(output, "\"orientation_error_median_deg\": null"));
    assert_int_equal(run("evaluate run --json --truth truth.mrc", output), 0);
    assert_between(number_after(output, "\"cc\": "), 0.99, 1.0001);
}

/* Keys that are gone, sections that are gone, values no longer allowed: said, and done without. */
static void settings_of_another_version_are_done_without(void **state)
{
    (void)state;
    char output[TEXT], errors[TEXT] = "";
    FILE *file = fopen(path_of("run/config.resolved.yaml"), "w");
    assert_non_null(file);
    fprintf(file, "data: {dataset: nothing, shuffle: 1}\nlegion: {nodes: 3}\ngrid: {size: 2}\n");
    assert_int_equal(fclose(file), 0);
    assert_int_equal(run("evaluate run --json", output), 4); /* what it needs is read */
    file = fopen(path_of("run/config.resolved.yaml"), "w");
    assert_non_null(file);
    fprintf(file, "data: {shuffle: 1}\nlegion: {nodes: 3}\ngrid: {size: 2}\n");
    assert_int_equal(fclose(file), 0);
    assert_int_equal(run("evaluate run --json", output), 0);
    assert_between(number_after(output, "\"cc\": "), 0.99, 1.0001);
    FILE *said = fopen(path_of("errors"), "r");
    assert_non_null(said);
    errors[fread(errors, 1, sizeof errors - 1, said)] = 0;
    fclose(said);
    assert_non_null(strstr(errors, "config.resolved.yaml:1:8: unknown key 'shuffle'"));
    assert_non_null(strstr(errors, "config.resolved.yaml:2:1: unknown section 'legion'"));
    assert_non_null(strstr(errors, "config.resolved.yaml:3:14: grid.size: 2 is out of range"));
    assert_int_equal(unlink(path_of("run/config.resolved.yaml")), 0);
}

static void broken_input_is_named(void **state)
{
    (void)state;
    char output[TEXT];
    assert_int_equal(run("evaluate nowhere", output), 4);
    assert_int_equal(run("evaluate run --truth nothing.h5", output), 4);
    assert_int_equal(run("evaluate", output), 2);
}

int main(int argc, char **argv)
{
    if (argc != 3) return 1;
    program = argv[1];
    structure = argv[2];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_line_is_the_resolution),
        cmocka_unit_test(json_has_the_numbers),
        cmocka_unit_test(a_structure_and_a_map_serve_as_truth),
        cmocka_unit_test(settings_of_another_version_are_done_without),
        cmocka_unit_test(broken_input_is_named),
    };
    return cmocka_run_group_tests(tests, prepare, clean);
}
