#include "results.h"

#include "build_info.h"
#include "history.h"
#include "io_atomic.h"
#include "io_hdf5.h"
#include "io_mrc.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_SIZE = CONFIG_TEXT_SIZE + 64 };

static void path_of(const config *cfg, const char *name, char path[PATH_SIZE])
{
    snprintf(path, PATH_SIZE, "%s/%s", cfg->run.directory, name);
}

/* The results are written as NAME.new first and named together, so that a failure leaves those of
   an earlier run as they were, all of them. */
static const char *const result_names[] = {
    "density.mrc", "density_half1.mrc", "density_half2.mrc", "fsc.txt",
    "history.txt", "orientations.txt",  "prtf.txt",          "result.h5",
};
enum { N_RESULTS = sizeof result_names / sizeof *result_names };

static void new_path_of(const config *cfg, const char *name, char path[PATH_SIZE])
{
    snprintf(path, PATH_SIZE, "%s/%s.new", cfg->run.directory, name);
}

/* -- maps -- */

static status write_map(const config *cfg, const char *name, const reconstruction *made,
                        const double *density, const char *label)
{
    const int64_t n = made->size;
    char path[PATH_SIZE];
    float *values = malloc((size_t)(n * n * n) * sizeof *values);
    if (!values) FAIL(STATUS_RESOURCE, "out of host memory");
    for (int64_t i = 0; i < n * n * n; i++)
        values[i] = (float)density[i];
    new_path_of(cfg, name, path);
    status result = mrc_write(path, n, n, n, values, made->voxel, label);
    free(values);
    return result;
}

/* -- tables -- */

static status write_fsc(const config *cfg, const reconstruction *made)
{
    char path[PATH_SIZE];
    atomic_file *file = NULL;
    new_path_of(cfg, "fsc.txt", path);
    TRY(atomic_begin_stream(path, &file));
    FILE *out = atomic_stream(file);
    const fsc_resolution strict = fsc_resolution_at(made->agreement, 0.143);
    fprintf(
        out,
        "# Fourier shell correlation of two halves of the images, reconstructed independently\n");
    char half_text[FSC_TEXT_SIZE], strict_text[FSC_TEXT_SIZE];
    fprintf(out, "# resolution (full period): %s at 0.5, %s at 0.143, %.2f A is the edge\n",
            fsc_resolution_text(&made->resolution, half_text),
            fsc_resolution_text(&strict, strict_text), 1 / made->s_max);
    fprintf(out, "# shell  s[1/A]  d[A]  n_voxels  fsc\n");
    for (int i = 0; i < made->agreement->n_shells; i++)
        fprintf(out, "%4d %.6f %9.3f %8lld %9.5f\n", i, made->agreement->s[i],
                made->agreement->s[i] > 0 ? 1 / made->agreement->s[i] : INFINITY,
                (long long)made->agreement->n_voxels[i], made->agreement->value[i]);
    return atomic_commit(file);
}

static status write_prtf(const config *cfg, const reconstruction *made)
{
    char path[PATH_SIZE];
    atomic_file *file = NULL;
    const fsc *shells = made->agreement;
    new_path_of(cfg, "prtf.txt", path);
    TRY(atomic_begin_stream(path, &file));
    FILE *out = atomic_stream(file);
    fprintf(out,
            "# phase retrieval transfer function of the %lld phasings that make the density\n"
            "# (of %lld; random phases have %.3f)\n# shell  s[1/A]  d[A]  n_voxels  prtf\n",
            (long long)made->average.n_used, (long long)cfg->phase.starts,
            1 / sqrt((double)made->average.n_used));
    for (int i = 0; i < shells->n_shells; i++)
        fprintf(out, "%4d %.6f %9.3f %8lld %9.5f\n", i, shells->s[i],
                shells->s[i] > 0 ? 1 / shells->s[i] : INFINITY, (long long)shells->n_voxels[i],
                made->prtf[i]);
    return atomic_commit(file);
}

