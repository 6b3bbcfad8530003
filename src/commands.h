/* commands.h: the subcommands, and what each does.

   To add one: write `status command_name(const cli *c, comm *world)` in src/command_name.c, add the
   file to src/CMakeLists.txt, a prototype here and a line to the table in commands.c. */
#ifndef MTIP_COMMANDS_H
#define MTIP_COMMANDS_H

#include "cli.h"
#include "comm.h"

extern const command commands[];
extern const int n_commands;

/* Times a transform (bench nufft) or the stages together (bench mtip). */
status command_bench(const cli *c, comm *world);
/* Prints what the settings amount to (resolution, voxel, box, references), what a data set holds. */
status command_check(const cli *c, comm *world);
/* Writes a data set, a detector, a map or orientations in another format. */
status command_convert(const cli *c, comm *world);
/* Prints the memory and the time that a run will take. */
status command_estimate(const cli *c, comm *world);
/* Compares a run's density and orientations with the truth, and its halves with each other; writes
   fsc.txt. */
status command_evaluate(const cli *c, comm *world);
/* Prints the build, the libraries and the ranks with their hosts. */
status command_info(const cli *c, comm *world);
/* Prints a batch script for Slurm or LSF. */
status command_jobscript(const cli *c, comm *world);
/* Reconstructs the density; results go to run.directory (results.h). */
status command_reconstruct(const cli *c, comm *world);
/* Writes a page on a run, whatever its state (report_page.h). */
status command_report(const cli *c, comm *world);
/* Makes a data set of diffraction images with known truth (simulate.output). */
status command_simulate(const cli *c, comm *world);
/* Shows a run that works, or how one ended. */
status command_watch(const cli *c, comm *world);

#endif
