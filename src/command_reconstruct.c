#include "commands.h"

#include "about.h"
#include "batch.h"
#include "checkpoint.h"
#include "core/clock.h"
#include "devices.h"
#include "forecast.h"
#include "inputs.h"
#include "interrupt.h"
#include "keeper.h"
#include "profile.h"
#include "results.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static void say_start(const config *cfg, const catalogue *k, comm *world, int threads)
{
    const double s_max = k->radius[k->n_pixels - 1];
    log_info(
        "%s: %lld images of %lld pixels (%lld dark, %lld bad left out), resolution %.2f to %.2f A",
        cfg->data.file, (long long)k->n_usable, (long long)k->n_pixels, (long long)k->n_dark,
        (long long)k->n_bad, 1 / k->radius[0], 1 / s_max);
    log_info("grid %lld, voxel %.3f A, diameter %.1f A, %s precision, ranks: %d, threads "
             "of each: %d",
             (long long)cfg->grid.size, 1 / (2 * s_max), cfg->grid.diameter,
             cfg->run.precision == CONFIG_PRECISION_SINGLE ? "single" : "double", comm_size(world),
             threads);
}

static double peak_memory_mib(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss / 1024;
}

static status say_end(comm *world, const reconstruction *made, double seconds)
{
    double memory[2] = {peak_memory_mib(), (double)made->device_bytes / 0x1p20}, t[N_STAGES] = {0};
    char text[FSC_TEXT_SIZE], of_gpu[48] = "";
    TRY(comm_max(world, memory, 2, COMM_DOUBLE));
    for (int i = 0; i < made->n_records; i++)
        for (int s = 0; s < N_STAGES && made->records[i].rank == comm_rank(world); s++)
            t[s] += made->records[i].costs[s].seconds;
    t[STAGE_PHASE] += made->final.costs[STAGE_PHASE].seconds;
    if (memory[1] > 0) snprintf(of_gpu, sizeof of_gpu, ", %.0f MiB of its GPU", memory[1]);
    log_info("done in %.1f s (slice %.1f, match %.1f, merge %.1f, phase %.1f, exchange %.1f; the "
             "rest is files and comparing halves), peak memory %.0f MiB a rank%s",
             seconds, t[STAGE_SLICE], t[STAGE_MATCH], t[STAGE_MERGE] + t[STAGE_SOLVE],
             t[STAGE_PHASE], t[STAGE_EXCHANGE], memory[0], of_gpu);
    if (!made->converged && comm_rank(world) == 0)
        log_warning("NOT converged: FSC(0.5) of the halves is %s, the edge %.2f A, attempts: %lld; "
                    "use more images, more generations, or another match.method",
                    fsc_resolution_text(&made->resolution, text), 1 / made->s_max,
                    (long long)made->progress.attempts);
    return STATUS_OK;
}

/* What reports and the log say of the program, the machine and the data. Collective. */
static status say_about(const config *cfg, const catalogue *k, comm *world, device *dev,
                        const run_directory *directory)
{
    about_run about = {.cfg = cfg, .catalogue = k, .dev = dev, .ranks = comm_size(world)};
    about.threads = omp_get_max_threads();
    TRY(devices_count_users(world, dev, &about.n_gpus));
    if (!directory) return comm_agree(world, STATUS_OK);
    FILE *log = run_directory_log(directory);
    fputs("please cite: Donatelli, Sethian, Zwart, PNAS 114, 7222 (2017); Loh, Elser, Phys. Rev. E "
          "80, 026705 (2009); Shih et al., arXiv 2102.08463 (2021)\n",
          log);
    return comm_agree(world, about_write(&about, log));
}

/* Seconds that the run has, on rank 0: the shorter of what the user and the batch system give. */
static status time_limit(const cli *c, double *seconds)
{
    const char *given = cli_option_text(c, "--time-limit");
    *seconds = time_limit_of_job();
    if (isfinite(*seconds)) log_info("the batch system gives this job %.0f s more", *seconds);
    if (!given) return STATUS_OK;
    double asked = 0;
    TRY(time_limit_parse("--time-limit", given, &asked));
    *seconds = fmin(*seconds, asked);
    return STATUS_OK;
}

/* Rank 0's: the directory, and whether the run is done already (its sentence, else ""). */
static status open_directory(const cli *c, double *seconds, run_directory **directory,
                             char *sentence, size_t size)
{
    TRY(time_limit(c, seconds));
    TRY(run_directory_open(&c->config, cli_option_given(c, "--fresh"), directory));
    log_also_to(run_directory_log(*directory));
    char job[256];
    batch_job(job, sizeof job);
    if (*job) log_info("%s", job);
    return run_directory_done(*directory, sentence, size);
}

