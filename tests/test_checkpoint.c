/* Checkpoints: read back as written, damage noticed wherever it is, the one before taken instead, and a
   write that fails at any call leaves what was there.

       test_checkpoint            these tests
       test_checkpoint write DIR  writes checkpoint number 2 over number 1 in DIR; with a fault of
                                  inject_io.c: 0 if it was written, 6 if not; DIR is left so */
#include <math.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "checkpoint.h"
#include "io_seal.h"
#include "sim_case.h"

enum { SIZE = 9, VOLUME = SIZE * SIZE * SIZE, N_IMAGES = 7, DATA = 12345 };

static config cfg;

static void settings(const char *directory)
{
    config_default(&cfg);
    snprintf(cfg.run.directory, sizeof cfg.run.directory, "%s", directory);
    cfg.grid.size = SIZE;
    cfg.run.attempts = 3;
}

static reconstruction *make(void)
{
    reconstruction *made = calloc(1, sizeof *made);
    assert_non_null(made);
    made->size = SIZE;
    for (int h = 0; h < 2; h++)
        assert_non_null(made->half[h] = calloc(VOLUME, sizeof(double)));
    assert_ok(progress_create(SIZE, cfg.run.attempts, &made->progress));
    return made;
}

/* Numbers that differ from state to state, with bits that a conversion would lose. */
static void fill(double *values, int64_t n, int number)
{
    for (int64_t i = 0; i < n; i++)
        values[i] = number + sin((double)i + 1) * 1e-3;
}

/* The progress of two attempts compared and `number` generations of the next. */
static reconstruction *example(int number)
{
    reconstruction *made = make();
    progress *p = &made->progress;
    for (p->attempts = 0; p->attempts < 2; p->attempts++) {
        assert_ok(progress_grow(p));
        for (int h = 0; h < 2; h++)
            fill(p->half[h][p->attempts], VOLUME, 10 * (int)p->attempts + h);
    }
    for (int h = 0; h < 2; h++) {
        run_state *s = &p->runs[h];
        fill(made->half[h], VOLUME, 100 + h);
        *s = (run_state){.generation = number, .has_model = 1, .size = SIZE, .n_images = N_IMAGES};
        assert_ok(run_state_reserve(s));
        for (state_part part = 0; part < N_STATE_PARTS; part++)
            fill(state_part_of(s, part), state_count(s, part), 1000 * number + 10 * h + (int)part);
    }
    made->records = calloc(3, sizeof *made->records);
    made->n_records = 3;
    made->records[2].r_factor = 0.125 + number;
    return made;
}

static void write_number(int number)
{
    reconstruction *made = example(number);
    assert_ok(checkpoint_write(&cfg, DATA, made));
    reconstruction_destroy(made);
}

static void assert_same(const double *a, const double *b, int64_t n)
{
    assert_memory_equal(a, b, (size_t)n * sizeof *a);
}

static void assert_equal(const reconstruction *a, const reconstruction *b)
{
    const progress *p = &a->progress, *q = &b->progress;
    assert_int_equal(p->attempts, q->attempts);
    assert_int_equal(a->n_records, b->n_records);
    assert_true(a->records[2].r_factor == b->records[2].r_factor);
    for (int h = 0; h < 2; h++) {
        const run_state *s = &p->runs[h], *t = &q->runs[h];
        assert_same(a->half[h], b->half[h], VOLUME);
        for (int64_t i = 0; i < p->attempts; i++)
            assert_same(p->half[h][i], q->half[h][i], VOLUME);
        assert_int_equal(s->generation, t->generation);
        assert_int_equal(s->has_model, t->has_model);
        for (state_part part = 0; part < N_STATE_PARTS; part++)
            assert_same(state_part_of(s, part), state_part_of(t, part), state_count(s, part));
    }
}

/* The number of the checkpoint that is found, 0 if there is none; negative: the status of a failure. */
static int find(void)
{
    bool found = false;
    reconstruction *made = make();
    const status result = checkpoint_read(&cfg, DATA, made, &found);
    const int number = result != STATUS_OK ? -(int)result
                       : found             ? (int)made->progress.runs[0].generation
                                           : 0;
    if (number > 0) {
        reconstruction *wanted = example(number);
        assert_equal(wanted, made);
        reconstruction_destroy(wanted);
    }
    reconstruction_destroy(made);
    return number;
}

