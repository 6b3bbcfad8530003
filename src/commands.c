#include "commands.h"

static const cli_option evaluate_options[] = {
    {"--truth", "FILE",
     "what to compare with: a data set of mtip simulate, a structure or an MRC map"
     " (default: the data set of the run)"},
    {"--json", NULL, "print one JSON object"},
    {NULL, NULL, NULL},
};

static const cli_option estimate_options[] = {
    {"--ranks", "N", "ranks of all nodes together (default: 1)"},
    {"--gpus", "N",
     "GPUs of all nodes together, 0: CPUs (default: those here that the ranks can use)"},
    {"--nodes", "N", "nodes (default: 1)"},
    {"--host-memory", "GIB", "memory of a node (default: what is free here)"},
    {"--gpu-memory", "GIB", "memory of a GPU (default: of the first one here)"},
    {"--time-limit", "TIME", "refuse a run that takes longer: seconds, or [hours:]minutes:seconds"},
    {"--json", NULL, "print one JSON object"},
    {NULL, NULL, NULL},
};

static const cli_option reconstruct_options[] = {
    {"--fresh", NULL, "begin anew: what an older run left in run.directory is moved to its name.1"},
    {"--time-limit", "TIME",
     "end with a checkpoint before this many seconds, or [hours:]minutes:seconds, have passed"
     " (default: what Slurm gives the job)"},
    {"--profile", NULL, "print time, floor and bytes moved of every stage on every rank"},
    {NULL, NULL, NULL},
};

static const cli_option jobscript_options[] = {
    {"--system", "S", "slurm (any cluster), perlmutter, perlmutter-cpu, cori-gpu, summit"},
    {"-N", "N", "nodes (default: 1)"},
    {"--ranks", "N", "of a node (default: one for each GPU, two with --mps; else one for 8 cores)"},
    {"--gpus", "N", "of a node (default: all; none for the backend cpu)"},
    {"--cores", "N", "of a node (default: all that are for jobs)"},
    {"--memory", "GIB", "of a node (default: what the estimate says)"},
    {"--time", "TIME",
     "limit, seconds or [hours:]minutes:seconds (default: 1:00:00), or auto: 1.25 times the estimate,"
     " measured here"},
    {"--account", "NAME", "the project that pays"},
    {"--queue", "NAME",
     "queue, partition or quality of service (default: the machine's usual one)"},
    {"--constraint", "NAME", "kind of node"},
    {"--mpi", "NAME", "what srun --mpi is told"},
    {"--mps", NULL, "ranks share GPUs through NVIDIA's MPS"},
    {"--array", "LIST",
     "as many runs, such as 1-4: run.seed and the name in run.directory of each"},
    {"--output", "FILE", "a new file for the script (default: -, standard output)"},
    {NULL, NULL, NULL},
};

static const cli_option report_options[] = {
    {"--output", "FILE",
     "the page to write, - for standard output (default: report.html in RUN_DIR)"},
    {"--follow", NULL, "write it again every 30 seconds until the run ends"},
    {NULL, NULL, NULL},
};

static const cli_option convert_options[] = {
    {"--to", "FORMAT",
     "of images: spinifel (ours), emc, emc-int, emc-double, dragonfly, cxi; of a detector: detector"
     " (Dragonfly's, text for .dat); of maps: mrc, xdmf, cxi-image; of orientations: text,"
     " quaternions, star (default: by OUT's suffix)"},
    {NULL, NULL, NULL},
};

