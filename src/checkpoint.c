#include "checkpoint.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "build_info.h"
#include "config_same.h"
#include "core/log.h"
#include "history.h"
#include "io_atomic.h"
#include "io_hdf5.h"
#include "io_seal.h"

enum { FORMAT = 2, PATH_SIZE = CONFIG_TEXT_SIZE + 64, GROUP_SIZE = 64 };

static const char newest_name[] = "checkpoint.h5";
static const char previous_name[] = "checkpoint_previous.h5";
static const char damaged_name[] = "checkpoint_damaged.h5";
static const char *const run_groups[N_RUNS] = {"/half1", "/half2", "/all"};
static const char *const best_names[2] = {"/best/half1", "/best/half2"};

static void path_of(const char *directory, const char *name, char path[PATH_SIZE])
{
    snprintf(path, PATH_SIZE, "%s/%s", directory, name);
}

static bool exists(const char *directory, const char *name)
{
    char path[PATH_SIZE];
    path_of(directory, name, path);
    return access(path, F_OK) == 0;
}

bool checkpoint_exists(const char *directory)
{
    return exists(directory, newest_name) || exists(directory, previous_name);
}

void checkpoint_remove(const config *cfg)
{
    const char *const names[] = {newest_name, previous_name, damaged_name};
    char path[PATH_SIZE];
    for (int i = 0; i < 3; i++) {
        path_of(cfg->run.directory, names[i], path);
        unlink(path);
    }
}

static void pool_name(int half, int64_t attempt, char name[GROUP_SIZE])
{
    snprintf(name, GROUP_SIZE, "/attempts/%lld/half%d", (long long)attempt + 1, half + 1);
}

static void part_name(int which, state_part part, char name[GROUP_SIZE])
{
    snprintf(name, GROUP_SIZE, "%s/%s", run_groups[which], state_name(part));
}

/* -- records: a row of numbers for each -- */

static status write_records(h5_writer *w, const reconstruction *made)
{
    const int64_t dims[2] = {made->n_records, HISTORY_COLUMNS};
    if (made->n_records == 0) return STATUS_OK;
    double *rows = malloc((size_t)(dims[0] * dims[1]) * sizeof *rows);
    if (!rows) FAIL(STATUS_RESOURCE, "out of host memory");
    for (int i = 0; i < made->n_records; i++)
        history_to_row(made->records + i, rows + i * HISTORY_COLUMNS);
    const status result = h5_write(w, "/records", H5_DOUBLE, 2, dims, rows, NULL, NULL);
    free(rows);
    return result;
}

static status read_records(const h5_reader *r, reconstruction *made)
{
    h5_shape shape;
    if (!h5_has(r, "/records")) return STATUS_OK;
    TRY(h5_get_shape(r, "/records", &shape));
    const int64_t dims[2] = {shape.rank > 0 ? shape.dims[0] : 0, HISTORY_COLUMNS};
    double *rows = malloc((size_t)(dims[0] * dims[1] + 1) * sizeof *rows);
    free(made->records);
    made->n_records = 0;
    made->records = malloc((size_t)(dims[0] + 1) * sizeof *made->records);
    status result = STATUS_OK;
    if (!rows || !made->records) result = FAILED(STATUS_RESOURCE, "out of host memory");
    if (result == STATUS_OK) result = h5_read(r, "/records", H5_DOUBLE, 2, dims, rows);
    for (int64_t i = 0; i < dims[0] && result == STATUS_OK; i++)
        made->records[made->n_records++] = history_of_row(rows + i * HISTORY_COLUMNS);
    free(rows);
    return result;
}

/* -- writing -- */

/* What `head checkpoint.h5` shows. */
static status describe(const config *cfg, uint64_t data, const progress *p, char text[SEAL_SIZE])
{
    uint64_t settings = 0;
    TRY(config_checksum(cfg, &settings));
    snprintf(text, SEAL_SIZE,
             "mtip checkpoint, format %d\nwritten by: mtip %s, %s\nattempts compared: %lld%s\n"
             "generations: half 1 %lld, half 2 %lld, all images %lld\nsettings: %016" PRIx64
             "\ndata: %016" PRIx64 "\n",
             FORMAT, BUILD_VERSION, BUILD_COMMIT, (long long)p->attempts,
             p->searched ? ", the last" : "", (long long)p->runs[RUN_HALF_1].generation,
             (long long)p->runs[RUN_HALF_2].generation, (long long)p->runs[RUN_ALL].generation,
             settings, data);
    return STATUS_OK;
}

