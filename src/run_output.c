#include "run_output.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/log.h"
#include "io_hdf5.h"
#include "io_mrc.h"

enum { PATH_SIZE = 2 * CONFIG_TEXT_SIZE };

static const char *path_of(const run_output *run, const char *name, char path[PATH_SIZE])
{
    snprintf(path, PATH_SIZE, "%s/%s", run->directory, name);
    return path;
}

static bool exists(const run_output *run, const char *name)
{
    char path[PATH_SIZE];
    return access(path_of(run, name, path), F_OK) == 0;
}

static status copy_values(const mrc_map *map, const char *path, double **values)
{
    int64_t size = map->nx * map->ny * map->nz;
    double *copy = malloc((size_t)size * sizeof *copy);
    if (!copy) FAIL(STATUS_RESOURCE, "no memory for %s", path);
    *values = copy; /* the caller's from here on */
    for (int64_t i = 0; i < size; i++) {
        copy[i] = map->values[i];
        if (!isfinite(copy[i]))
            FAIL(STATUS_INPUT, "%s: voxel %lld is %g; the map is damaged", path, (long long)i,
                 copy[i]);
    }
    return STATUS_OK;
}

status run_output_read_map(const char *path, int64_t *n, double *voxel, double **values)
{
    mrc_map *map = NULL;
    status result = STATUS_OK;
    TRY(mrc_read(path, &map));
    double edge = map->voxel[0];
    if (map->nx != map->ny || map->nx != map->nz || map->nx < 4)
        TRY_OR(done, status_fail(STATUS_INPUT, __FILE__, __LINE__,
                                 "%s: %lld x %lld x %lld voxels; expected a cube of 4 or more",
                                 path, (long long)map->nx, (long long)map->ny, (long long)map->nz));
    if (!(edge > 0) || fabs(map->voxel[1] - edge) > 1e-4 * edge ||
        fabs(map->voxel[2] - edge) > 1e-4 * edge)
        TRY_OR(done, status_fail(STATUS_INPUT, __FILE__, __LINE__,
                                 "%s: voxels of %g x %g x %g A; expected cubes", path, edge,
                                 map->voxel[1], map->voxel[2]));
    TRY_OR(done, copy_values(map, path, values));
    *n = map->nx;
    *voxel = edge;
done:
    mrc_destroy(map);
    return result;
}

static status read_half(run_output *run, int which)
{
    char path[PATH_SIZE], name[32];
    int64_t n;
    double voxel;
    snprintf(name, sizeof name, "density_half%d.mrc", which + 1);
    if (!exists(run, name)) return STATUS_OK;
    TRY(run_output_read_map(path_of(run, name, path), &n, &voxel, &run->half[which]));
    if (n != run->n || fabs(voxel - run->voxel) > 1e-4 * run->voxel)
        FAIL(STATUS_INPUT, "%s: %lld voxels of %g A, but density.mrc has %lld of %g A", path,
             (long long)n, voxel, (long long)run->n, run->voxel);
    return STATUS_OK;
}

static status allocate_images(run_output *run, int64_t n_images)
{
    run->image = malloc((size_t)n_images * sizeof *run->image);
    run->orientations = malloc((size_t)n_images * 4 * sizeof *run->orientations);
    if (!run->image || !run->orientations)
        FAIL(STATUS_RESOURCE, "no memory for %lld orientations", (long long)n_images);
    return STATUS_OK;
}

static status check_orientations(const run_output *run)
{
    for (int64_t i = 0; i < run->n_images; i++) {
        const double *q = run->orientations + 4 * i;
        const double norm = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
        if (!(fabs(norm - 1) < 1e-3))
            FAIL(STATUS_INPUT,
                 "%s: the run's orientation %lld is a quaternion of length %g, expected 1; its "
                 "result.h5 or orientations.txt is damaged",
                 run->directory, (long long)i, norm);
    }
    return STATUS_OK;
}

static status read_result_orientations(run_output *run, const h5_reader *r)
{
    h5_shape shape;
    TRY(h5_get_shape(r, "/orientations", &shape));
    if (shape.rank != 2 || shape.dims[0] < 1 || shape.dims[1] != 4)
        FAIL(STATUS_INPUT, "%s: dataset '/orientations' is not (N, 4)", h5_path(r));
    int64_t n_images = shape.dims[0];
    TRY(allocate_images(run, n_images));
    TRY(h5_read(r, "/orientations", H5_DOUBLE, 2, shape.dims, run->orientations));
    for (int64_t i = 0; i < n_images; i++)
        run->image[i] = i;
    if (h5_has(r, "/image")) TRY(h5_read(r, "/image", H5_INT64, 1, &n_images, run->image));
    run->n_images = n_images;
    return STATUS_OK;
}

