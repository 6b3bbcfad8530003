#include "report_data.h"

#include "checkpoint.h"
#include "core/log.h"
#include "history.h"
#include "io_hdf5.h"
#include "mtip/fsc.h"
#include "run_directory.h"
#include "run_output.h"
#include "text.h"
#include "text_file.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_SIZE = CONFIG_TEXT_SIZE + 64 };

static const char *path_of(const report_data *r, const char *name, char path[PATH_SIZE])
{
    snprintf(path, PATH_SIZE, "%s/%s", r->directory, name);
    return path;
}

static bool exists(const report_data *r, const char *name)
{
    char path[PATH_SIZE];
    return access(path_of(r, name, path), F_OK) == 0;
}

void report_note(report_data *r, const char *format, ...)
{
    const size_t used = strlen(r->notes);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(r->notes + used, sizeof r->notes - used, format, arguments);
    va_end(arguments);
    strncat(r->notes, " ", sizeof r->notes - strlen(r->notes) - 1);
}

/* A table that is damaged takes its plots with it and no more. */
static status do_without(report_data *r, status read, const char *plots)
{
    if (read != STATUS_INPUT) return read;
    report_note(r, "There is no plot of %s, for want of a whole file: %s.", plots,
                status_message());
    return STATUS_OK;
}

/* -- texts -- */

static status read_text(const report_data *r, const char *name, char **text)
{
    char path[PATH_SIZE];
    size_t size = 0;
    if (exists(r, name)) return text_load(path_of(r, name, path), text, &size);
    *text = strdup("");
    if (!*text) FAIL(STATUS_RESOURCE, "out of host memory");
    return STATUS_OK;
}

static status read_texts(report_data *r)
{
    TRY(read_text(r, "about.txt", &r->about));
    TRY(read_text(r, "config.resolved.yaml", &r->settings_text));
    TRY(read_text(r, "log.txt", &r->log));
    return read_text(r, "left_out.txt", &r->left_out);
}

const char *report_about(const report_data *r, const char *name, char *value, size_t size)
{
    const size_t length = strlen(name);
    value[0] = 0;
    for (const char *line = r->about; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, length) != 0 || strncmp(line + length, ": ", 2) != 0) continue;
        const char *from = line + length + 2;
        snprintf(value, size, "%.*s", (int)strcspn(from, "\n"), from);
        return value;
    }
    return value;
}

double report_about_number(const report_data *r, const char *name)
{
    char value[64], *end;
    const double number = strtod(report_about(r, name, value, sizeof value), &end);
    return end == value ? NAN : number;
}

/* Settings of another version may have keys that this one does not know. */
static status read_settings(report_data *r)
{
    char path[PATH_SIZE];
    config_default(&r->settings);
    if (!exists(r, "config.resolved.yaml")) return STATUS_OK;
    const status result =
        config_load(path_of(r, "config.resolved.yaml", path), 0, NULL, &r->settings);
    if (result != STATUS_CONFIG) return result;
    report_note(r, "Its settings are not all known to this version of mtip.");
    return STATUS_OK;
}

/* -- how it ended -- */

/* The number after "name": in status.json; NAN. */
static double status_number(const char *json, const char *name)
{
    char key[64];
    snprintf(key, sizeof key, "\"%s\": ", name);
    const char *at = strstr(json, key);
    return at ? strtod(at + strlen(key), NULL) : NAN;
}

static status describe_progress(report_data *r)
{
    char *json = NULL;
    TRY(read_text(r, "status.json", &json));
    const double minutes = ceil(status_number(json, "seconds_left") / 60);
    const bool final = strstr(json, "\"final\": true") != NULL;
    if (isfinite(minutes))
        snprintf(r->sentence, sizeof r->sentence,
                 "%s: generation %.0f of %.0f, about %.0f minute%s left",
                 final ? "all images" : "the halves", status_number(json, "generations"),
                 status_number(json, "of"), minutes, text_plural((int64_t)minutes));
    else
        snprintf(r->sentence, sizeof r->sentence, "it has just begun");
    free(json);
    return STATUS_OK;
}