/* Its rank, and its shape in dims. */
static int part_shape(const run_state *s, state_part part, int64_t dims[3])
{
    for (int d = 0; d < 3; d++)
        dims[d] = s->size;
    if (part <= STATE_MERGED) return 3;
    dims[0] = s->n_images;
    dims[1] = 4;
    return part == STATE_ORIENTATIONS ? 2 : 1;
}

static status write_run(h5_writer *w, int which, const run_state *s)
{
    char name[GROUP_SIZE];
    int64_t dims[3];
    if (s->generation == 0) return STATUS_OK;
    TRY(h5_write_numbers(w, run_groups[which], "generation", H5_INT64, 1, &s->generation));
    TRY(h5_write_numbers(w, run_groups[which], "has_model", H5_INT64, 1, &s->has_model));
    for (state_part p = 0; p < N_STATE_PARTS; p++) {
        part_name(which, p, name);
        const int rank = part_shape(s, p, dims);
        TRY(h5_write(w, name, H5_DOUBLE, rank, dims, state_part_of(s, p), NULL, NULL));
    }
    return STATUS_OK;
}

static status write_halves(h5_writer *w, const reconstruction *made)
{
    const progress *p = &made->progress;
    const int64_t volume[3] = {p->size, p->size, p->size};
    char name[GROUP_SIZE];
    for (int h = 0; h < 2 && p->attempts > 0; h++) {
        TRY(h5_write(w, best_names[h], H5_DOUBLE, 3, volume, made->half[h], NULL, NULL));
        for (int64_t i = 0; i < p->attempts && !p->searched; i++) {
            pool_name(h, i, name);
            TRY(h5_write(w, name, H5_DOUBLE, 3, volume, p->half[h][i], NULL, NULL));
        }
    }
    return STATUS_OK;
}

static status write_attributes(h5_writer *w, const config *cfg, uint64_t data, const progress *p)
{
    char *text = NULL;
    TRY(h5_write_numbers(w, "/", "attempts", H5_INT64, 1, &p->attempts));
    TRY(h5_write_numbers(w, "/", "searched", H5_INT64, 1, &p->searched));
    TRY(h5_write_numbers(w, "/", "data", H5_INT64, 1, &data));
    TRY(config_text(cfg, &text));
    const status result = h5_write_text(w, "/", "config", text);
    free(text);
    return result;
}

static status write_contents(h5_writer *w, const config *cfg, uint64_t data,
                             const reconstruction *made)
{
    TRY(write_attributes(w, cfg, data, &made->progress));
    TRY(write_halves(w, made));
    for (int i = 0; i < N_RUNS; i++)
        TRY(write_run(w, i, &made->progress.runs[i]));
    return write_records(w, made);
}

/* The new one is complete under its own name before the others move; whenever this ends, a good one
   is found. */
static status move_into_place(const config *cfg, const char *made)
{
    char newest[PATH_SIZE], previous[PATH_SIZE];
    path_of(cfg->run.directory, newest_name, newest);
    path_of(cfg->run.directory, previous_name, previous);
    if (rename(newest, previous) != 0 && errno != ENOENT)
        FAIL(STATUS_OUTPUT, "cannot rename %s: %s", newest, strerror(errno));
    const status result = atomic_rename(made, newest);
    if (result != STATUS_OK && access(newest, F_OK) != 0) (void)!rename(previous, newest);
    return result;
}

status checkpoint_write(const config *cfg, uint64_t data, const reconstruction *made)
{
    char path[PATH_SIZE], about[SEAL_SIZE];
    h5_writer *w = NULL;
    path_of(cfg->run.directory, "checkpoint.h5.new", path);
    TRY(describe(cfg, data, &made->progress, about));
    TRY(h5_create_sealed(path, about, &w));
    status result = write_contents(w, cfg, data, made);
    if (result == STATUS_OK)
        result = h5_commit(w);
    else
        h5_abandon(w);
    if (result == STATUS_OK) result = move_into_place(cfg, path);
    if (result != STATUS_OK) unlink(path);
    return result;
}

/* -- reading -- */

