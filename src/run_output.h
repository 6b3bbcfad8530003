/* run_output.h: reads back what a run left in its directory. */
#ifndef MTIP_RUN_OUTPUT_H
#define MTIP_RUN_OUTPUT_H

#include "config.h"

typedef struct run_output {
    char *directory;
    int64_t n;        /* maps are [n][n][n] */
    double voxel;     /* Angstrom */
    double s_max;     /* 1/Angstrom: to where the run had data, at most 1/(2 voxel) */
    double *density;  /* of density.mrc */
    double *half[2];  /* of density_half1.mrc and density_half2.mrc, NULL where one is missing */
    int64_t n_images; /* 0: the run left no orientations */
    int64_t *image;   /* [n_images] index in the data set */
    double *orientations;             /* [n_images][4] */
    char data_file[CONFIG_TEXT_SIZE]; /* "" if the run does not say */
    config settings; /* of config.resolved.yaml as far as readable, else defaults */
} run_output;

/* Orientations come from result.h5, or from orientations.txt where that is missing.  STATUS_INPUT
   for files that are broken or do not belong together, or when density.mrc is missing. */
status run_output_read(const char *directory, run_output **read);
/* Accepts NULL. */
void run_output_destroy(run_output *run);

/* Reads a map in MRC format; it must be a cube with cubic voxels of known size. */
status run_output_read_map(const char *path, int64_t *n, double *voxel, double **values);

#endif
