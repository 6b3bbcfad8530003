/* `mtip info`: the build, its libraries, and which rank is where. */
#include <hdf5.h>
#include <mpi.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "batch.h"
#include "build_info.h"
#include "comm_nccl.h"
#include "commands.h"
#include "core/device.h"
#include "devices.h"

enum { MAX_GPUS = 16 }; /* of a node, listed */

typedef struct rank_facts {
    char host[BATCH_NAME_SIZE];
    int node_rank, n_cpus, n_threads, n_gpus;
    device_facts gpus[MAX_GPUS];
} rank_facts;

static void line(const char *name, const char *text)
{
    printf("%-12s %s\n", name, *text ? text : "not found when built");
}

/* The first line only: Open MPI's takes the whole page. */
static void print_mpi(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    if (MPI_Get_library_version(text, &length) != MPI_SUCCESS) return;
    text[strcspn(text, ",\n")] = 0;
    line("MPI", text);
}

static void print_build(void)
{
    char text[64];
    unsigned major = 0;
    unsigned minor = 0;
    unsigned release = 0;
    printf("%-12s %s, %s\n", "mtip", BUILD_VERSION, BUILD_COMMIT);
    printf("%-12s %s, %s, %s\n", "compiler", BUILD_COMPILER, BUILD_TYPE, BUILD_FLAGS);
    line("CUDA", strcmp(BUILD_CUDA, "ON") == 0 ? "yes" : "no");
    line("NCCL", comm_nccl_version());
    print_mpi();
    if (H5get_libversion(&major, &minor, &release) >= 0) {
        snprintf(text, sizeof text, "%u.%u.%u", major, minor, release);
        line("HDF5", text);
    }
    line("FFTW", BUILD_FFTW);
    line("OpenBLAS", BUILD_BLAS);
    line("xraylib", BUILD_XRAYLIB);
    line("libyaml", yaml_get_version_string());
    snprintf(text, sizeof text, "%d", _OPENMP);
    line("OpenMP", text);
}

static rank_facts describe(const comm *world)
{
    rank_facts facts = {.node_rank = comm_node_rank(world)};
    cpu_set_t cpus;
    batch_node(facts.host);
    if (sched_getaffinity(0, sizeof cpus, &cpus) == 0) facts.n_cpus = CPU_COUNT(&cpus);
    facts.n_threads = devices_threads(0, comm_node_size(world));
    facts.n_gpus = device_count_cuda();
    for (int i = 0; i < facts.n_gpus && i < MAX_GPUS; i++)
        if (device_facts_cuda(i, facts.gpus + i) != STATUS_OK) strcpy(facts.gpus[i].name, "?");
    return facts;
}

/* The GPUs that the first rank of each node sees. */
static void print_gpus(const rank_facts *all, int n)
{
    for (int i = 0; i < n; i++)
        for (int g = 0; all[i].node_rank == 0 && g < all[i].n_gpus && g < MAX_GPUS; g++)
            printf("%-12s %s: %s, %s, %.1f GiB\n", g == 0 ? "GPU" : "", all[i].host,
                   all[i].gpus[g].name, all[i].gpus[g].uuid, (double)all[i].gpus[g].bytes / 0x1p30);
}

status command_info(const cli *c, comm *world)
{
    (void)c;
    int n = comm_size(world);
    int rank = comm_rank(world);
    rank_facts *all = calloc((size_t)n, sizeof *all);
    int64_t *counts = calloc((size_t)n, sizeof *counts);
    bool got = all && counts;
    status result = STATUS_OK;
    if (!got) result = FAILED(STATUS_RESOURCE, "no memory for %d ranks", n);
    TRY_OR(done, comm_agree(world, result));
    all[rank] = describe(world);
    for (int i = 0; i < n; i++)
        counts[i] = (int64_t)sizeof *all;
    TRY_OR(done, comm_gather(world, all, counts, COMM_BYTE, 0));
    if (rank != 0) goto done;
    print_build();
    printf("\n%6s  %-24s %9s %5s %8s %5s\n", "rank", "host", "node rank", "CPUs", "threads",
           "GPUs");
    for (int i = 0; i < n; i++)
        printf("%6d  %-24s %9d %5d %8d %5d\n", i, all[i].host, all[i].node_rank, all[i].n_cpus,
               all[i].n_threads, all[i].n_gpus);
    print_gpus(all, n);
done:
    free(all);
    free(counts);
    return result;
}