static const char *in_run(const char *name)
{
    static char path[CONFIG_TEXT_SIZE + 64];
    snprintf(path, sizeof path, "%s/%s", cfg.run.directory, name);
    return path;
}

static void begin(const char *name)
{
    settings(case_scratch(name));
    assert_int_equal(mkdir(cfg.run.directory, 0777), 0);
}

/* The bytes of a file, which the caller frees. */
static char *bytes_of(const char *path, size_t *n)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *bytes = malloc(4 << 20);
    assert_non_null(bytes);
    *n = fread(bytes, 1, 4 << 20, file);
    fclose(file);
    return bytes;
}

static void put(const char *path, const char *bytes, size_t n)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

static void a_checkpoint_gives_back_every_bit(void **state)
{
    (void)state;
    begin("a");
    assert_int_equal(find(), 0);
    write_number(1);
    assert_int_equal(find(), 1);
    write_number(2);
    assert_int_equal(find(), 2);
    assert_int_equal(unlink(in_run("checkpoint.h5")), 0);
    assert_int_equal(find(), 1);
    checkpoint_remove(&cfg);
    assert_int_equal(find(), 0);
}

/* A bit of every 257th byte, and of all of the first block; cut after every 999th. */
static void damage_anywhere_is_noticed_and_the_one_before_is_taken(void **state)
{
    (void)state;
    begin("b");
    write_number(1);
    write_number(2);
    size_t n, n_damaged = 0;
    char *bytes = bytes_of(in_run("checkpoint.h5"), &n);
    for (size_t i = 0; i < n; i += i < SEAL_SIZE ? 1 : 257, n_damaged++) {
        bytes[i] = (char)(bytes[i] ^ (1 << i % 8));
        put(in_run("checkpoint.h5"), bytes, n);
        bytes[i] = (char)(bytes[i] ^ (1 << i % 8));
        char about[SEAL_SIZE];
        assert_fails(seal_check(in_run("checkpoint.h5"), about), STATUS_INPUT, "checkpoint.h5");
    }
    assert_int_equal(find(), 1);
    assert_int_equal(access(in_run("checkpoint_damaged.h5"), F_OK), 0);
    for (size_t length = 0; length < n; length += 999, n_damaged++) {
        put(in_run("checkpoint.h5"), bytes, length);
        char about[SEAL_SIZE];
        assert_fails(seal_check(in_run("checkpoint.h5"), about), STATUS_INPUT, "checkpoint.h5");
        if (length % 9990 == 0) assert_int_equal(find(), 1);
    }
    print_message("%zu damaged files of %zu bytes, all noticed\n", n_damaged, n);
    put(in_run("checkpoint.h5"), bytes, n / 2);
    put(in_run("checkpoint_previous.h5"), bytes, n / 2);
    assert_int_equal(find(), -(int)STATUS_OUTPUT);
    put(in_run("checkpoint_previous.h5"), bytes, n);
    assert_int_equal(find(), 2);
    write_number(3); /* the damaged one has not pushed out the good one */
    assert_int_equal(unlink(in_run("checkpoint.h5")), 0);
    assert_int_equal(find(), 2);
    free(bytes);
}

static void other_settings_data_and_versions_are_refused(void **state)
{
    (void)state;
    begin("c");
    write_number(1);
    bool found;
    reconstruction *made = make();
    cfg.parallel.threads = 3;
    assert_ok(checkpoint_read(&cfg, DATA, made, &found));
    cfg.run.seed = 9;
    assert_fails(checkpoint_read(&cfg, DATA, made, &found), STATUS_CONFIG, "run.seed changed");
    cfg.run.seed = 1;
    assert_fails(checkpoint_read(&cfg, DATA + 1, made, &found), STATUS_CONFIG, "other images");
    size_t n;
    char *bytes = bytes_of(in_run("checkpoint.h5"), &n), about[SEAL_SIZE];
    assert_ok(seal_check(in_run("checkpoint.h5"), about));
    memset(bytes, 0, SEAL_SIZE);
    put(in_run("checkpoint.h5"), bytes, n);
    *strstr(about, "format 2") = 0;
    strcat(about, "format 7\n");
    assert_ok(seal_write(in_run("checkpoint.h5"), about));
    assert_fails(checkpoint_read(&cfg, DATA, made, &found), STATUS_CONFIG, "of format 7");
    free(bytes);
    reconstruction_destroy(made);
}

