#include "jobscript.h"

/* Slurm's and mtip's time to save and leave before the limit: a tenth of it, 30 s to 5 min. */
static int64_t seconds_to_leave(const job *j)
{
    const int64_t tenth = j->seconds / 10;
    return tenth < 30 ? 30 : tenth > 300 ? 300 : tenth;
}

static void write_head(const job *j, const char *submit, FILE *out)
{
    fprintf(out, "#!/bin/bash\n# %s; %d node%s, %d rank%s", j->machine->meaning, j->nodes,
            j->nodes > 1 ? "s" : "", j->ranks, j->ranks > 1 ? "s" : "");
    if (j->gpus > 0) fprintf(out, " and %d GPU%s", j->gpus, j->gpus > 1 ? "s" : "");
    fprintf(out, " each. Written by\n#   %s\n# Submit it with %s.\n", j->written_by, submit);
}

/* The program, and threads for the cores of a rank. */
static void write_environment(const job *j, FILE *out)
{
    fprintf(out, "\nmtip=${MTIP:-mtip}\nexport OMP_NUM_THREADS=%d\n", j->cores / j->ranks);
}

/* A seed and a directory of its own for each number of an array. */
static void write_command(const job *j, const char *index, FILE *out)
{
    fprintf(out, "\"$mtip\" %s", j->command);
    if (!j->array || !j->directory) return;
    fprintf(out, " \\\n  --set run.seed=\"$%s\" --set run.directory=%s/\"seed$%s\"", index,
            j->directory, index);
}

/* -- Slurm -- */

static void slurm_option(const char *name, const char *value, FILE *out)
{
    if (value) fprintf(out, "#SBATCH %s=%s\n", name, value);
}

static void write_slurm_options(const job *j, FILE *out)
{
    const machine *m = j->machine;
    fprintf(out,
            "#SBATCH --job-name=mtip\n#SBATCH --nodes=%d\n#SBATCH --ntasks-per-node=%d\n"
            "#SBATCH --cpus-per-task=%d\n",
            j->nodes, j->ranks, j->cores / j->ranks * m->cpus);
    if (j->gpus > 0) fprintf(out, "#SBATCH --gpus-per-node=%d\n", j->gpus);
    if (m->whole_nodes)
        fprintf(out, "#SBATCH --exclusive\n");
    else if (j->memory > 0)
        fprintf(out, "#SBATCH --mem=%dG\n", j->memory);
    fprintf(out, "#SBATCH --time=%lld:%02lld:%02lld\n", (long long)j->seconds / 3600,
            (long long)j->seconds / 60 % 60, (long long)j->seconds % 60);
    slurm_option("--account", j->account, out);
    slurm_option(m->queue_option, j->queue, out);
    slurm_option("--constraint", j->constraint, out);
    slurm_option("--array", j->array, out);
    slurm_option("--output", "mtip-%j.log", out);
    if (j->directory)
        fprintf(out, "#SBATCH --open-mode=append\n#SBATCH --requeue\n#SBATCH --signal=USR1@%lld\n",
                (long long)seconds_to_leave(j));
}

/* The daemons are a step of their own, beside the ranks'. */
static void write_slurm_mps(const job *j, FILE *out)
{
    fprintf(
        out,
        "\n# A daemon on each node, through which ranks share its GPUs.\n"
        "export CUDA_MPS_PIPE_DIRECTORY=/tmp/mtip-mps-$SLURM_JOB_ID\n"
        "export CUDA_MPS_LOG_DIRECTORY=$CUDA_MPS_PIPE_DIRECTORY\n"
        "on_each_node() {\n"
        "  srun --overlap --mem=0 --nodes=%d --ntasks=%d --ntasks-per-node=1 --cpus-per-task=1 "
        "sh -c \"$1\"\n"
        "}\n"
        "on_each_node \"mkdir -p $CUDA_MPS_PIPE_DIRECTORY && exec nvidia-cuda-mps-control -f\" &\n"
        "mps=$!\n"
        "sleep 5\n",
        j->nodes, j->nodes);
}

static void write_slurm_step(const job *j, FILE *out)
{
    fprintf(out, "\nsrun ");
    if (j->mpi) fprintf(out, "--mpi=%s ", j->mpi);
    fprintf(out, "--cpus-per-task=%d --cpu-bind=cores ", j->cores / j->ranks * j->machine->cpus);
    write_command(j, "SLURM_ARRAY_TASK_ID", out);
    fprintf(out, "\ncode=$?\n");
    if (j->mps) fprintf(out, "on_each_node 'echo quit | nvidia-cuda-mps-control'\nwait \"$mps\"\n");
}

