/* about.h: what a run says of itself when it begins, for reports and for the log.

     config.resolved.yaml  every setting, with units
     about.txt             lines "name: value": program, build, host, ranks, devices, seed, checksums of
                           settings and data, what is used of the data
     left_out.txt          a line for every image that is not used: its index, and why */
#ifndef MTIP_ABOUT_H
#define MTIP_ABOUT_H

#include "comm.h"
#include "core/device.h"
#include "images.h"

typedef struct about_run {
    const config *cfg;
    const catalogue *catalogue;
    const device *dev;
    int ranks, threads, n_gpus; /* threads of a rank; GPUs of all */
} about_run;

/* Writes the three files into run.directory, and about.txt's lines to the log as well.  STATUS_OUTPUT.
   One rank. */
status about_write(const about_run *run, FILE *log);

/* Whether about.txt in this directory tells of data of another checksum. */
bool about_other_data(const char *directory, uint64_t data);

#endif
