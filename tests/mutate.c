/* Reads files with bytes flipped, cut off or added, each in a process of its own, and counts how that
   ends: with a result or a message, as it should (a message, too, when the HDF5 library crashes where
   mtip check expects it to: "contained"); or in a crash, in more than ten seconds, or, for
   data sets of ours, whose bytes have checksums, in other numbers than were written.
   Usage: mutate N SEED SCRATCH_FILE FILE...   Exit 1 if one of the latter happened. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check_file.h"
#include "core/log.h"
#include "dataset.h"

enum { SECONDS = 10, MAX_BYTES = 8 << 20 };

typedef enum ending {
    ENDED_OK,
    ENDED_REFUSED,
    ENDED_CONTAINED, /* a library crashed in the child process of check_file, which says so */
    ENDED_CRASH,
    ENDED_WRONG,
    ENDED_LATE,
    N_ENDINGS
} ending;

static uint64_t state;

static uint64_t draw(uint64_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % n;
}

static size_t load(const char *path, unsigned char *bytes)
{
    FILE *file = fopen(path, "rb");
    size_t n = file ? fread(bytes, 1, MAX_BYTES, file) : 0;
    if (file) fclose(file);
    return n;
}

/* Returns the new size. */
static size_t mutate(unsigned char *bytes, size_t n)
{
    const uint64_t kind = draw(10);
    if (kind == 0) return (size_t)draw(n + 1);
    if (kind == 1) {
        size_t more = (size_t)draw(2000);
        for (size_t i = 0; i < more; i++)
            bytes[n + i] = (unsigned char)draw(256);
        return n + more;
    }
    /* half of the time where headers are */
    const uint64_t within = draw(2) && n > 4096 ? 4096 : n;
    for (uint64_t i = draw(kind < 6 ? 2 : 30) + 1; i > 0; i--) {
        unsigned char *byte = &bytes[draw(within)];
        static const unsigned char extremes[] = {0, 0xff, 0x7f, 0x80, '-', '9', '\n', ' '};
        *byte =
            (unsigned char)(draw(2) ? extremes[draw(sizeof extremes)] : *byte ^ (1u << draw(8)));
    }
    return n;
}

/* Whether a data set that could be read has the pixels and images of the original. */
static bool is_same(const char *path, const char *original)
{
    dataset *a = NULL, *b = NULL;
    const dataset_settings changed = {.path = path}, whole = {.path = original};
    if (dataset_open(&changed, &a) != STATUS_OK) return true;
    if (dataset_open(&whole, &b) != STATUS_OK) return false;
    const size_t n = (size_t)b->n_pixels, images = (size_t)b->n_images * n;
    if (a->n_pixels != b->n_pixels || a->n_images != b->n_images) return false;
    if (memcmp(a->det->s, b->det->s, 3 * n * sizeof(double)) != 0) return false;
    if (memcmp(a->correction, b->correction, n * sizeof(double)) != 0) return false;
    if (memcmp(a->det->mask, b->det->mask, n) != 0) return false;
    float *x = malloc(images * sizeof *x + 1), *y = malloc(images * sizeof *y + 1);
    if (!x || !y) return false;
    if (dataset_read(a, 0, a->n_images, x) != STATUS_OK) return true;
    return dataset_read(b, 0, b->n_images, y) == STATUS_OK && memcmp(x, y, images * sizeof *x) == 0;
}

static int look(const char *path, const char *original)
{
    static config settings;
    config_default(&settings);
    snprintf(settings.data.file, sizeof settings.data.file, "%s", path);
    settings.geometry.photon_energy = 4600;
    if (!check_file_is(path)) return ENDED_REFUSED;
    status result = check_file(&settings);
    if (result == STATUS_CONFIG) {
        settings.geometry.distance = 100;
        result = check_file(&settings);
    }
    if (result != STATUS_OK && strstr(status_message(), "crashed (signal")) return ENDED_CONTAINED;
    if (strstr(original, "ours.h5") && !is_same(path, original)) return ENDED_WRONG;
    return result == STATUS_OK ? ENDED_OK : ENDED_REFUSED;
}

static ending watch(pid_t child)
{
    const struct timespec pause = {0, 1000000};
    int how = 0;
    for (time_t end = time(NULL) + SECONDS; waitpid(child, &how, WNOHANG) == 0;) {
        (void)nanosleep(&pause, NULL);
        if (time(NULL) <= end) continue;
        (void)kill(-child, SIGKILL);
        (void)waitpid(child, &how, 0);
        return ENDED_LATE;
    }
    return WIFEXITED(how) && WEXITSTATUS(how) < N_ENDINGS ? (ending)WEXITSTATUS(how) : ENDED_CRASH;
}

static ending try_one(const char *path, const char *original)
{
    pid_t child = fork();
    if (child == 0) {
        (void)setpgid(0, 0);
        int nowhere = open("/dev/null", O_WRONLY);
        (void)dup2(nowhere, STDOUT_FILENO);
        (void)dup2(nowhere, STDERR_FILENO);
        _exit(look(path, original));
    }
    return watch(child);
}

static bool save(const char *path, const unsigned char *bytes, size_t n)
{
    FILE *file = fopen(path, "wb");
    if (!file) return false;
    bool good = fwrite(bytes, 1, n, file) == n;
    return fclose(file) == 0 && good;
}

int main(int argc, char **argv)
{
    static const char *const names[N_ENDINGS] = {"read",  "refused", "contained",
                                                 "CRASH", "WRONG",   "LATE"};
    int64_t counts[N_ENDINGS] = {0};
    if (argc < 5) return 2;
    const int64_t n = strtoll(argv[1], NULL, 10);
    int64_t n_done = 0;
    unsigned char *bytes = malloc(MAX_BYTES + 4096);
    if (!bytes) return 2;
    log_setup(LOG_ERROR, 0, 1);
    for (int64_t i = 0; i < n; i++) {
        const char *original = argv[4 + i % (argc - 4)];
        state = (uint64_t)strtoull(argv[2], NULL, 10) * 1000003u + (uint64_t)i;
        (void)draw(2);
        const size_t size = load(original, bytes);
        if (size == 0 || !save(argv[3], bytes, mutate(bytes, size))) break;
        n_done++;
        const ending end = try_one(argv[3], original);
        counts[end]++;
        if (end >= ENDED_CONTAINED)
            printf("%s: %s, number %lld\n", names[end], original, (long long)i);
    }
    for (int e = 0; e < N_ENDINGS && n_done == n; e++)
        printf("%s %lld%s", names[e], (long long)counts[e], e + 1 < N_ENDINGS ? ", " : "\n");
    free(bytes);
    if (n_done < n) return 2;
    return counts[ENDED_CRASH] + counts[ENDED_WRONG] + counts[ENDED_LATE] > 0;
}