static status read_end(report_data *r)
{
    static const char *const names[] = {"DONE", NULL, "STOPPED", "FAILED"};
    char *text = NULL;
    if (exists(r, "DONE"))
        r->state = REPORT_DONE;
    else if (run_directory_busy(r->directory))
        r->state = REPORT_RUNNING;
    else if (exists(r, "lock"))
        r->state = REPORT_KILLED;
    else
        r->state = exists(r, "STOPPED")  ? REPORT_STOPPED
                   : exists(r, "FAILED") ? REPORT_FAILED
                                         : REPORT_KILLED;
    if (r->state == REPORT_RUNNING) return describe_progress(r);
    if (r->state == REPORT_KILLED) return STATUS_OK;
    TRY(read_text(r, names[r->state], &text));
    snprintf(r->sentence, sizeof r->sentence, "%s", text_trim(text));
    free(text);
    return STATUS_OK;
}

/* -- curves -- */

static status reserve_curve(report_curve *c, int n)
{
    c->s = calloc((size_t)n + 1, sizeof *c->s);
    c->value = calloc((size_t)n + 1, sizeof *c->value);
    if (!c->s || !c->value) FAIL(STATUS_RESOURCE, "out of host memory");
    return STATUS_OK;
}

/* How many numbers a line begins with, at most n; "inf" is one. */
static int take_numbers(const char *line, int n, double *numbers)
{
    for (int i = 0; i < n; i++) {
        char *end;
        numbers[i] = strtod(line, &end);
        if (end == line) return i;
        line = end;
    }
    return n;
}

/* Number `column` (from 0) of what follows shell, s, d and voxels in the lines of a table. */
static status read_curve(const report_data *r, const char *name, int column, report_curve *c)
{
    enum { SHELL, S, D, VOXELS, VALUES, MOST = VALUES + 2 };
    char *text = NULL, path[PATH_SIZE];
    TRY(read_text(r, name, &text));
    status result = reserve_curve(c, (int)(strlen(text) / 8));
    text_lines lines = {.at = text};
    for (char *line = text_next_line(&lines, "#"); line && result == STATUS_OK;
         line = text_next_line(&lines, "#")) {
        double numbers[MOST] = {0};
        if (!*line) continue;
        if (take_numbers(line, MOST, numbers) <= VALUES + column || !isfinite(numbers[S]) ||
            !isfinite(numbers[VALUES + column]))
            result = FAILED(STATUS_INPUT, "%s:%lld: expected shell, s, d, voxels and %d numbers",
                            path_of(r, name, path), (long long)lines.number, column + 1);
        c->s[c->n] = numbers[S];
        c->value[c->n++] = numbers[VALUES + column];
    }
    if (result != STATUS_OK) c->n = 0;
    free(text);
    return result;
}

/* mtip evaluate puts the correlation with the truth first. */
static status read_correlations(report_data *r)
{
    char line[128] = "", path[PATH_SIZE];
    (void)text_begin(path_of(r, "fsc.txt", path), line, sizeof line - 1);
    line[strcspn(line, "\n")] = 0;
    const bool truth = strstr(line, "with the truth") != NULL;
    if (truth) TRY(read_curve(r, "fsc.txt", 0, &r->truth));
    if (truth && !strstr(line, "of the halves")) return STATUS_OK;
    return read_curve(r, "fsc.txt", truth, &r->halves);
}

static status correlate(const device *dev, report_data *r, const double *const half[2])
{
    fsc *f = NULL;
    TRY(fsc_create(dev, r->size, r->voxel, r->s_max, half[0], half[1], &f));
    status result = reserve_curve(&r->halves, f->n_shells);
    if (result == STATUS_OK) {
        r->halves.n = f->n_shells;
        memcpy(r->halves.s, f->s, (size_t)f->n_shells * sizeof *f->s);
        memcpy(r->halves.value, f->value, (size_t)f->n_shells * sizeof *f->value);
    }
    fsc_destroy(f);
    return result;
}

/* -- results -- */

static status allocate_images(report_data *r)
{
    r->fluences = malloc((size_t)(r->n_images + 1) * sizeof *r->fluences);
    if (!r->fluences) FAIL(STATUS_RESOURCE, "out of host memory");
    for (int64_t i = 0; i < r->n_images; i++)
        r->fluences[i] = 1;
    return STATUS_OK;
}

