#include "commands.h"

#include "core/clock.h"
#include "devices.h"
#include "forecast.h"
#include "inputs.h"
#include "profile.h"
#include "reconstruct.h"
#include "results.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

/* Threads of a rank: those asked for, else its share of the cores when ranks see the same ones. */
static int choose_threads(const config *cfg, comm *world)
{
    if (cfg->parallel.threads > 0) return (int)cfg->parallel.threads;
    const int seen = omp_get_num_procs(), ranks = comm_node_size(world);
    const int online = (int)sysconf(_SC_NPROCESSORS_ONLN);
    if (seen * ranks <= online) return seen;
    return online / ranks > 1 ? online / ranks : 1;
}

static void say_start(const config *cfg, const catalogue *k, comm *world, int threads)
{
    const double s_max = k->radius[k->n_pixels - 1];
    log_info(
        "%s: %lld images of %lld pixels (%lld dark, %lld bad left out), resolution %.2f to %.2f A",
        cfg->data.file, (long long)k->n_usable, (long long)k->n_pixels, (long long)k->n_dark,
        (long long)k->n_bad, 1 / k->radius[0], 1 / s_max);
    log_info("grid %lld, voxel %.3f A, diameter %.1f A, %s precision, %d ranks of %d threads",
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
    double memory = peak_memory_mib(), t[N_STAGES] = {0};
    char text[FSC_TEXT_SIZE];
    TRY(comm_max(world, &memory, 1, COMM_DOUBLE));
    for (int i = 0; i < made->n_records; i++)
        for (int s = 0; s < N_STAGES; s++)
            t[s] += made->records[i].costs[s].seconds;
    t[STAGE_PHASE] += made->final.costs[STAGE_PHASE].seconds;
    log_info("done in %.1f s (slice %.1f, match %.1f, merge %.1f, phase %.1f, exchange %.1f), peak "
             "memory %.0f MiB a rank",
             seconds, t[STAGE_SLICE], t[STAGE_MATCH], t[STAGE_MERGE] + t[STAGE_SOLVE],
             t[STAGE_PHASE], t[STAGE_EXCHANGE], memory);
    if (!made->converged && comm_rank(world) == 0)
        log_warning("NOT converged: FSC(0.5) of the halves is %s, the edge %.2f A, attempts: %d; "
                    "use more images, more generations, or another match.method",
                    fsc_resolution_text(&made->resolution, text), 1 / made->s_max, made->attempts);
    return STATUS_OK;
}

/* Lines that did not reach the disk are a failure too. */
static status close_log(const config *cfg, FILE *log)
{
    const bool lost = log && ferror(log) != 0;
    if ((log && fclose(log) != 0) || lost)
        FAIL(STATUS_OUTPUT, "lines of %s/log.txt are lost: is the disk full? The results are whole",
             cfg->run.directory);
    return STATUS_OK;
}

status command_reconstruct(const cli *c, comm *world)
{
    const config *cfg = &c->config;
    const bool root = comm_rank(world) == 0;
    status result = STATUS_OK;
    FILE *log = NULL;
    device *dev = NULL;
    catalogue *k = NULL;
    reconstruction *made = NULL;
    const double start = clock_seconds();
    char text[FSC_TEXT_SIZE];
    const int threads = choose_threads(cfg, world);
    TRY_OR(done, comm_agree(world, root ? results_begin(cfg, &log) : STATUS_OK));
    log_also_to(log);
    TRY_OR(done, devices_choose(cfg, world, threads, &dev));
    TRY_OR(done, inputs_open(cfg, world, &k));
    say_start(cfg, k, world, threads);
    TRY_OR(done, forecast_check(cfg, dev, world, k->n_usable, k->n_pixels));
    TRY_OR(done, reconstruct(cfg, dev, world, k, &made));
    TRY_OR(done, comm_agree(world, root ? results_write(cfg, made) : STATUS_OK));
    TRY_OR(done, say_end(world, made, clock_seconds() - start));
    if (cli_option_given(c, "--profile")) TRY_OR(done, profile_print(cfg, dev, world, made));
    if (root)
        printf("%s %s half-FSC(0.5) %s\n", cfg->run.directory,
               made->converged ? "converged" : "NOT converged",
               fsc_resolution_text(&made->resolution, text));
done:
    log_also_to(NULL);
    const status closed = close_log(cfg, log);
    if (result == STATUS_OK) result = comm_agree(world, closed);
    reconstruction_destroy(made);
    catalogue_destroy(k);
    device_destroy(dev);
    return result;
}
