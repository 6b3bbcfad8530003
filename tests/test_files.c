/* Files: whole or not at all, read back as written, and hostile ones refused with a reason. */
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io_atomic.h"
#include "io_hdf5.h"
#include "io_mrc.h"
#include "sim_case.h"

static void write_bytes(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static size_t read_bytes(const char *path, void *bytes, size_t size)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t n = fread(bytes, 1, size, file);
    fclose(file);
    return n;
}

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

/* ---- atomic text ---- */

static void text_appears_only_when_committed(void **state)
{
    (void)state;
    const char *path;
    char temporary[300], found[16] = "";
    path = case_scratch("note.txt");
    write_bytes(path, "old", 3);
    atomic_file *file;
    assert_ok(atomic_begin_stream(path, &file));
    snprintf(temporary, sizeof temporary, "%s", atomic_temporary(file));
    fprintf(atomic_stream(file), "new text");
    assert_true(exists(temporary));
    assert_int_equal(read_bytes(path, found, sizeof found), 3);
    assert_ok(atomic_commit(file));
    assert_false(exists(temporary));
    assert_int_equal(read_bytes(path, found, sizeof found), 8);
    assert_ok(atomic_begin_stream(path, &file));
    fprintf(atomic_stream(file), "worse");
    atomic_abandon(file);
    assert_false(exists(temporary));
    assert_int_equal(read_bytes(path, found, sizeof found), 8);
    atomic_abandon(NULL);
}