static status read_result_contents(report_data *r, const h5_reader *h)
{
    const int64_t cube[3] = {r->size, r->size, r->size};
    if (h5_has(h, "/autocorrelation")) {
        r->autocorrelation =
            malloc((size_t)(r->size * r->size * r->size) * sizeof *r->autocorrelation);
        if (!r->autocorrelation) FAIL(STATUS_RESOURCE, "out of host memory");
        TRY(h5_read(h, "/autocorrelation", H5_DOUBLE, 3, cube, r->autocorrelation));
    }
    TRY(allocate_images(r));
    if (h5_has(h, "/fluences"))
        TRY(h5_read(h, "/fluences", H5_DOUBLE, 1, &r->n_images, r->fluences));
    if (!h5_has_attribute(h, "/prtf", "agreement")) return STATUS_OK;
    TRY(h5_read_numbers(h, "/prtf", "starts", H5_INT64, 1, &r->starts));
    TRY(h5_read_numbers(h, "/prtf", "agreement", H5_DOUBLE, 1, &r->agreement));
    return h5_read_numbers(h, "/prtf", "r_factor", H5_DOUBLE, 1, &r->r_factor);
}

/* What the maps' reader has found becomes the report's. */
static void take_output(report_data *r, run_output *from)
{
    r->size = from->n;
    r->voxel = from->voxel;
    r->s_max = from->s_max;
    r->density = from->density;
    r->n_images = from->n_images;
    r->image = from->image;
    r->orientations = from->orientations;
    from->density = from->orientations = NULL;
    from->image = NULL;
}

static status read_results(report_data *r)
{
    char path[PATH_SIZE];
    run_output *output = NULL;
    h5_reader *h = NULL;
    TRY(run_output_read(r->directory, &output));
    take_output(r, output);
    run_output_destroy(output);
    r->half = -1;
    snprintf(r->source, sizeof r->source, "the results");
    TRY(do_without(r, read_correlations(r), "the Fourier shell correlation"));
    TRY(do_without(r, read_curve(r, "prtf.txt", 0, &r->prtf), "the transfer function"));
    TRY(h5_open(path_of(r, "result.h5", path), &h));
    const status result = read_result_contents(r, h);
    h5_close(h);
    return result;
}

/* -- a checkpoint -- */

static double *copy_of(const double *from, int64_t n)
{
    double *to = malloc((size_t)(n + 1) * sizeof *to);
    if (to) memcpy(to, from, (size_t)n * sizeof *to);
    return to;
}

static status take_state(report_data *r, const run_state *s, progress_run which)
{
    static const char *const names[N_RUNS] = {"the first half", "the second half", "all images"};
    const int64_t n = cube(s->size);
    r->half = which == RUN_ALL ? -1 : (int)which;
    snprintf(r->source, sizeof r->source, "the last checkpoint: %s, generation %lld", names[which],
             (long long)s->generation);
    r->n_images = s->n_images;
    r->density = copy_of(state_part_of(s, STATE_DENSITY), n);
    r->autocorrelation = copy_of(state_part_of(s, STATE_MERGED), n);
    r->orientations = copy_of(state_part_of(s, STATE_ORIENTATIONS), 4 * s->n_images);
    r->fluences = copy_of(state_part_of(s, STATE_FLUENCES), s->n_images);
    if (!r->density || !r->autocorrelation || !r->orientations || !r->fluences)
        FAIL(STATUS_RESOURCE, "out of host memory");
    return STATUS_OK;
}

static status take_checkpoint(const device *dev, report_data *r, const reconstruction *made)
{
    static const progress_run furthest[N_RUNS] = {RUN_ALL, RUN_HALF_1, RUN_HALF_2};
    const progress *p = &made->progress;
    const double *const halves[2] = {made->half[0], made->half[1]};
    r->size = made->size;
    if (!(r->s_max > 0))
        FAIL(STATUS_INPUT, "%s/about.txt: has no 'largest s'; it is damaged", r->directory);
    r->voxel = 1 / (2 * r->s_max);
    if (p->attempts > 0) TRY(correlate(dev, r, halves));
    for (int i = 0; i < N_RUNS; i++)
        if (p->runs[furthest[i]].generation > 0)
            return take_state(r, &p->runs[furthest[i]], furthest[i]);
    if (p->attempts == 0) return STATUS_OK;
    r->density = copy_of(halves[0], cube(r->size));
    snprintf(r->source, sizeof r->source, "the last checkpoint: the first half of attempt %lld",
             (long long)p->attempts);
    return r->density ? STATUS_OK : FAILED(STATUS_RESOURCE, "out of host memory");
}

static status read_checkpoint(const device *dev, report_data *r)
{
    reconstruction *made = NULL;
    const status result = checkpoint_look(r->directory, &made);
    if (result == STATUS_INPUT || result == STATUS_CONFIG)
        report_note(r, "No checkpoint can be read: %s.", status_message());
    else if (result != STATUS_OK)
        return result;
    if (!made && result == STATUS_OK)
        report_note(r, "There is no checkpoint yet, and so no density, intensity or orientation.");
    if (!made) return STATUS_OK;
    const status taken = take_checkpoint(dev, r, made);
    reconstruction_destroy(made);
    return taken;
}

