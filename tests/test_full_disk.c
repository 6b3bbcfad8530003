/* Writing to a full disk: a message with the reason, the old file as it was, nothing left behind.
   Mounts small file systems of its own, which only root may: skipped otherwise. */
#include <dirent.h>
#include <math.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include "dataset.h"
#include "io_atomic.h"
#include "io_hdf5.h"
#include "io_mrc.h"
#include "sim_case.h"

static const char *disk; /* where the small file system is mounted */

static void mount_disk(int kilobytes)
{
    char options[64];
    snprintf(options, sizeof options, "size=%dk", kilobytes);
    if (mount("tmpfs", disk, "tmpfs", 0, options) != 0) case_skip("cannot mount a tmpfs");
}

static const char *on_disk(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", disk, name);
    return path;
}

static void write_old(void)
{
    FILE *file = fopen(on_disk("x"), "w");
    assert_non_null(file);
    fputs("the old file", file);
    assert_int_equal(fclose(file), 0);
}

static void assert_only_the_old_file(void)
{
    char text[32] = "";
    FILE *file = fopen(on_disk("x"), "r");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof text, file));
    fclose(file);
    assert_string_equal(text, "the old file");
    int n_files = 0;
    DIR *directory = opendir(disk);
    assert_non_null(directory);
    for (struct dirent *entry = readdir(directory); entry; entry = readdir(directory))
        n_files += entry->d_name[0] != '.';
    closedir(directory);
    assert_int_equal(n_files, 1);
}

/* Runs a writer on disks from too small to large enough. */
static void sweep(status (*write)(const char *path), int largest)
{
    int n_failed = 0, n_written = 0;
    for (int size = 8; size <= largest; size += 1 + largest / 40) {
        mount_disk(size);
        write_old();
        status result = write(on_disk("x"));
        if (result == STATUS_OK) {
            n_written++;
        } else {
            assert_int_equal(result, STATUS_OUTPUT);
            assert_non_null(strstr(status_message(), on_disk("x")));
            assert_non_null(strstr(status_message(), "No space left on device"));
            assert_only_the_old_file();
            n_failed++;
        }
        assert_int_equal(umount(disk), 0);
    }
    assert_true(n_failed > 5);
    assert_true(n_written > 2);
}

static status write_text(const char *path)
{
    atomic_file *file;
    TRY(atomic_begin_stream(path, &file));
    for (int i = 0; i < 20000; i++)
        fprintf(atomic_stream(file), "line %d\n", i);
    return atomic_commit(file);
}

static status write_map(const char *path)
{
    static float values[40 * 40 * 40];
    return mrc_write(path, 40, 40, 40, values, 1, "a test");
}

static status write_images(const char *path)
{
    const detector_settings settings = {16, 16, 1e-3, 0.1, 1, POLARIZATION_NONE, 0};
    static float images[256 * 256];
    static double quaternions[4 * 256], fluences[256];
    detector *det;
    dataset_writer *w;
    TRY(detector_create(&settings, &det));
    const dataset_description about = {.det = det, .n_images = 256, .command_line = "a test"};
    for (int i = 0; i < 256 * 256; i++)
        images[i] = (float)i;
    status result = dataset_create(path, &about, &w);
    if (result == STATUS_OK) result = dataset_write(w, 0, 256, images, quaternions, fluences);
    if (result == STATUS_OK)
        result = dataset_commit(w);
    else
        dataset_abandon(w);
    detector_destroy(det);
    return result;
}

static void text_on_a_full_disk(void **state)
{
    (void)state;
    sweep(write_text, 400);
}

static void map_on_a_full_disk(void **state)
{
    (void)state;
    sweep(write_map, 500);
}

static void data_set_on_a_full_disk(void **state)
{
    (void)state;
    sweep(write_images, 700);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_on_a_full_disk),
        cmocka_unit_test(map_on_a_full_disk),
        cmocka_unit_test(data_set_on_a_full_disk),
    };
    if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) {
        printf("skipped: a small file system can only be mounted by root\n");
        return 77;
    }
    disk = case_scratch("");
    return case_run(tests);
}