static status read_result_contents(run_output *run, const h5_reader *r)
{
    double s_max;
    if (h5_has_attribute(r, "/", "s_max_per_angstrom")) {
        TRY(h5_read_numbers(r, "/", "s_max_per_angstrom", H5_DOUBLE, 1, &s_max));
        if (!(s_max > 0))
            FAIL(STATUS_INPUT, "%s: attribute 's_max_per_angstrom' is %g", h5_path(r), s_max);
        run->s_max = fmin(s_max, run->s_max);
    }
    if (h5_has_attribute(r, "/", "data_file"))
        TRY(h5_read_text(r, "/", "data_file", run->data_file, sizeof run->data_file));
    if (h5_has(r, "/orientations")) TRY(read_result_orientations(run, r));
    return STATUS_OK;
}

static status read_result(run_output *run)
{
    char path[PATH_SIZE];
    h5_reader *r = NULL;
    if (!exists(run, "result.h5")) return STATUS_OK;
    TRY(h5_open(path_of(run, "result.h5", path), &r));
    status result = read_result_contents(run, r);
    h5_close(r);
    return result;
}

/* Lines of image number, w, x, y, z and whatever else; # starts a comment. */
static status read_lines(run_output *run, FILE *file, const char *path)
{
    char line[1024];
    int64_t n_images = 0, number = 0;
    while (fgets(line, sizeof line, file))
        n_images++;
    TRY(allocate_images(run, n_images + 1));
    rewind(file);
    while (fgets(line, sizeof line, file) && run->n_images < n_images) {
        number++;
        char *start = line + strspn(line, " \t"), *end;
        if (*start == '#' || *start == '\n' || *start == 0) continue;
        double *q = run->orientations + 4 * run->n_images;
        errno = 0;
        run->image[run->n_images] = strtoll(start, &end, 10);
        bool good = end != start && errno == 0;
        for (int d = 0; d < 4 && good; d++) {
            start = end;
            q[d] = strtod(start, &end);
            good = end != start;
        }
        if (!good)
            FAIL(STATUS_INPUT, "%s:%lld: expected an image's number and w x y z", path,
                 (long long)number);
        run->n_images++;
    }
    return STATUS_OK;
}

static status read_text_orientations(run_output *run)
{
    char path[PATH_SIZE];
    FILE *file = fopen(path_of(run, "orientations.txt", path), "r");
    if (!file && errno == ENOENT) return STATUS_OK;
    if (!file) FAIL(STATUS_INPUT, "cannot read %s: %s", path, strerror(errno));
    status result = read_lines(run, file, path);
    fclose(file);
    return result;
}

/* The run may be another version's: what cannot be read has its default, and a warning. */
static status read_settings(run_output *run)
{
    char path[PATH_SIZE];
    config_default(&run->settings);
    if (!exists(run, "config.resolved.yaml")) return STATUS_OK;
    status result =
        config_load(path_of(run, "config.resolved.yaml", path), 0, NULL, &run->settings);
    if (result != STATUS_CONFIG) return result;
    log_warning("settings of the run that this version does not know are left out, or have their "
                "defaults:\n%s",
                status_message());
    return STATUS_OK;
}

static status read_all(run_output *run)
{
    char path[PATH_SIZE];
    if (!exists(run, "density.mrc"))
        FAIL(STATUS_INPUT, "%s: holds no density.mrc: it is no directory of a run that is done",
             run->directory);
    TRY(run_output_read_map(path_of(run, "density.mrc", path), &run->n, &run->voxel,
                            &run->density));
    run->s_max = 0.5 / run->voxel;
    TRY(read_settings(run));
    TRY(read_half(run, 0));
    TRY(read_half(run, 1));
    TRY(read_result(run));
    if (run->n_images == 0) TRY(read_text_orientations(run));
    TRY(check_orientations(run));
    if (!*run->data_file) memcpy(run->data_file, run->settings.data.file, sizeof run->data_file);
    return STATUS_OK;
}

status run_output_read(const char *directory, run_output **read)
{
    run_output *run = calloc(1, sizeof *run);
    if (!run) FAIL(STATUS_RESOURCE, "no memory to read a run");
    status result = STATUS_OK;
    run->directory = strdup(directory);
    if (!run->directory)
        TRY_OR(failed, status_fail(STATUS_RESOURCE, __FILE__, __LINE__, "no memory for a path"));
    if (strlen(directory) >= CONFIG_TEXT_SIZE)
        TRY_OR(failed, status_fail(STATUS_USAGE, __FILE__, __LINE__,
                                   "the path of the run is %zu bytes long; at most %d are possible",
                                   strlen(directory), CONFIG_TEXT_SIZE - 1));
    TRY_OR(failed, read_all(run));
    *read = run;
    return STATUS_OK;
failed:
    run_output_destroy(run);
    return result;
}

void run_output_destroy(run_output *run)
{
    if (!run) return;
    free(run->directory);
    free(run->density);
    free(run->half[0]);
    free(run->half[1]);
    free(run->image);
    free(run->orientations);
    free(run);
}
