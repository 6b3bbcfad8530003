/* One generation on the same input, on any number of ranks:

       test_run DATA single|double FILE cpu|cuda TOLERANCE TOLERANCE_OF_MAPS

   Without FILE it is written; with it, scores, fluences, the merged autocorrelation and the density
   after one step of error reduction must agree with what it holds, the last two to their own
   tolerance.  (A step of HIO jumps where the
   projected density changes sign; a start is phased by one rank, whatever their number.) */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "devices.h"
#include "run.h"

enum { SIZE = 21, VOLUME = SIZE * SIZE * SIZE };

static config cfg;

static void settings(const char *data, const char *name)
{
    config_default(&cfg);
    snprintf(cfg.data.file, sizeof cfg.data.file, "%s", data);
    const bool single = strcmp(name, "single") == 0;
    cfg.run.precision = single ? CONFIG_PRECISION_SINGLE : CONFIG_PRECISION_DOUBLE;
    cfg.nufft.tolerance = single ? 1e-6 : 1e-12;
    cfg.grid.size = SIZE;
    cfg.grid.diameter = 40;
    cfg.merge.iterations = 5;
    cfg.phase.generation_starts = 1;
    cfg.phase.loops = 0;
    cfg.phase.er = 1;
}

/* A lopsided particle to start from. */
static void particle(double *density)
{
    for (int i = 0; i < VOLUME; i++) {
        const double x = i % SIZE - SIZE / 2, y = i / SIZE % SIZE - SIZE / 2;
        const double z = i / SIZE / SIZE - SIZE / 2;
        density[i] = exp(-(x * x + y * y + z * z) / 8) +
                     exp(-((x - 2) * (x - 2) + (y + 1) * (y + 1) + z * z) / 3);
    }
}

static status generation(const device *dev, comm *world, int64_t *n, double **results)
{
    status result = STATUS_OK;
    catalogue *k = NULL;
    images *set = NULL;
    run *r = NULL;
    static double density[VOLUME];
    run_record record;
    const run_step step = {
        .resolution = 0.9, .n_references = 300, .perplexity = 3, .feedback = true};
    particle(density);
    TRY_OR(done, catalogue_create(&cfg, world, &k));
    TRY_OR(done, images_load(k, world, 1, 0, &set));
    TRY_OR(done, run_create(&cfg, dev, world, k, set, 7, &r));
    TRY_OR(done, run_set_density(r, density));
    TRY_OR(done, run_generation(r, 1, &step, &record));
    if (comm_rank(world) == 0)
        printf("%lld references, %d iterations\n", (long long)record.n_active,
               record.cg_iterations);
    *n = 2 * set->n + 2 * VOLUME;
    *results = malloc((size_t)*n * sizeof **results);
    memcpy(*results, run_scores(r), (size_t)set->n * sizeof(double));
    memcpy(*results + set->n, run_fluence(r), (size_t)set->n * sizeof(double));
    memcpy(*results + 2 * set->n, run_density(r), VOLUME * sizeof(double));
    TRY_OR(done, run_autocorrelation(r, *results + 2 * set->n + VOLUME));
done:
    run_destroy(r);
    images_destroy(set);
    catalogue_destroy(k);
    return result;
}

/* Relative l2 difference of each of the four arrays; allowed is that of the images' and of the maps. */
static int compare(const double *now, const double *saved, int64_t n, const double allowed[2])
{
    static const char *const names[] = {"scores", "fluences", "density", "autocorrelation"};
    const int64_t n_images = (n - 2 * VOLUME) / 2;
    const int64_t counts[] = {n_images, n_images, VOLUME, VOLUME};
    int failed = 0;
    for (int a = 0; a < 4; a++) {
        double error = 0, norm = 0;
        for (int64_t i = 0; i < counts[a]; i++) {
            error += (now[i] - saved[i]) * (now[i] - saved[i]);
            norm += saved[i] * saved[i];
        }
        error = sqrt(error / norm);
        printf("%s differ by %.1e, %.0e allowed\n", names[a], error, allowed[a / 2]);
        if (!(error <= allowed[a / 2])) failed = 1;
        now += counts[a];
        saved += counts[a];
    }
    return failed;
}

static int check(const double *results, int64_t n, const char *path, const double allowed[2])
{
    FILE *file = fopen(path, "rb");
    const size_t size = (size_t)n;
    if (!file) {
        file = fopen(path, "wb");
        return !file || fwrite(results, sizeof *results, size, file) != size || fclose(file) != 0;
    }
    double *saved = calloc(size + 1, sizeof *saved);
    int failed = !saved || fread(saved, sizeof *saved, size, file) != size;
    fclose(file);
    if (!failed) failed = compare(results, saved, n, allowed);
    free(saved);
    return failed;
}

int main(int argc, char **argv)
{
    comm *world = NULL;
    device *dev = NULL;
    double *results = NULL;
    int64_t n = 0;
    int failed = 0;
    status result = comm_start(&argc, &argv, &world);
    if (argc != 7) return 2;
    settings(argv[1], argv[2]);
    const bool gpu = strcmp(argv[4], "cuda") == 0;
    cfg.parallel.backend = gpu ? CONFIG_BACKEND_CUDA : CONFIG_BACKEND_CPU;
    if (result == STATUS_OK) result = devices_choose(&cfg, world, 1, &dev);
    if (result == STATUS_OK) result = generation(dev, world, &n, &results);
    if (result != STATUS_OK) {
        fprintf(stderr, "%s\n", status_message());
        comm_abort(world, 1);
    }
    const double allowed[2] = {strtod(argv[5], NULL), strtod(argv[6], NULL)};
    if (results && comm_rank(world) == 0) failed = check(results, n, argv[3], allowed);
    free(results);
    device_destroy(dev);
    comm_finish(world);
    return failed;
}