/* Which images of the data set those of a checkpoint are: all that are not left out, or every other
   one of them. */
static status number_images(report_data *r)
{
    const double first = report_about_number(r, "first image"),
                 seen = report_about_number(r, "images");
    if (r->n_images == 0 || r->image || !(first >= 0 && seen >= 1 && seen <= 1e12))
        return STATUS_OK;
    uint8_t *out = calloc((size_t)seen, 1);
    r->image = malloc((size_t)r->n_images * sizeof *r->image);
    if (!out || !r->image) {
        free(out);
        FAIL(STATUS_RESOURCE, "out of host memory");
    }
    for (const char *line = r->left_out; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        const double number = *line == '#' ? -1 : strtod(line, NULL) - first;
        if (number >= 0 && number < seen && *line) out[(int64_t)number] = 1;
    }
    int64_t n = 0, used = 0;
    for (int64_t i = 0; i < (int64_t)seen && n < r->n_images; i++) {
        if (out[i]) continue;
        if (r->half < 0 || used % 2 == r->half) r->image[n++] = (int64_t)first + i;
        used++;
    }
    free(out);
    if (n < r->n_images)
        FAIL(STATUS_INPUT, "%s: left_out.txt leaves %lld images, but the checkpoint has %lld",
             r->directory, (long long)n, (long long)r->n_images);
    return STATUS_OK;
}

/* -- all -- */

static status check_directory(const report_data *r)
{
    static const char *const marks[] = {"about.txt", "DONE", "STOPPED", "FAILED", "lock"};
    struct stat info;
    bool found = false;
    if (stat(r->directory, &info) != 0)
        FAIL(STATUS_INPUT, "cannot read %s: %s", r->directory, strerror(errno));
    if (!S_ISDIR(info.st_mode))
        FAIL(STATUS_INPUT, "%s: is a file; give the directory of a run (run.directory)",
             r->directory);
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        found = found || exists(r, marks[i]);
    if (!found || !exists(r, "log.txt"))
        FAIL(STATUS_INPUT,
             "%s: is no directory of a run: it holds no %s; give the run.directory of mtip "
             "reconstruct",
             r->directory, found ? "log.txt" : "about.txt, DONE, STOPPED, FAILED or lock");
    return STATUS_OK;
}

static status read_progress(report_data *r)
{
    char path[PATH_SIZE];
    if (strlen(r->directory) >= CONFIG_TEXT_SIZE)
        FAIL(STATUS_USAGE, "the path of the run is %zu bytes long; at most %d are possible",
             strlen(r->directory), CONFIG_TEXT_SIZE - 1);
    TRY(check_directory(r));
    TRY(read_end(r));
    TRY(read_texts(r));
    r->s_max = report_about_number(r, "largest s");
    TRY(read_settings(r));
    if (!exists(r, "history.txt")) return STATUS_OK;
    return do_without(r, history_read(path_of(r, "history.txt", path), &r->n_records, &r->records),
                      "convergence");
}

static status read_results_so_far(const device *dev, report_data *r)
{
    TRY(r->state == REPORT_DONE ? read_results(r) : read_checkpoint(dev, r));
    return number_images(r);
}

static status read_new(const device *dev, const char *directory, bool results, report_data **read)
{
    *read = NULL;
    report_data *r = calloc(1, sizeof *r);
    if (!r) FAIL(STATUS_RESOURCE, "out of host memory");
    r->directory = directory;
    r->half = -1;
    status result = read_progress(r);
    if (result == STATUS_OK && results) result = read_results_so_far(dev, r);
    if (result == STATUS_OK)
        *read = r;
    else
        report_data_destroy(r);
    return result;
}

status report_read(const device *dev, const char *directory, report_data **read)
{
    return read_new(dev, directory, true, read);
}

status report_read_progress(const char *directory, report_data **read)
{
    return read_new(NULL, directory, false, read);
}

void report_data_destroy(report_data *r)
{
    if (!r) return;
    void *arrays[] = {r->about,     r->settings_text,   r->log,     r->left_out,     r->records,
                      r->density,   r->autocorrelation, r->image,   r->orientations, r->fluences,
                      r->halves.s,  r->halves.value,    r->truth.s, r->truth.value,  r->prtf.s,
                      r->prtf.value};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
    free(r);
}