/* What the job is to scontrol, and what its log holds before the run; tasks of an array need their
   numbers: the job id of one of them is the whole array's. */
static void write_slurm_before(const job *j, FILE *out)
{
    fprintf(out,
            "\njob=%s\n"
            "log=mtip-$SLURM_JOB_ID.log\n"
            "count() { grep -c -- \"$1\" \"$log\"; }\n"
            "generations=$(count ' generation=')\n"
            "stops=$(count 'the file STOP was found')\n",
            j->array ? "${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID" : "$SLURM_JOB_ID");
}

/* Exit codes 85, and 5 and 8 where a node or a rank is at fault: docs/clusters.md. */
static const char slurm_after[] =
    "\n"
    "# Queues this job again, without the nodes that its log calls faulty.\n"
    "again() {\n"
    "  trap '' TERM # which Slurm sends to this script when the job is queued again\n"
    "  echo \"exit code $code: queued again\"\n"
    "  scontrol requeuehold \"$job\" || exit \"$code\"\n"
    "  avoid=$({\n"
    "    sed -n 's/.*node fault: //p' \"$log\"\n"
    "    scontrol show job \"$job\" | sed -n 's/.*ExcNodeList=\\([^( ]\\{1,\\}\\).*/\\1/p'\n"
    "  } | sort -u | paste -sd ,)\n"
    "  [ -z \"$avoid\" ] || scontrol update JobId=\"$job\" ExcNodeList=\"$avoid\"\n"
    "  scontrol release \"$job\"\n"
    "  exit 0\n"
    "}\n"
    "case $code in\n"
    "85) # stopped early with a good checkpoint\n"
    "  if [ \"$(count 'the file STOP was found')\" -gt \"$stops\" ]; then\n"
    "    echo 'stopped by a file STOP: not queued again'\n"
    "  elif [ \"$(count ' generation=')\" -gt \"$generations\" ]; then\n"
    "    again\n"
    "  else\n"
    "    echo 'no generation was finished: not queued again; give the job more time'\n"
    "  fi ;;\n"
    "5 | 8) # a node is at fault or a rank hangs: three times\n"
    "  if [ \"$code\" -eq 8 ] || grep -q 'node fault: ' \"$log\"; then\n"
    "    [ \"$(count '^exit code [58]: queued again')\" -ge 3 ] || again\n"
    "  fi ;;\n"
    "esac\n";

void jobscript_slurm(const job *j, FILE *out)
{
    write_head(j, "sbatch", out);
    write_slurm_options(j, out);
    write_environment(j, out);
    if (j->mps) write_slurm_mps(j, out);
    if (j->directory) write_slurm_before(j, out);
    write_slurm_step(j, out);
    if (j->directory) fputs(slurm_after, out);
    fputs("exit \"$code\"\n", out);
}

/* -- LSF -- */

static void write_lsf_options(const job *j, FILE *out)
{
    const int64_t minutes = (j->seconds + 59) / 60;
    if (j->array)
        fprintf(out, "#BSUB -J \"mtip[%s]\"\n#BSUB -o mtip-%%J-%%I.log\n", j->array);
    else
        fprintf(out, "#BSUB -J mtip\n#BSUB -o mtip-%%J.log\n");
    fprintf(out, "#BSUB -nnodes %d\n#BSUB -W %lld:%02lld\n", j->nodes, (long long)minutes / 60,
            (long long)minutes % 60);
    if (j->account) fprintf(out, "#BSUB -P %s\n", j->account);
    if (j->queue) fprintf(out, "#BSUB %s %s\n", j->machine->queue_option, j->queue);
    fprintf(out, "#BSUB -alloc_flags \"smt1%s\"\n", j->mps ? " gpumps" : "");
    if (j->directory) fprintf(out, "#BSUB -Q 85\n");
}

/* A resource set for each node: its ranks see all its GPUs, of which each takes its own. */
static void write_lsf_step(const job *j, FILE *out)
{
    fprintf(out, "\njsrun -n %d -r 1 -a %d -c %d -g %d -b packed:%d -d packed ", j->nodes, j->ranks,
            j->cores / j->ranks * j->ranks, j->gpus, j->cores / j->ranks);
    write_command(j, "LSB_JOBINDEX", out);
    if (j->directory)
        fprintf(out, " \\\n  --time-limit $((%lld - SECONDS))",
                (long long)(j->seconds - seconds_to_leave(j)));
    fprintf(out, "\n");
}

void jobscript_lsf(const job *j, FILE *out)
{
    write_head(j, "bsub", out);
    write_lsf_options(j, out);
    write_environment(j, out);
    write_lsf_step(j, out);
}