/* A call that fails is told, with the system's reason, and what was there is found again. */
static void a_write_that_fails_leaves_what_was_there(void **state)
{
    (void)state;
    static const char *const calls[] = {"write", "fsync", "rename", "close"};
    static const char *const errors[] = {"ENOSPC", "EIO", "ESTALE"};
    if (access(INJECT_IO, R_OK) != 0) case_skip("no library to preload");
    for (int c = 0; c < 4; c++)
        for (int e = 0; e < 3; e++) {
            int failed = 0, written = 0;
            for (int k = 1; written == 0 && k < 400; k += c == 0 ? 1 + k / 8 : 1) {
                char command[4096];
                snprintf(command, sizeof command,
                         "MTIP_IO_FAULT=%s:%s:%d MTIP_IO_PATH=checkpoint LD_PRELOAD=%s "
                         "ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 %s write %s",
                         calls[c], errors[e], k, INJECT_IO, SELF, case_scratch("d"));
                const int code = system(command);
                settings(case_scratch("d"));
                const int number = find();
                if (code == 0) written++;
                if (code != 0) failed++;
                if (!(code == 0 ? number == 2 : WEXITSTATUS(code) == 6 && number == 1)) {
                    print_error("%s\nexit %d, checkpoint %d found\n", command, code, number);
                    fail();
                }
            }
            print_message("%s %s: %d failing, %d written\n", calls[c], errors[e], failed, written);
            assert_true(written == 1 && (failed > 0 || c == 3));
        }
}

/* A process that writes one checkpoint after the other is killed at any moment: one is found. */
static void a_kill_while_it_is_written_leaves_a_good_one(void **state)
{
    (void)state;
    begin("e");
    write_number(1);
    unsigned seed = 5;
    int highest = 1;
    for (int trial = 0; trial < 60; trial++) {
        const pid_t child = fork();
        assert_true(child >= 0);
        for (int number = highest + 1; child == 0; number++)
            if (checkpoint_write(&cfg, DATA, example(number)) != STATUS_OK) _exit(1);
        seed = seed * 1664525u + 1013904223u;
        usleep(seed >> 16);
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, NULL, 0), child);
        const int number = find();
        assert_true(number >= highest);
        highest = number;
    }
    print_message("60 kills while %d checkpoints were written, each time a good one was found\n",
                  highest);
}

static int write_over(const char *directory)
{
    char command[512];
    snprintf(command, sizeof command, "rm -rf '%s' && mkdir '%s'", directory, directory);
    const char *plan = getenv("MTIP_IO_FAULT");
    char *kept = plan ? strdup(plan) : NULL;
    unsetenv("MTIP_IO_FAULT");
    if (system(command) != 0) return 1;
    settings(directory);
    write_number(1);
    if (kept) setenv("MTIP_IO_FAULT", kept, 1);
    const status result = checkpoint_write(&cfg, DATA, example(2));
    if (result != STATUS_OK) fprintf(stderr, "%s\n", status_message());
    return status_exit_code(result);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_checkpoint_gives_back_every_bit),
        cmocka_unit_test(damage_anywhere_is_noticed_and_the_one_before_is_taken),
        cmocka_unit_test(other_settings_data_and_versions_are_refused),
        cmocka_unit_test(a_write_that_fails_leaves_what_was_there),
        cmocka_unit_test(a_kill_while_it_is_written_leaves_a_good_one),
    };
    if (argc == 3 && strcmp(argv[1], "write") == 0) return write_over(argv[2]);
    return case_run(tests);
}