static status write_history_table(const config *cfg, const reconstruction *made)
{
    char path[PATH_SIZE];
    new_path_of(cfg, "history.txt", path);
    return history_write(path, made->n_records, made->records);
}

static status write_orientations(const config *cfg, const reconstruction *made)
{
    char path[PATH_SIZE];
    atomic_file *file = NULL;
    new_path_of(cfg, "orientations.txt", path);
    TRY(atomic_begin_stream(path, &file));
    FILE *out = atomic_stream(file);
    fprintf(out,
            "# rotation of the particle (unit quaternion w, x, y, z), score, fluence (mean 1)\n");
    fprintf(out, "# image w x y z score fluence\n");
    for (int64_t k = 0; k < made->n_images; k++) {
        const double *q = made->orientations + 4 * k;
        fprintf(out, "%lld %.9f %.9f %.9f %.9f %.6g %.6g\n", (long long)made->source[k], q[0], q[1],
                q[2], q[3], made->scores[k], made->fluence[k]);
    }
    return atomic_commit(file);
}

/* -- result.h5 -- */

static status write_volumes(h5_writer *w, const reconstruction *made)
{
    const int64_t cube[3] = {made->size, made->size, made->size};
    TRY(h5_write(w, "/density", H5_DOUBLE, 3, cube, made->density, "arbitrary",
                 "electron density [z][y][x], centre at floor(n/2)"));
    TRY(h5_write(w, "/density_half1", H5_DOUBLE, 3, cube, made->half[0], "arbitrary",
                 "density from the first half of the images"));
    TRY(h5_write(w, "/density_half2", H5_DOUBLE, 3, cube, made->half[1], "arbitrary",
                 "density from the second half, in the frame of the first"));
    return h5_write(w, "/autocorrelation", H5_DOUBLE, 3, cube, made->autocorrelation, "photons",
                    "autocorrelation merged from the images, [z][y][x]");
}

static status write_images(h5_writer *w, const reconstruction *made)
{
    const int64_t n = made->n_images, four[2] = {n, 4};
    TRY(h5_write(w, "/image", H5_INT64, 1, &n, made->source, NULL, "index in the data set"));
    TRY(h5_write(w, "/orientations", H5_DOUBLE, 2, four, made->orientations, NULL,
                 "rotation of the particle, unit quaternion w, x, y, z"));
    TRY(h5_write(w, "/fluences", H5_DOUBLE, 1, &n, made->fluence, NULL, "relative, mean 1"));
    return h5_write(w, "/scores", H5_DOUBLE, 1, &n, made->scores, NULL,
                    "of the best reference (log-likelihood, up to a constant of the image)");
}

/* Results and seconds apart, so that the former are the same bits whatever computed them. */
static status write_history(h5_writer *w, const reconstruction *made)
{
    const int64_t n = made->n_records, dims[2] = {n, HISTORY_RESULTS}, times[2] = {n, N_STAGES};
    double *table = malloc((size_t)(n * HISTORY_COLUMNS + 1) * sizeof *table);
    if (!table) FAIL(STATUS_RESOURCE, "out of host memory");
    double *seconds = table + n * HISTORY_RESULTS, row[HISTORY_COLUMNS];
    for (int64_t i = 0; i < n; i++) {
        history_to_row(made->records + i, row);
        memcpy(table + i * HISTORY_RESULTS, row, sizeof(double[HISTORY_RESULTS]));
        memcpy(seconds + i * N_STAGES, row + HISTORY_RESULTS, sizeof(double[N_STAGES]));
    }
    status result = h5_write(w, "/history", H5_DOUBLE, 2, dims, table, NULL,
                             "a row a generation, as in history.txt without the seconds");
    if (result == STATUS_OK)
        result = h5_write(w, "/history_seconds", H5_DOUBLE, 2, times, seconds, "s",
                          "of the stages, as in history.txt");
    free(table);
    return result;
}

