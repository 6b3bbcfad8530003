#include "devices.h"

#include "batch.h"
#include "core/host_memory.h"
#include "core/log.h"
#include "mtip/kernels.h"
#include "text.h"

#include <limits.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a thread may take of the address space before it computes: stack, malloc's arena, the BLAS's buffer. */
static const int64_t thread_addresses = 272 << 20;

typedef struct place {
    char host[BATCH_NAME_SIZE];
    device_facts gpu;
} place;

/* Of a list, which is one number for each level of nesting, the first; 0: unset, or no number. */
static int threads_of_environment(void)
{
    const char *text = getenv("OMP_NUM_THREADS");
    const long n = text ? strtol(text, NULL, 10) : 0;
    return n > 0 && n <= INT_MAX ? (int)n : 0;
}

int devices_threads(int64_t asked, int ranks)
{
    if (asked > 0) return (int)asked;
    const int wanted = threads_of_environment(), seen = omp_get_num_procs();
    const int online = (int)sysconf(_SC_NPROCESSORS_ONLN);
    if (wanted > 0) return wanted;
    if (seen * ranks <= online) return seen;
    return online / ranks > 1 ? online / ranks : 1;
}

/* Something is computed: a GPU that this build has no code for shows it here. */
static status try_out(const device *dev)
{
    void *memory;
    float values[2] = {1, -1};
    TRY(device_alloc(dev, 4 * (int64_t)sizeof *values, &memory));
    status result = device_from_host(dev, memory, values, sizeof values);
    if (result == STATUS_OK)
        result = match_kernels_of(dev, PRECISION_SINGLE)
                     ->complex_from_real(dev, 1, memory, (float *)memory + 2);
    if (result == STATUS_OK)
        result = device_to_host(dev, values, (float *)memory + 2, sizeof values);
    device_free(dev, memory);
    TRY(result);
    if (values[0] != 1 || values[1] != 0)
        FAIL(STATUS_RESOURCE, "the GPU computes %g and %g instead of 1 and 0", (double)values[0],
             (double)values[1]);
    return STATUS_OK;
}

static status create_gpu(comm *world, place *mine, device **created)
{
    const int count = device_count_cuda();
    const int ordinal = count > 0 ? comm_node_rank(world) % count : 0;
    TRY(device_create_cuda(ordinal, created));
    status result = device_facts_cuda(ordinal, &mine->gpu);
    if (result == STATUS_OK) result = try_out(*created);
    if (result == STATUS_OK) return STATUS_OK;
    device_destroy(*created);
    *created = NULL;
    return result;
}

/* There is a GPU's driver, whether this program can use it or not. */
static bool gpu_is_there(void)
{
    return device_count_cuda() > 0 || access("/dev/nvidiactl", F_OK) == 0;
}

/* How many of the n places are on this GPU. */
static int users_of(const place *places, int n, const char *uuid)
{
    int users = 0;
    for (int i = 0; i < n; i++)
        users += strcmp(places[i].gpu.uuid, uuid) == 0;
    return users;
}

static int gpus_of(const place *places, int n)
{
    int gpus = 0;
    for (int i = 0; i < n; i++)
        gpus += users_of(places, i, places[i].gpu.uuid) == 0;
    return gpus;
}

/* One line for each rank, and a warning if there are more ranks than GPUs. */
static void print_places(const place *places, int n)
{
    const int gpus = gpus_of(places, n);
    const place *shared = places;
    for (int i = 0; i < n; i++)
        log_info("rank %d: %s, %s, %s", i, places[i].host, places[i].gpu.name, places[i].gpu.uuid);
    if (gpus == n) return;
    while (users_of(places, n, shared->gpu.uuid) == 1)
        shared++;
    log_warning(
        "%d ranks for %d GPU%s: ranks share them (first %s on %s), which is slower than one "
        "rank a GPU, and exchange through host memory instead of NCCL",
        n, gpus, text_plural(gpus), shared->gpu.uuid, shared->host);
}