/* clang-format off */
const command commands[] = {
    {.name = "simulate", .arguments = "CONFIG", .min_arguments = 1, .max_arguments = 1,
     .meaning = "make a data set of diffraction images of a molecule, with known truth",
     .files = "reads molecule.file and geometry.file, writes simulate.output",
     .example = "mtip simulate config/quickstart.yaml --set simulate.images=100",
     .takes_config = true, .use = CONFIG_FOR_SIMULATE, .parallel = true, .run = command_simulate},
    {.name = "reconstruct", .arguments = "CONFIG", .min_arguments = 1, .max_arguments = 1,
     .meaning = "images of unknown orientation -> density, orientations, resolution",
     .files = "reads data.file and those that it names; writes result.h5, maps, fsc.txt, prtf.txt,"
              " orientations.txt, history.txt, log.txt, status.json, checkpoints into run.directory",
     .example = "mpirun -n 2 mtip reconstruct config/quickstart.yaml",
     .takes_config = true, .use = CONFIG_FOR_RECONSTRUCT, .parallel = true,
     .options = reconstruct_options, .run = command_reconstruct},
    {.name = "evaluate", .arguments = "RUN_DIR", .min_arguments = 1, .max_arguments = 1,
     .meaning = "compare a run with the truth and its halves with each other; the resolution",
     .files = "reads result.h5 of RUN_DIR and the truth, writes RUN_DIR/fsc.txt",
     .example = "mtip evaluate quickstart/run --truth tests/data/2cex_a.pdb",
     .options = evaluate_options, .run = command_evaluate},
    {.name = "estimate", .arguments = "CONFIG", .min_arguments = 1, .max_arguments = 1,
     .meaning = "memory and time of a run before it is submitted; 5 if it does not fit",
     .files = "reads data.file and those that it names, writes none",
     .example = "mtip estimate config/groel.yaml --ranks 8 --gpus 8 --nodes 2",
     .takes_config = true, .use = CONFIG_FOR_RECONSTRUCT, .options = estimate_options,
     .run = command_estimate},
    {.name = "jobscript", .arguments = "CONFIG|-- COMMAND...", .min_arguments = 1,
     .max_arguments = -1, .meaning = "a batch script for Slurm or LSF that reconstructs, or runs COMMAND",
     .files = "reads the config and its data, writes --output or to standard output",
     .example = "mtip jobscript config/groel.yaml --system perlmutter --account PROJECT -N 2",
     .options = jobscript_options, .run = command_jobscript},
    {.name = "report", .arguments = "RUN_DIR", .min_arguments = 1, .max_arguments = 1,
     .meaning = "one HTML page on a run, done or not: convergence, resolution, maps, images",
     .files = "reads RUN_DIR and its data.file, writes --output or RUN_DIR/report.html",
     .example = "mtip report quickstart/run",
     .options = report_options, .run = command_report},
    {.name = "watch", .arguments = "RUN_DIR", .min_arguments = 1, .max_arguments = 1,
     .meaning = "a run on the terminal until it ends (85: stopped, 8: failed or killed), or as it is",
     .files = "reads RUN_DIR; writes none",
     .example = "mtip watch quickstart/run",
     .run = command_watch},
    {.name = "check", .arguments = "CONFIG|DATA...", .min_arguments = 1, .max_arguments = -1,
     .meaning = "check settings against each other and the data, print what follows; run nothing",
     .files = "reads the config and its data, or images, detectors, structures, maps; writes none",
     .example = "mtip check images.cxi --set geometry.file=detector.geom",
     .run = command_check},
    {.name = "convert", .arguments = "IN OUT", .min_arguments = 2, .max_arguments = 2,
     .meaning = "images, detectors, maps, orientations in another format (settings with --set)",
     .files = "reads IN; OUT is there whole, or as it was",
     .example = "mtip convert quickstart/images.h5 images.cxi",
     .options = convert_options, .run = command_convert},
    {.name = "bench", .arguments = "nufft|mtip", .min_arguments = 1, .max_arguments = -1,
     .meaning = "time a NUFFT, or all stages and their scaling (options: mtip bench nufft --help)",
     .files = "writes what the options --csv and --svg of bench mtip name",
     .example = "mpirun -n 4 mtip bench mtip --weak --svg weak.svg",
     .own_options = true, .parallel = true, .run = command_bench},
    {.name = "info", .arguments = "", .min_arguments = 0, .max_arguments = 0,
     .meaning = "the build, its libraries, and which rank is where (under mpirun or srun)",
     .files = "none",
     .example = "srun -n 8 mtip info",
     .parallel = true, .run = command_info},
};
/* clang-format on */

const int n_commands = (int)(sizeof commands / sizeof commands[0]);
