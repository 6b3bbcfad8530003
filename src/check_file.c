#include "check_file.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check_data.h"
#include "check_settings.h"
#include "cli.h"
#include "dataset.h"
#include "forecast.h"
#include "inputs.h"
#include "molecule.h"
#include "volume.h"

/* ---- kinds of files ---- */

static bool is_geometry(const char *path)
{
    return geometry_recognize(path) != NULL;
}

static status show_geometry(const config *c)
{
    detector *det = NULL;
    geometry_settings settings = dataset_settings_of(c).geometry;
    settings.file = c->data.file;
    printf("format          %s\n", geometry_recognize(c->data.file));
    TRY(geometry_read_alone(&settings, &det));
    check_print_detector(det);
    detector_destroy(det);
    return STATUS_OK;
}

static status show_molecule(const config *c)
{
    molecule *mol = NULL;
    molecule_settings settings;
    TRY(molecule_settings_of(c, &settings));
    TRY(molecule_read(c->data.file, &settings, &mol));
    const scatter_size size = scatter_measure(mol->atoms, mol->n_atoms);
    printf("atoms           %lld of %lld records, %.0f electrons\n", (long long)mol->n_atoms,
           (long long)mol->n_records, size.n_electrons);
    printf(
        "left out        %lld of water, %lld of hydrogen, %lld alternate locations, %lld in other "
        "chains\n",
        (long long)mol->n_waters, (long long)mol->n_hydrogens, (long long)mol->n_alternates,
        (long long)mol->n_other_chains);
    printf("assembly        %d operations\n", mol->n_operations);
    printf("size            diameter %.1f A, radius of gyration %.1f A\n", size.diameter,
           size.gyration);
    molecule_destroy(mol);
    return STATUS_OK;
}

static status show_map(const config *c)
{
    mrc_map *map = NULL;
    TRY(volume_read(c->data.file, c->data.dataset, &map));
    const int64_t n = map->nx * map->ny * map->nz;
    double least = INFINITY, most = -INFINITY, sum = 0;
    int64_t n_bad = 0;
    for (int64_t i = 0; i < n; i++) {
        const double value = (double)map->values[i];
        n_bad += !isfinite(value);
        if (!isfinite(value)) continue;
        least = fmin(least, value);
        most = fmax(most, value);
        sum += value;
    }
    printf("map             %lld x %lld x %lld voxels (x, y, z)\n", (long long)map->nx,
           (long long)map->ny, (long long)map->nz);
    printf("voxel           %.4f x %.4f x %.4f A%s\n", map->voxel[0], map->voxel[1], map->voxel[2],
           map->voxel[0] > 0 ? "" : ": the file does not say");
    printf("origin          %.3f, %.3f, %.3f A\n", map->origin[0], map->origin[1], map->origin[2]);
    printf("values          %.5g to %.5g, mean %.5g, %lld not finite\n", least, most,
           sum / (double)(n - n_bad), (long long)n_bad);
    mrc_destroy(map);
    return STATUS_OK;
}

typedef struct file_kind {
    bool (*recognize)(const char *path);
    status (*show)(const config *c);
} file_kind;

/* In the order in which contents are looked at. */
static const file_kind kinds[] = {{volume_recognize, show_map},
                                  {is_geometry, show_geometry},
                                  {molecule_recognize, show_molecule},
                                  {dataset_recognize, check_data}};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

bool check_file_is(const char *path)
{
    for (int i = 0; i < N_KINDS; i++)
        if (kinds[i].recognize(path)) return true;
    return false;
}

static status show(const config *c)
{
    for (int i = 0; i < N_KINDS; i++)
        if (kinds[i].recognize(c->data.file)) return kinds[i].show(c);
    return check_data(c);
}

/* What a reconstruction would refuse, what the data set holds, what grid and references follow, and
   what memory a run would take. */
static status show_run(const config *c)
{
    comm *alone = NULL;
    catalogue *k = NULL;
    status result = comm_start(NULL, NULL, &alone);
    if (result == STATUS_OK) result = inputs_open(c, alone, &k);
    if (result == STATUS_OK) check_warn_of_age(c, k->file->det);
    if (result == STATUS_OK) result = check_data(c);
    if (result == STATUS_OK) {
        printf("\n");
        check_print_grid(c, k->radius[k->n_pixels - 1]);
        result = forecast_print(c, k);
    }
    catalogue_destroy(k);
    comm_finish(alone);
    return result;
}

/* ---- in a child ---- */

/* How the child tells what it found. */
typedef struct verdict {
    status code;
    char place[128];
    char message[2048];
} verdict;

static _Noreturn void run_child(int answer, const config *c, status (*look)(const config *c))
{
    verdict v = {.code = look(c)};
    const status flushed = v.code == STATUS_OK ? cli_flush_results() : STATUS_OK;
    if (flushed != STATUS_OK) v.code = flushed;
    snprintf(v.place, sizeof v.place, "%s", status_place());
    snprintf(v.message, sizeof v.message, "%s", status_message());
    (void)fflush(stdout);
    ssize_t written = write(answer, &v, sizeof v);
    _exit(written == (ssize_t)sizeof v ? 0 : 1);
}

static status in_child(const config *c, status (*look)(const config *c))
{
    const char *path = c->data.file;
    int ends[2];
    (void)fflush(stdout);
    if (pipe(ends) != 0) FAIL(STATUS_RESOURCE, "cannot make a pipe: %s", strerror(errno));
    pid_t child = fork();
    if (child == 0) run_child(ends[1], c, look);
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

status check_file(const config *c)
{
    return in_child(c, show);
}

status check_run(const config *c)
{
    return in_child(c, show_run);
}