static status read_run(const h5_reader *r, int which, int64_t size, run_state *s)
{
    h5_shape shape;
    char name[GROUP_SIZE];
    int64_t dims[3];
    if (!h5_has_attribute(r, run_groups[which], "generation")) return STATUS_OK;
    part_name(which, STATE_SCORES, name);
    TRY(h5_get_shape(r, name, &shape));
    run_state_clear(s);
    *s = (run_state){.size = size, .n_images = shape.rank == 1 ? shape.dims[0] : 0};
    TRY(run_state_reserve(s));
    TRY(h5_read_numbers(r, run_groups[which], "has_model", H5_INT64, 1, &s->has_model));
    for (state_part p = 0; p < N_STATE_PARTS; p++) {
        part_name(which, p, name);
        const int rank = part_shape(s, p, dims);
        TRY(h5_read(r, name, H5_DOUBLE, rank, dims, state_part_of(s, p)));
    }
    return h5_read_numbers(r, run_groups[which], "generation", H5_INT64, 1, &s->generation);
}

static status read_halves(const h5_reader *r, int64_t attempts, reconstruction *made)
{
    progress *p = &made->progress;
    const int64_t volume[3] = {p->size, p->size, p->size};
    char name[GROUP_SIZE];
    for (int h = 0; h < 2 && attempts > 0; h++)
        TRY(h5_read(r, best_names[h], H5_DOUBLE, 3, volume, made->half[h]));
    progress_forget(p);
    for (p->attempts = 0; p->attempts < attempts; p->attempts++) {
        if (p->searched) continue;
        TRY(progress_grow(p));
        for (int h = 0; h < 2; h++) {
            pool_name(h, p->attempts, name);
            TRY(h5_read(r, name, H5_DOUBLE, 3, volume, p->half[h][p->attempts]));
        }
    }
    return STATUS_OK;
}

static status read_contents(const h5_reader *r, reconstruction *made)
{
    progress *p = &made->progress;
    int64_t attempts = 0;
    TRY(h5_read_numbers(r, "/", "attempts", H5_INT64, 1, &attempts));
    TRY(h5_read_numbers(r, "/", "searched", H5_INT64, 1, &p->searched));
    if (attempts < 0 || attempts > p->room)
        FAIL(STATUS_INPUT, "%s: %lld attempts; run.attempts is %lld", h5_path(r),
             (long long)attempts, (long long)p->room);
    TRY(read_halves(r, attempts, made));
    for (int i = 0; i < N_RUNS; i++)
        TRY(read_run(r, i, p->size, &p->runs[i]));
    return read_records(r, made);
}

/* Text of at most a config's size, and the data: those of this run? */
static status check_settings(const h5_reader *r, const config *cfg, uint64_t data)
{
    enum { TEXT_SIZE = 1 << 20 };
    uint64_t found = 0;
    status result = STATUS_OK;
    char *text = malloc(TEXT_SIZE);
    config *before = malloc(sizeof *before);
    if (!text || !before)
        TRY_OR(done, FAILED(STATUS_RESOURCE, "out of host memory to read %s", h5_path(r)));
    TRY_OR(done, h5_read_text(r, "/", "config", text, TEXT_SIZE));
    TRY_OR(done, config_parse(h5_path(r), text, strlen(text), 0, NULL, before));
    TRY_OR(done, config_same(before, cfg, true, h5_path(r)));
    TRY_OR(done, h5_read_numbers(r, "/", "data", H5_INT64, 1, &found));
    if (found != data)
        result = FAILED(STATUS_CONFIG,
                        "%s was made from other images than those of %s now; choose another "
                        "run.directory, or begin anew with --fresh",
                        h5_path(r), cfg->data.file);
done:
    free(text);
    free(before);
    return result;
}

static status check_version(const char *path, const char *about)
{
    static const char first_words[] = "mtip checkpoint, format ";
    if (strncmp(about, first_words, strlen(first_words)) != 0)
        FAIL(STATUS_INPUT, "%s: is no checkpoint of mtip", path);
    const long format = strtol(about + strlen(first_words), NULL, 10);
    if (format != FORMAT)
        FAIL(STATUS_CONFIG,
             "%s: a checkpoint of format %ld, this version reads %d; go on with the version that "
             "wrote it, or begin anew with --fresh",
             path, format, FORMAT);
    return STATUS_OK;
}

