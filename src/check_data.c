#include "check_data.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/log.h"
#include "dataset.h"
#include "forecast.h"
#include "inputs.h"

enum { BLOCK_BYTES = 64 << 20 };

/* What a look at all images gives. */
typedef struct totals {
    dataset_faults faults;
    double photons; /* in used, finite pixels */
    int64_t n_used; /* pixels of an image */
    double s_max;   /* of the used pixels, 1/A */
} totals;

bool check_data_is(const char *path)
{
    static const char signature[8] = {'\x89', 'H', 'D', 'F', '\r', '\n', '\x1a', '\n'};
    char begin[8] = "";
    FILE *file = fopen(path, "rb");
    if (!file) return false;
    size_t n = fread(begin, 1, sizeof begin, file);
    fclose(file);
    return n == sizeof begin && memcmp(begin, signature, sizeof begin) == 0;
}

static void measure_pixels(const dataset *ds, totals *t)
{
    double largest = 0;
    for (int64_t p = 0; p < ds->n_pixels; p++) {
        if (!ds->det->mask[p]) continue;
        const double *s = ds->det->s + 3 * p;
        largest = fmax(largest, s[0] * s[0] + s[1] * s[1] + s[2] * s[2]);
        t->n_used++;
    }
    t->s_max = sqrt(largest);
}

static double sum_photons(const dataset *ds, const float *block, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count * ds->n_pixels; i++)
        if (ds->det->mask[i % ds->n_pixels] && isfinite(block[i])) sum += (double)block[i];
    return sum;
}

static status read_images(const dataset *ds, totals *t)
{
    int64_t most = BLOCK_BYTES / (ds->n_pixels * (int64_t)sizeof(float));
    if (most < 1) most = 1;
    if (most > ds->n_images) most = ds->n_images;
    float *block = malloc((size_t)(most * ds->n_pixels) * sizeof *block + 1);
    if (!block) FAIL(STATUS_RESOURCE, "no memory for %lld images", (long long)most);
    status result = STATUS_OK;
    t->faults = dataset_no_faults;
    for (int64_t first = 0; first < ds->n_images; first += most) {
        int64_t count = ds->n_images - first < most ? ds->n_images - first : most;
        TRY_OR(done, dataset_read(ds, first, count, block));
        dataset_check(ds, block, first, count, &t->faults);
        t->photons += sum_photons(ds, block, count);
    }
done:
    free(block);
    return result;
}

static void print_dataset(const dataset *ds, const totals *t)
{
    const dataset_faults *f = &t->faults;
    printf(
        "images          %lld of %lld x %lld x %lld pixels (panels, rows, columns), %lld of them "
        "used\n",
        (long long)ds->n_images, (long long)ds->det->shape[0], (long long)ds->det->shape[1],
        (long long)ds->det->shape[2], (long long)t->n_used);
    if (ds->det->wavelength > 0) printf("wavelength      %.4f A\n", ds->det->wavelength);
    printf("largest |s|     %.5f 1/A, full period %.2f A, voxel %.3f A\n", t->s_max, 1 / t->s_max,
           1 / (2 * t->s_max));
    printf("photons         %.4g in an image on average\n", t->photons / (double)ds->n_images);
    printf("truth           %s\n", ds->has_truth ? "orientations of every image" : "none");
    printf("faults          %lld images with bad pixels (%lld NaN, %lld infinite, %lld negative), "
           "%lld images without a photon\n",
           (long long)f->n_bad_images, (long long)f->n_nan, (long long)f->n_infinite,
           (long long)f->n_negative, (long long)f->n_dark_images);
}

/* What a reconstruction would refuse. */
static status check_inputs(const config *cfg)
{
    comm *alone = NULL;
    catalogue *k = NULL;
    status result = comm_start(NULL, NULL, &alone);
    if (result == STATUS_OK) result = inputs_open(cfg, alone, &k);
    catalogue_destroy(k);
    comm_finish(alone);
    return result;
}

static status check_here(const char *path, const char *images_name, const config *c)
{
    if (c) TRY(check_inputs(c));
    dataset *ds = NULL;
    totals t = {.n_used = 0};
    status result = STATUS_OK;
    dataset_settings settings = {.path = path, .images = images_name};
    if (c) settings = dataset_settings_of(c);
    TRY_OR(done, dataset_open(&settings, &ds));
    measure_pixels(ds, &t);
    TRY_OR(done, read_images(ds, &t));
    print_dataset(ds, &t);
    if (c)
        TRY_OR(done, forecast_print(c, c->data.images ? c->data.images : ds->n_images, t.n_used));
done:
    dataset_close(ds);
    return result;
}

/* How the child tells what it found. */
typedef struct verdict {
    status code;
    char place[128];
    char message[2048];
} verdict;

static _Noreturn void check_in_child(int answer, const char *path, const char *images_name,
                                     const config *c)
{
    verdict v = {.code = check_here(path, images_name, c)};
    snprintf(v.place, sizeof v.place, "%s", status_place());
    snprintf(v.message, sizeof v.message, "%s", status_message());
    (void)fflush(stdout);
    ssize_t written = write(answer, &v, sizeof v);
    _exit(written == (ssize_t)sizeof v ? 0 : 1);
}

status check_data(const char *path, const char *images_name, const config *c)
{
    int ends[2];
    (void)fflush(stdout);
    if (pipe(ends) != 0) FAIL(STATUS_RESOURCE, "cannot make a pipe: %s", strerror(errno));
    pid_t child = fork();
    if (child == 0) check_in_child(ends[1], path, images_name, c);
    close(ends[1]);
    verdict v = {.code = STATUS_INTERNAL};
    ssize_t got = child > 0 ? read(ends[0], &v, sizeof v) : 0;
    close(ends[0]);
    int how = 0;
    if (child < 0 || waitpid(child, &how, 0) < 0)
        FAIL(STATUS_RESOURCE, "cannot start a process to read %s: %s", path, strerror(errno));
    if (WIFSIGNALED(how))
        FAIL(STATUS_INPUT, "%s: reading it crashed (signal %d); the file is damaged, copy it again",
             path, WTERMSIG(how));
    if (got != (ssize_t)sizeof v) FAIL(STATUS_INPUT, "%s: reading it ended without a result", path);
    return v.code == STATUS_OK ? STATUS_OK : status_adopt(v.code, v.place, v.message);
}