static void symbolic_links_are_followed(void **state)
{
    (void)state;
    const char *target, *path;
    target = case_scratch("target.txt");
    path = case_scratch("link.txt");
    write_bytes(target, "old", 3);
    assert_int_equal(symlink("target.txt", path), 0);
    atomic_file *file;
    assert_ok(atomic_begin_stream(path, &file));
    fprintf(atomic_stream(file), "new text");
    assert_ok(atomic_commit(file));
    struct stat info;
    assert_int_equal(lstat(path, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    char found[16];
    assert_int_equal(read_bytes(target, found, sizeof found), 8);
}

static void places_that_cannot_be_written_are_named(void **state)
{
    (void)state;
    atomic_file *file;
    assert_fails(atomic_begin("/nonexistent/a.txt", &file), STATUS_OUTPUT, "'/nonexistent'");
    assert_fails(atomic_begin("/tmp", &file), STATUS_OUTPUT, "is a directory");
    assert_fails(atomic_begin("", &file), STATUS_OUTPUT, "empty");
    assert_fails(atomic_begin("-", &file), STATUS_OUTPUT, "./-");
    assert_null(file);
    if (geteuid() != 0)
        assert_fails(atomic_begin("/etc/a.txt", &file), STATUS_OUTPUT, "Permission denied");
}

/* What is renamed over a device takes its place, where the user is root. */
static void devices_and_pipes_stay_what_they_are(void **state)
{
    (void)state;
    const char *path = case_scratch("pipe");
    assert_int_equal(mkfifo(path, 0600), 0);
    atomic_file *file;
    assert_fails(atomic_begin_stream(path, &file), STATUS_OUTPUT, "is a device, pipe or socket");
    assert_null(file);
    struct stat info;
    assert_int_equal(lstat(path, &info), 0);
    assert_true(S_ISFIFO(info.st_mode));
}

/* ---- HDF5 ---- */

enum { N_ROWS = 1000, ROW = 300 };

static float *ramp(void)
{
    float *values = malloc(sizeof *values * N_ROWS * ROW);
    for (int i = 0; i < N_ROWS * ROW; i++)
        values[i] = (float)i;
    return values;
}

/* A file with a large dataset in rows, a group, a scalar and attributes. */
static const char *write_example(const char *name)
{
    const char *path = case_scratch(name);
    const int64_t dims[2] = {N_ROWS, ROW}, small[1] = {3}, numbers[3] = {1, -2, 3};
    const double scalar = 0.25;
    float *values = ramp();
    h5_writer *w;
    assert_ok(h5_create(path, &w));
    assert_ok(h5_declare(w, "/big", H5_SINGLE, 2, dims, "photons", "a ramp"));
    assert_ok(h5_write_rows(w, "/big", 400, 600, values + 400 * ROW));
    assert_ok(h5_write_rows(w, "/big", 0, 400, values));
    assert_ok(h5_write(w, "/a/deep/numbers", H5_INT64, 1, small, numbers, NULL, NULL));
    assert_ok(h5_write(w, "/scalar", H5_DOUBLE, 0, NULL, &scalar, "m", NULL));
    assert_ok(h5_write_text(w, "/", "title", "the title"));
    assert_ok(h5_write_text(w, "/group", "empty", ""));
    assert_ok(h5_write_numbers(w, "/", "shape", H5_INT64, 3, numbers));
    assert_ok(h5_write_numbers(w, "/a", "length", H5_DOUBLE, 1, &scalar));
    assert_ok(h5_commit(w));
    free(values);
    return path;
}

static void hdf5_gives_back_what_was_written(void **state)
{
    (void)state;
    h5_reader *r;
    assert_ok(h5_open(write_example("a.h5"), &r));
    const int64_t dims[2] = {N_ROWS, ROW};
    float *values = ramp(), *found = calloc(N_ROWS * ROW, sizeof *found);
    assert_ok(h5_read(r, "/big", H5_SINGLE, 2, dims, found));
    assert_memory_equal(values, found, sizeof *found * N_ROWS * ROW);
    double row[2 * ROW];
    assert_ok(h5_read_rows(r, "/big", H5_DOUBLE, 17, 2, row));
    for (int i = 0; i < 2 * ROW; i++)
        assert_close(row[i], 17 * ROW + i, 0);
    int64_t numbers[3];
    double number;
    char text[32];
    assert_ok(h5_read(r, "/a/deep/numbers", H5_INT64, 1, (const int64_t[]){3}, numbers));
    assert_true(numbers[1] == -2);
    assert_ok(h5_read(r, "/scalar", H5_DOUBLE, 0, NULL, &number));
    assert_close(number, 0.25, 0);
    assert_ok(h5_read_text(r, "/", "title", text, sizeof text));
    assert_string_equal(text, "the title");
    assert_ok(h5_read_text(r, "/big", "units", text, sizeof text));
    assert_string_equal(text, "photons");
    assert_ok(h5_read_text(r, "/group", "empty", text, sizeof text));
    assert_string_equal(text, "");
    assert_ok(h5_read_numbers(r, "/", "shape", H5_INT64, 3, numbers));
    assert_true(numbers[2] == 3);
    assert_ok(h5_read_numbers(r, "/a", "length", H5_DOUBLE, 1, &number));
    assert_close(number, 0.25, 0);
    h5_close(r);
    free(values);
    free(found);
}

static void hdf5_bytes_do_not_depend_on_the_day(void **state)
{
    (void)state;
    static char one[2 << 20], other[2 << 20];
    size_t n = read_bytes(write_example("one.h5"), one, sizeof one);
    sleep(1);
    assert_int_equal(read_bytes(write_example("other.h5"), other, sizeof other), n);
    assert_true(n > 1200000 && n < sizeof one);
    assert_memory_equal(one, other, n);
}

static void hdf5_says_what_is_there_and_what_is_not(void **state)
{
    (void)state;
    h5_reader *r;
    float value[3];
    int64_t number;
    assert_ok(h5_open(write_example("b.h5"), &r));
    assert_true(h5_has(r, "/a/deep/numbers"));
    assert_false(h5_has(r, "/a/deep"));
    assert_false(h5_has(r, "/a/none/numbers"));
    assert_false(h5_has(r, ""));
    assert_fails(h5_read(r, "/none", H5_SINGLE, 0, NULL, value), STATUS_INPUT,
                 "b.h5: no dataset '/none'; the file holds /a/deep/numbers, /big, /scalar");
    assert_fails(h5_read(r, "/a", H5_SINGLE, 0, NULL, value), STATUS_INPUT, "no dataset '/a'");
    assert_fails(h5_read(r, "/a/deep/numbers", H5_SINGLE, 1, (const int64_t[]){4}, value),
                 STATUS_INPUT, "'/a/deep/numbers' is (3) int64; expected (4) float32");
    assert_fails(h5_read(r, "/scalar", H5_INT64, 0, NULL, &number), STATUS_INPUT,
                 "'/scalar' is () float64; expected () int64");
    assert_fails(h5_read_rows(r, "/big", H5_SINGLE, 999, 2, value), STATUS_INPUT,
                 "rows 999 to 1000 of dataset '/big', which has 1000");
    assert_fails(h5_read_numbers(r, "/", "none", H5_INT64, 1, &number), STATUS_INPUT,
                 "'/' has no attribute 'none'");
    assert_fails(h5_read_numbers(r, "/", "shape", H5_INT64, 2, &number), STATUS_INPUT,
                 "has 3 numbers; expected 2");
    assert_fails(h5_read_numbers(r, "/", "title", H5_INT64, 1, &number), STATUS_INPUT,
                 "elements that are no numbers");
    char text[8];
    assert_fails(h5_read_text(r, "/", "shape", text, sizeof text), STATUS_INPUT,
                 "not one readable text");
    h5_close(r);
}

static void hdf5_refuses_what_is_no_hdf5(void **state)
{
    (void)state;
    h5_reader *r;
    const char *path;
    path = case_scratch("c.h5");
    write_bytes(path, "plain text, long enough to look at", 34);
    assert_fails(h5_open(path, &r), STATUS_INPUT, "is not an HDF5 file");
    write_bytes(path, "", 0);
    assert_fails(h5_open(path, &r), STATUS_INPUT, "is empty");
    assert_fails(h5_open("/tmp", &r), STATUS_INPUT, "is a directory");
    assert_fails(h5_open("/nonexistent.h5", &r), STATUS_INPUT, "No such file");
    static char bytes[2 << 20];
    size_t n = read_bytes(write_example("d.h5"), bytes, sizeof bytes);
    write_bytes(path, bytes, n / 2);
    assert_fails(h5_open(path, &r), STATUS_INPUT, "cut short");
    assert_null(r);
    h5_close(NULL);
}

/* Every byte that is damaged is noticed, or belongs to nothing that is read. */
static void hdf5_damage_is_noticed(void **state)
{
    (void)state;
    static char bytes[2 << 20];
    const char *path;
    size_t n = read_bytes(write_example("e.h5"), bytes, sizeof bytes);
    path = case_scratch("f.h5");
    const int64_t dims[2] = {N_ROWS, ROW};
    float *values = ramp(), *found = calloc(N_ROWS * ROW, sizeof *found);
    unsigned seed = 7;
    int noticed = 0;
    for (int trial = 0; trial < 60; trial++) {
        seed = seed * 1664525u + 1013904223u;
        size_t at = trial < 30 ? (seed >> 4) % 4096 : (seed >> 4) % n;
        char kept = bytes[at];
        bytes[at] = (char)(kept ^ (1 << (seed >> 29)));
        write_bytes(path, bytes, n);
        bytes[at] = kept;
        h5_reader *r;
        status result = h5_open(path, &r);
        if (result == STATUS_OK) result = h5_read(r, "/big", H5_SINGLE, 2, dims, found);
        h5_close(r);
        if (result == STATUS_OK)
            assert_memory_equal(values, found, sizeof *found * N_ROWS * ROW);
        else
            assert_int_equal(result, STATUS_INPUT);
        noticed += result != STATUS_OK;
    }
    assert_true(noticed > 20);
    free(values);
    free(found);
}

static void hdf5_incomplete_or_abandoned_leaves_nothing(void **state)
{
    (void)state;
    const char *path;
    char temporary[300];
    path = case_scratch("g.h5");
    snprintf(temporary, sizeof temporary, "%s.tmp.%ld", path, (long)getpid());
    const int64_t dims[1] = {10};
    const double values[10] = {0};
    h5_writer *w;
    assert_ok(h5_create(path, &w));
    assert_ok(h5_declare(w, "/x", H5_DOUBLE, 1, dims, NULL, NULL));
    assert_ok(h5_write_rows(w, "/x", 0, 9, values));
    assert_true(exists(temporary));
    assert_fails(h5_commit(w), STATUS_INTERNAL, "has 9 of its 10 rows");
    assert_false(exists(path) || exists(temporary));
    assert_ok(h5_create(path, &w));
    assert_fails(h5_write_rows(w, "/none", 0, 1, values), STATUS_INVALID, "'/none'");
    h5_abandon(w);
    assert_false(exists(path) || exists(temporary));
    assert_fails(h5_create("/nonexistent/x.h5", &w), STATUS_OUTPUT, "'/nonexistent'");
    assert_null(w);
    h5_abandon(NULL);
}

/* ---- MRC ---- */

static void mrc_gives_back_what_was_written(void **state)
{
    (void)state;
    enum { NX = 5, NY = 4, NZ = 3 };
    float values[NX * NY * NZ];
    for (int i = 0; i < NX * NY * NZ; i++)
        values[i] = (float)(i * i) - 7.5f;
    const char *path;
    path = case_scratch("a.mrc");
    assert_ok(mrc_write(path, NX, NY, NZ, values, 3.5, "a test"));
    mrc_map *map;
    assert_ok(mrc_read(path, &map));
    assert_int_equal(map->nx, NX);
    assert_int_equal(map->ny, NY);
    assert_int_equal(map->nz, NZ);
    assert_memory_equal(map->values, values, sizeof values);
    for (int d = 0; d < 3; d++)
        assert_close(map->voxel[d], 3.5, 1e-6);
    assert_close(map->origin[0], -7, 1e-6);
    assert_close(map->origin[2], -3.5, 1e-6);
    mrc_destroy(map);
    mrc_destroy(NULL);
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_size, 1024 + 4 * NX * NY * NZ);
}

static void mrc_refuses_what_is_no_map(void **state)
{
    (void)state;
    const char *path;
    char bytes[2048];
    const float values[8] = {0, 1, 2, 3, 4, 5, 6, 7}, bad[1] = {NAN};
    path = case_scratch("b.mrc");
    mrc_map *map;
    assert_ok(mrc_write(path, 2, 2, 2, values, 1, ""));
    size_t n = read_bytes(path, bytes, sizeof bytes);
    write_bytes(path, bytes, n - 1);
    assert_fails(mrc_read(path, &map), STATUS_INPUT, "1055 bytes; a map of 2 x 2 x 2");
    write_bytes(path, bytes, 100);
    assert_fails(mrc_read(path, &map), STATUS_INPUT, "shorter than the 1024 bytes");
    bytes[208] = 'X';
    write_bytes(path, bytes, n);
    assert_fails(mrc_read(path, &map), STATUS_INPUT, "no 'MAP'");
    bytes[208] = 'M';
    bytes[68] = 1; /* axes 1 1 3 */
    write_bytes(path, bytes, n);
    assert_fails(mrc_read(path, &map), STATUS_INPUT, "axes 1, 1, 3");
    bytes[68] = 2;
    bytes[2] = 1; /* 65538 columns */
    write_bytes(path, bytes, n);
    assert_fails(mrc_read(path, &map), STATUS_INPUT, "65538 voxels");
    bytes[2] = 0;
    bytes[12] = 4; /* complex */
    write_bytes(path, bytes, n);
    assert_fails(mrc_read(path, &map), STATUS_INPUT, "mode 4");
    assert_fails(mrc_read("/nonexistent", &map), STATUS_INPUT, "No such file");
    assert_null(map);
    assert_fails(mrc_write(path, 1, 1, 1, bad, 1, ""), STATUS_NUMERIC, "value 0 of the map");
    assert_fails(mrc_write(path, 0, 1, 1, bad, 1, ""), STATUS_INVALID, "0 x 1 x 1");
}

/* An extended header, axes in the order z, x, y, and the other byte order. */
static void mrc_axes_and_byte_orders_are_brought_home(void **state)
{
    (void)state;
    const char *path;
    char bytes[2048], longer[2048];
    path = case_scratch("c.mrc");
    float values[24];
    for (int i = 0; i < 24; i++)
        values[i] = (float)i;
    assert_ok(mrc_write(path, 2, 3, 4, values, 1, "")); /* columns, rows, sections */
    assert_int_equal(read_bytes(path, bytes, sizeof bytes), 1024 + 96);
    bytes[64] = 3;
    bytes[68] = 1;
    bytes[72] = 2;
    bytes[92] = 80; /* NSYMBT */
    memset(longer, 'x', sizeof longer);
    memcpy(longer, bytes, 1024);
    memcpy(longer + 1104, bytes + 1024, 96);
    for (int swap = 0; swap < 2; swap++) {
        write_bytes(path, longer, 1024 + 80 + 96);
        mrc_map *map;
        assert_ok(mrc_read(path, &map));
        assert_int_equal(map->nx, 3);
        assert_int_equal(map->ny, 4);
        assert_int_equal(map->nz, 2);
        for (int z = 0; z < 2; z++)
            for (int y = 0; y < 4; y++)
                for (int x = 0; x < 3; x++)
                    assert_true(map->values[(z * 4 + y) * 3 + x] == (float)(z + 2 * x + 6 * y));
        mrc_destroy(map);
        for (int i = 0; i < 1200; i += 4) /* every word but MAP, MACHST and labels */
            if (i < 208 || (i >= 216 && i < 224) || i >= 1104)
                for (int b = 0; b < 2; b++) {
                    char c = longer[i + b];
                    longer[i + b] = longer[i + 3 - b];
                    longer[i + 3 - b] = c;
                }
    }
}

static void mrc_reads_maps_of_other_programs(void **state)
{
    (void)state;
    mrc_map *map;
    assert_ok(mrc_read(case_shared("maps/EMD-3197.map"), &map));
    assert_int_equal(map->nx * map->ny * map->nz, 20 * 20 * 20);
    assert_true(map->voxel[0] > 0);
    mrc_destroy(map);
    assert_ok(mrc_read(case_shared("maps/gemmi_5i55_tiny.ccp4"), &map));
    assert_true(map->nx > 0);
    mrc_destroy(map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_appears_only_when_committed),
        cmocka_unit_test(symbolic_links_are_followed),
        cmocka_unit_test(places_that_cannot_be_written_are_named),
        cmocka_unit_test(devices_and_pipes_stay_what_they_are),
        cmocka_unit_test(hdf5_gives_back_what_was_written),
        cmocka_unit_test(hdf5_bytes_do_not_depend_on_the_day),
        cmocka_unit_test(hdf5_says_what_is_there_and_what_is_not),
        cmocka_unit_test(hdf5_refuses_what_is_no_hdf5),
        cmocka_unit_test(hdf5_damage_is_noticed),
        cmocka_unit_test(hdf5_incomplete_or_abandoned_leaves_nothing),
        cmocka_unit_test(mrc_gives_back_what_was_written),
        cmocka_unit_test(mrc_refuses_what_is_no_map),
        cmocka_unit_test(mrc_axes_and_byte_orders_are_brought_home),
        cmocka_unit_test(mrc_reads_maps_of_other_programs),
    };
    return case_run(tests);
}
