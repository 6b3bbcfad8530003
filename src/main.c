/* The program: reads the command line, starts MPI for the commands that use it, runs the command,
   and is the only place that prints a failure and exits. */
#include <signal.h>
#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "build_info.h"
#include "commands.h"
#include "help.h"
#include "interrupt.h"

/* Large arrays are the system's again once they are freed.  By itself glibc comes to keep holes of tens
   of MiB of them, more with every generation. */
static void return_freed_memory(void)
{
#ifdef __GLIBC__
    (void)mallopt(M_MMAP_THRESHOLD, 1 << 20);
#endif
}

static bool is_first(const comm *world)
{
    return !world || comm_rank(world) == 0;
}

/* srun with the wrong PMI starts N programs that each believe to be alone; they would write over
   one another's results.  mpirun inside a job step says so in OMPI_COMM_WORLD_SIZE. */
static status check_launcher(const comm *world, bool mpirun)
{
    const char *tasks = getenv("SLURM_STEP_NUM_TASKS");
    long n_tasks = tasks ? strtol(tasks, NULL, 10) : 1;
    if (comm_size(world) == 1 && n_tasks > 1 && !mpirun)
        FAIL(STATUS_RESOURCE,
             "srun started %ld tasks, but each of them is alone in MPI; use srun --mpi=pmix (or "
             "another of srun --mpi=list)",
             n_tasks);
    return STATUS_OK;
}

static status start(int argc, char **argv, comm **world)
{
    bool mpirun = getenv("OMPI_COMM_WORLD_SIZE") != NULL;
    TRY(comm_start(&argc, &argv, world));
    return check_launcher(*world, mpirun);
}

/* Rank 0 reads the config for all, so that a file is opened once and errors are printed once. */
static status load(cli *c, comm *world)
{
    status mine = is_first(world) ? cli_load(c) : STATUS_OK;
    if (!world) return mine;
    TRY(comm_agree(world, mine));
    return comm_broadcast(world, &c->config, (int64_t)sizeof c->config, COMM_BYTE, 0);
}

static status print_wish(cli *c)
{
    if (c->wish == CLI_HELP && c->command) help_command(c->command, stdout);
    if (c->wish == CLI_HELP && !c->command) help_program(stdout);
    if (c->wish == CLI_HELP_MAN) help_man(stdout);
    if (c->wish == CLI_VERSION) printf("mtip %s (%s)\n", BUILD_VERSION, BUILD_COMMIT);
    if (c->wish != CLI_HELP_CONFIG) return STATUS_OK;
    config_default(&c->config);
    return config_write(&c->config, stdout);
}

static status run(cli *c, comm *world)
{
    TRY(load(c, world));
    return c->command->run(c, world);
}

/* Messages on settings begin with their own place, for editors; others end with the program's. */
static void print_failure(status result)
{
    if (result == STATUS_CONFIG)
        fprintf(stderr, "%s\n", status_message());
    else if (result == STATUS_USAGE)
        fprintf(stderr, "mtip: %s\n", status_message());
    else
        fprintf(stderr, "mtip: %s [%s, %s]\n", status_message(), status_text(result),
                status_place());
}

int main(int argc, char **argv)
{
    static cli c;
    comm *world = NULL;
    return_freed_memory();
    (void)signal(SIGXFSZ, SIG_IGN); /* beyond `ulimit -f` a write fails, with a message */
    interrupt_clean_up();
    status result = cli_parse(argc, argv, &c);
    if (c.command && c.command->parallel && c.wish == CLI_RUN) {
        status started = start(argc, argv, &world);
        if (result == STATUS_OK) result = started;
    }
    log_setup(c.level, world ? comm_rank(world) : 0, world ? comm_size(world) : 1);
    if (result == STATUS_OK) result = c.wish == CLI_RUN ? run(&c, world) : print_wish(&c);
    if (result == STATUS_OK) result = cli_flush_results();
    if (result != STATUS_OK && (is_first(world) || result == STATUS_PARALLEL))
        print_failure(result);
    if (world && result == STATUS_PARALLEL) comm_abort(world, status_exit_code(result));
    comm_finish(world);
    cli_finish(&c);
    return status_exit_code(result);
}