static status write_results(const config *cfg, const reconstruction *made,
                            const run_directory *directory, const char *sentence)
{
    TRY(results_write(cfg, made));
    TRY(run_directory_finish(directory, sentence));
    checkpoint_remove(cfg);
    return STATUS_OK;
}

enum { SENTENCE_SIZE = CONFIG_TEXT_SIZE + 128 };

/* Nothing speaks against the run any more: an older one makes room for a fresh one. Collective. */
static status begin(comm *world, run_directory *directory)
{
    status result = directory ? run_directory_make_room(directory) : STATUS_OK;
    if (directory && result == STATUS_OK) log_also_to(run_directory_log(directory));
    return comm_agree(world, result);
}

static status work(const cli *c, comm *world, run_directory *directory, double seconds,
                   char sentence[SENTENCE_SIZE])
{
    const config *cfg = &c->config;
    status result = STATUS_OK;
    device *dev = NULL;
    catalogue *k = NULL;
    keeper *keep = NULL;
    reconstruction *made = NULL;
    char text[FSC_TEXT_SIZE];
    const double start = clock_seconds();
    const int threads = devices_threads(cfg->parallel.threads, comm_node_size(world));
    omp_set_num_threads(threads);
    TRY_OR(done, inputs_open(cfg, world, &k));
    TRY_OR(done, devices_choose(cfg, world, threads, &dev)); /* bad input needs no GPU */
    say_start(cfg, k, world, threads);
    TRY_OR(done, forecast_check(cfg, dev, world, k));
    TRY_OR(done, begin(world, directory));
    TRY_OR(done, keeper_create(cfg, world, k->checksum, directory, seconds, &keep));
    TRY_OR(done, reconstruction_create(cfg, dev, world, k, keep, &made));
    TRY_OR(done, say_about(cfg, k, world, dev, directory));
    TRY_OR(done, reconstruct(cfg, dev, world, k, keep, made));
    snprintf(sentence, SENTENCE_SIZE, "%s %s half-FSC(0.5) %s", cfg->run.directory,
             made->converged ? "converged" : "NOT converged",
             fsc_resolution_text(&made->resolution, text));
    TRY_OR(done, comm_agree(world,
                            directory ? write_results(cfg, made, directory, sentence) : STATUS_OK));
    TRY_OR(done, say_end(world, made, clock_seconds() - start));
    if (cli_option_given(c, "--profile")) TRY_OR(done, profile_print(cfg, dev, world, made));
    if (directory) printf("%s\n", sentence);
done:
    keeper_destroy(keep, result);
    reconstruction_destroy(made);
    catalogue_destroy(k);
    device_destroy(dev);
    return result;
}

/* A run that is done was of these images, as far as they are still there. Collective. */
static status confirm_done(const config *cfg, comm *world, const char *sentence)
{
    catalogue *k = NULL;
    int64_t there = access(cfg->data.file, F_OK) == 0;
    TRY(comm_broadcast(world, &there, 1, COMM_INT64, 0));
    if (there) TRY(inputs_open(cfg, world, &k));
    const bool other = there && about_other_data(cfg->run.directory, k->checksum);
    catalogue_destroy(k);
    TRY(comm_agree(world, !other
                              ? STATUS_OK
                              : FAILED(STATUS_CONFIG,
                                       "%s was made from other images than those of %s now; "
                                       "choose another run.directory, or begin anew with --fresh",
                                       cfg->run.directory, cfg->data.file)));
    if (comm_rank(world) != 0) return STATUS_OK;
    log_info("%s is done already, with these settings and images; --fresh begins anew",
             cfg->run.directory);
    printf("%s\n", sentence);
    return STATUS_OK;
}

status command_reconstruct(const cli *c, comm *world)
{
    const bool root = comm_rank(world) == 0;
    status result = STATUS_OK;
    run_directory *directory = NULL;
    double seconds = INFINITY;
    char sentence[SENTENCE_SIZE] = "";
    interrupt_catch();
    if (root) result = open_directory(c, &seconds, &directory, sentence, sizeof sentence);
    result = comm_agree(world, result);
    int64_t done = *sentence != 0;
    if (result == STATUS_OK) result = comm_broadcast(world, &done, 1, COMM_INT64, 0);
    if (result == STATUS_OK && !done) result = work(c, world, directory, seconds, sentence);
    if (result == STATUS_OK && done) result = confirm_done(&c->config, world, sentence);
    log_also_to(NULL);
    const status closed = run_directory_close(directory, result, status_message());
    return result == STATUS_OK ? comm_agree(world, closed) : result;
}