static status write_attributes(h5_writer *w, const config *cfg, const reconstruction *made)
{
    const uint8_t converged = made->converged;
    TRY(h5_write_numbers(w, "/", "voxel_angstrom", H5_DOUBLE, 1, &made->voxel));
    TRY(h5_write_numbers(w, "/", "s_max_per_angstrom", H5_DOUBLE, 1, &made->s_max));
    TRY(h5_write_numbers(w, "/", "converged", H5_UINT8, 1, &converged));
    TRY(h5_write_numbers(w, "/", "half_fsc05_angstrom", H5_DOUBLE, 1, &made->resolution.angstrom));
    TRY(h5_write_numbers(w, "/", "seed", H5_INT64, 1, &cfg->run.seed));
    TRY(h5_write_text(w, "/", "data_file", cfg->data.file));
    TRY(h5_write_text(w, "/", "version", BUILD_VERSION));
    char *text = NULL;
    TRY(config_text(cfg, &text));
    status result = h5_write_text(w, "/", "config", text);
    free(text);
    return result;
}

static status write_curves(h5_writer *w, const reconstruction *made)
{
    const int64_t n = made->agreement->n_shells;
    TRY(h5_write(w, "/fsc/s", H5_DOUBLE, 1, &n, made->agreement->s, "1/A", "centre of the shell"));
    TRY(h5_write(w, "/fsc/value", H5_DOUBLE, 1, &n, made->agreement->value, NULL,
                 "Fourier shell correlation of the halves"));
    TRY(h5_write_numbers(w, "/prtf", "agreement", H5_DOUBLE, 1, &made->average.agreement));
    TRY(h5_write_numbers(w, "/prtf", "r_factor", H5_DOUBLE, 1, &made->final.r_factor));
    TRY(h5_write_numbers(w, "/prtf", "starts", H5_INT64, 1, &made->average.n_used));
    return h5_write(w, "/prtf/value", H5_DOUBLE, 1, &n, made->prtf, NULL,
                    "phase retrieval transfer function, in the shells of /fsc/s");
}

static status write_result(const config *cfg, const reconstruction *made)
{
    status result = STATUS_OK;
    char path[PATH_SIZE];
    h5_writer *w = NULL;
    new_path_of(cfg, "result.h5", path);
    TRY(h5_create(path, &w));
    TRY_OR(fail, write_volumes(w, made));
    TRY_OR(fail, write_images(w, made));
    TRY_OR(fail, write_history(w, made));
    TRY_OR(fail, write_curves(w, made));
    TRY_OR(fail, write_attributes(w, cfg, made));
    return h5_commit(w);
fail:
    h5_abandon(w);
    return result;
}

static status write_all(const config *cfg, const reconstruction *made)
{
    TRY(write_map(cfg, "density.mrc", made, made->density, "mtip density"));
    TRY(write_map(cfg, "density_half1.mrc", made, made->half[0], "mtip density, first half"));
    TRY(write_map(cfg, "density_half2.mrc", made, made->half[1], "mtip density, second half"));
    TRY(write_fsc(cfg, made));
    TRY(write_prtf(cfg, made));
    TRY(write_history_table(cfg, made));
    TRY(write_orientations(cfg, made));
    return write_result(cfg, made);
}

status results_write(const config *cfg, const reconstruction *made)
{
    char from[PATH_SIZE], to[PATH_SIZE];
    status result = write_all(cfg, made);
    for (int i = 0; i < N_RESULTS; i++) {
        new_path_of(cfg, result_names[i], from);
        path_of(cfg, result_names[i], to);
        if (result != STATUS_OK)
            unlink(from);
        else if (rename(from, to) != 0)
            result = status_fail(STATUS_OUTPUT, __FILE__, __LINE__, "cannot rename %s to %s: %s",
                                 from, to, strerror(errno));
    }
    return result;
}