/* Everybody's place, [comm_size], for the caller to free. Collective. */
static status share_places(comm *c, const place *mine, place **places)
{
    const int n = comm_size(c);
    int64_t *sizes = calloc((size_t)n, sizeof *sizes);
    status result = STATUS_OK;
    *places = calloc((size_t)n, sizeof **places);
    if (!*places || !sizes) result = FAILED(STATUS_RESOURCE, "out of host memory");
    TRY_OR(done, comm_agree(c, result));
    for (int i = 0; i < n; i++)
        sizes[i] = (int64_t)sizeof **places;
    (*places)[comm_rank(c)] = *mine;
    result = comm_share(c, *places, sizes, COMM_BYTE);
done:
    free(sizes);
    return result;
}

static status show_places(comm *world, const place *mine, device *dev)
{
    place *places = NULL;
    const status result = share_places(world, mine, &places);
    if (result == STATUS_OK) {
        device_set_users(dev, users_of(places, comm_size(world), mine->gpu.uuid));
        if (comm_rank(world) == 0) print_places(places, comm_size(world));
    }
    free(places);
    return result;
}

status devices_count_users(comm *c, device *dev, int *n_gpus)
{
    place mine = {.host = ""}, *places = NULL;
    *n_gpus = 0;
    if (device_kind_of(dev) == DEVICE_CPU) return STATUS_OK;
    TRY(comm_agree(c, device_facts_cuda(device_ordinal(dev), &mine.gpu)));
    const status result = share_places(c, &mine, &places);
    if (result == STATUS_OK) {
        device_set_users(dev, users_of(places, comm_size(c), mine.gpu.uuid));
        *n_gpus = gpus_of(places, comm_size(c));
    }
    free(places);
    return result;
}

/* A GPU for every rank; *usable false, and no device, if one rank has none (and may have none). */
static status choose_gpus(const config *cfg, comm *world, bool *usable, device **chosen)
{
    const bool must = cfg->parallel.backend == CONFIG_BACKEND_CUDA;
    place mine = {.host = ""};
    batch_node(mine.host);
    status tried = create_gpu(world, &mine, chosen);
    if (must && tried != STATUS_OK)
        tried = status_prefix(STATUS_RESOURCE, "parallel.backend is cuda, but on %s", mine.host);
    if (must) TRY(comm_agree(world, tried));
    int64_t failed = tried != STATUS_OK, there = gpu_is_there();
    TRY(comm_max(world, &failed, 1, COMM_INT64));
    TRY(comm_max(world, &there, 1, COMM_INT64));
    *usable = !failed;
    char text[128];
    snprintf(text, sizeof text, "%s on %s", mine.gpu.uuid, mine.host);
    if (*usable) comm_set_place(world, text);
    if (*usable) return show_places(world, &mine, *chosen);
    if (tried != STATUS_OK && there)
        log_warning("NO GPU IS USED: on %s: %s. All ranks compute on the CPU, which is many times "
                    "slower; parallel.backend: cuda makes this an error, cpu says it is meant",
                    mine.host, status_message());
    device_destroy(*chosen);
    *chosen = NULL;
    return STATUS_OK;
}

/* OpenMP ends the program where it cannot start a thread, and OpenBLAS tries forever to get its memory. */
static status check_addresses(int threads)
{
    const int64_t left = host_memory_addresses(), needed = threads * thread_addresses;
    if (left >= 0 && left < needed)
        FAIL(STATUS_RESOURCE,
             "threads: %d, which may take %.2f GiB of address space; the limit on it (ulimit -v) "
             "leaves %.2f GiB; raise it, or lower parallel.threads",
             threads, (double)needed / 0x1p30, (double)left / 0x1p30);
    return STATUS_OK;
}

static status choose_cpu(int threads, device **chosen)
{
    TRY(check_addresses(threads));
    return device_create_cpu(threads, chosen);
}

status devices_choose(const config *cfg, comm *world, int threads, device **chosen)
{
    bool usable = false;
    status result = STATUS_OK;
    *chosen = NULL;
    /* the same bits are promised on CPUs only */
    if (cfg->parallel.backend != CONFIG_BACKEND_CPU && !cfg->run.deterministic)
        result = choose_gpus(cfg, world, &usable, chosen);
    if (result == STATUS_OK && !usable) result = comm_agree(world, choose_cpu(threads, chosen));
    if (result == STATUS_OK) return STATUS_OK;
    device_destroy(*chosen);
    *chosen = NULL;
    return result;
}
