#include "about.h"

#include "batch.h"
#include "build_info.h"
#include "config_same.h"
#include "io_atomic.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PATH_SIZE = CONFIG_TEXT_SIZE + 64 };

static status begin(const about_run *run, const char *name, atomic_file **file)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s/%s", run->cfg->run.directory, name);
    return atomic_begin_stream(path, file);
}

static status write_settings(const about_run *run)
{
    atomic_file *file = NULL;
    TRY(begin(run, "config.resolved.yaml", &file));
    const status result = config_write(run->cfg, atomic_stream(file));
    if (result == STATUS_OK) return atomic_commit(file);
    atomic_abandon(file);
    return status_prefix(result, "%s/config.resolved.yaml", run->cfg->run.directory);
}

static status write_left_out(const about_run *run)
{
    static const char *const why[N_IMAGE_FATES] = {"", "blacklisted", "bad", "dark", "bright"};
    const catalogue *k = run->catalogue;
    atomic_file *file = NULL;
    TRY(begin(run, "left_out.txt", &file));
    FILE *out = atomic_stream(file);
    fprintf(out,
            "# images that are not used: index, and why (bad: a pixel that is NaN, infinite or "
            "negative; bright: %g times the photons of the median image)\n",
            images_too_bright);
    for (int64_t i = 0; i < k->n_seen; i++)
        if (k->fate[i] != IMAGE_USED)
            fprintf(out, "%lld %s\n", (long long)(k->first + i), why[k->fate[i]]);
    return atomic_commit(file);
}

/* -- about.txt -- */

static void print_program(FILE *out)
{
    const time_t now = time(NULL);
    struct tm parts;
    char started[32];
    (void)strftime(started, sizeof started, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &parts));
    fprintf(out, "started: %s\n", started);
    fprintf(out, "program: mtip %s, commit %s\n", BUILD_VERSION, BUILD_COMMIT);
    fprintf(out, "build: %s, %s, %s; CUDA %s\n", BUILD_COMPILER, BUILD_TYPE, BUILD_FLAGS,
            BUILD_CUDA);
}

static void print_machine(const about_run *run, FILE *out)
{
    char node[BATCH_NAME_SIZE], job[256];
    device_facts facts;
    batch_node(node);
    batch_job(job, sizeof job);
    fprintf(out, "host: %s, %ld cores\n", node, sysconf(_SC_NPROCESSORS_ONLN));
    if (*job) fprintf(out, "job: %s\n", job);
    fprintf(out, "ranks: %d\nthreads: %d of each rank\n", run->ranks, run->threads);
    if (run->n_gpus > 0 && device_facts_cuda(device_ordinal(run->dev), &facts) == STATUS_OK)
        fprintf(out, "devices: GPUs: %d, rank 0 on %s %s\n", run->n_gpus, facts.name, facts.uuid);
    else
        fprintf(out, "devices: CPU\n");
}

static status print_data(const about_run *run, FILE *out)
{
    const config *cfg = run->cfg;
    const catalogue *k = run->catalogue;
    const double s_max = k->radius[k->n_pixels - 1];
    uint64_t settings = 0;
    TRY(config_checksum(cfg, &settings));
    fprintf(out, "seed: %lld\nsettings: %016" PRIx64 "\ndata: %016" PRIx64 "\n",
            (long long)cfg->run.seed, settings, k->checksum);
    fprintf(out, "data file: %s\nfirst image: %lld\nimages: %lld\n", cfg->data.file,
            (long long)k->first, (long long)k->n_seen);
    fprintf(out, "used: %lld\nblacklisted: %lld\nbad: %lld\ndark: %lld\nbright: %lld\n",
            (long long)k->n_usable, (long long)k->n_unwanted, (long long)k->n_bad,
            (long long)k->n_dark, (long long)k->n_bright);
    fprintf(out, "pixels: %lld of an image\nsmallest s: %.9g 1/A\nlargest s: %.9g 1/A\n",
            (long long)k->n_pixels, k->radius[0], s_max);
    return STATUS_OK;
}

static status print_all(const about_run *run, FILE *out)
{
    print_program(out);
    print_machine(run, out);
    return print_data(run, out);
}

static status write_about(const about_run *run)
{
    atomic_file *file = NULL;
    TRY(begin(run, "about.txt", &file));
    const status result = print_all(run, atomic_stream(file));
    if (result == STATUS_OK) return atomic_commit(file);
    atomic_abandon(file);
    return result;
}

status about_write(const about_run *run, FILE *log)
{
    TRY(write_settings(run));
    TRY(write_left_out(run));
    TRY(write_about(run));
    return print_all(run, log);
}

bool about_other_data(const char *directory, uint64_t data)
{
    char path[PATH_SIZE], line[256];
    bool other = false;
    snprintf(path, sizeof path, "%s/about.txt", directory);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "data: ", 6) == 0) other = strtoull(line + 6, NULL, 16) != data;
    if (file) fclose(file);
    return other;
}