static status read_file(const config *cfg, uint64_t data, const char *path, reconstruction *made)
{
    char about[SEAL_SIZE];
    h5_reader *r = NULL;
    TRY(seal_check(path, about));
    TRY(check_version(path, about));
    TRY(h5_open(path, &r));
    status result = check_settings(r, cfg, data);
    if (result == STATUS_OK) result = read_contents(r, made);
    h5_close(r);
    return result;
}

/* The newest would push out the previous one, which is good: it gets another name. */
static void set_aside(const config *cfg)
{
    char newest[PATH_SIZE], damaged[PATH_SIZE];
    path_of(cfg->run.directory, newest_name, newest);
    path_of(cfg->run.directory, damaged_name, damaged);
    if (rename(newest, damaged) == 0) log_warning("it is now %s", damaged);
}

status checkpoint_read(const config *cfg, uint64_t data, reconstruction *made, bool *found)
{
    const char *const names[] = {newest_name, previous_name};
    char path[PATH_SIZE];
    bool newest_is_bad = false;
    *found = false;
    if (!checkpoint_exists(cfg->run.directory)) return STATUS_OK;
    for (int i = 0; i < 2; i++) {
        if (!exists(cfg->run.directory, names[i])) continue;
        path_of(cfg->run.directory, names[i], path);
        const status result = read_file(cfg, data, path, made);
        if (result == STATUS_OK && newest_is_bad) set_aside(cfg);
        *found = result == STATUS_OK;
        if (result != STATUS_INPUT) return result;
        log_warning("%s", status_message());
        newest_is_bad = i == 0;
    }
    FAIL(STATUS_OUTPUT,
         "no checkpoint in %s can be read; bring one back from a copy, or begin anew with --fresh, "
         "which keeps them in the old run's directory",
         cfg->run.directory);
}

/* -- looking -- */

/* Any map in the file has the size of all. */
static status find_size(const h5_reader *r, int64_t *size)
{
    char name[GROUP_SIZE];
    h5_shape shape;
    for (int i = 0; i < N_RUNS + 2; i++) {
        if (i < N_RUNS)
            part_name(i, STATE_DENSITY, name);
        else
            snprintf(name, sizeof name, "%s", best_names[i - N_RUNS]);
        if (!h5_has(r, name)) continue;
        TRY(h5_get_shape(r, name, &shape));
        *size = shape.rank == 3 ? shape.dims[0] : 0;
        if (*size >= 1 && *size <= 4096) return STATUS_OK;
    }
    FAIL(STATUS_INPUT, "%s: holds no map", h5_path(r));
}

static status look_into(const h5_reader *r, reconstruction **created)
{
    int64_t size = 0, attempts = 0;
    status result = STATUS_OK;
    TRY(find_size(r, &size));
    TRY(h5_read_numbers(r, "/", "attempts", H5_INT64, 1, &attempts));
    if (attempts < 0 || attempts > 1000)
        FAIL(STATUS_INPUT, "%s: %lld attempts", h5_path(r), (long long)attempts);
    reconstruction *made = calloc(1, sizeof *made);
    if (!made) FAIL(STATUS_RESOURCE, "out of host memory");
    made->size = size;
    for (int h = 0; h < 2; h++)
        made->half[h] = calloc((size_t)cube(size), sizeof *made->half[h]);
    if (!made->half[0] || !made->half[1])
        TRY_OR(fail, FAILED(STATUS_RESOURCE, "no memory for maps of %lld", (long long)size));
    TRY_OR(fail, progress_create(size, attempts + 1, &made->progress));
    TRY_OR(fail, read_contents(r, made));
    *created = made;
    return STATUS_OK;
fail:
    reconstruction_destroy(made);
    return result;
}

static status look_at(const char *path, reconstruction **made)
{
    char about[SEAL_SIZE];
    h5_reader *r = NULL;
    TRY(seal_check(path, about));
    TRY(check_version(path, about));
    TRY(h5_open(path, &r));
    const status result = look_into(r, made);
    h5_close(r);
    return result;
}

status checkpoint_look(const char *directory, reconstruction **made)
{
    const char *const names[] = {newest_name, previous_name};
    char path[PATH_SIZE];
    status result = STATUS_OK;
    *made = NULL;
    for (int i = 0; i < 2; i++) {
        if (!exists(directory, names[i])) continue;
        path_of(directory, names[i], path);
        result = look_at(path, made);
        if (result != STATUS_INPUT) return result;
    }
    return result;
}
