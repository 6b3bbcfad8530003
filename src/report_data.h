/* report_data.h: all that a run's directory tells of the run, be it done, at work, stopped or dead. */
#ifndef MTIP_REPORT_DATA_H
#define MTIP_REPORT_DATA_H

#include "config.h"
#include "core/device.h"
#include "run.h"

typedef enum report_state {
    REPORT_DONE,
    REPORT_RUNNING,
    REPORT_STOPPED, /* with a checkpoint, to go on */
    REPORT_FAILED,
    REPORT_KILLED /* without a word */
} report_state;

/* Over shells of |s|; n 0: unknown. */
typedef struct report_curve {
    int n;
    double *s, *value; /* [n] 1/Angstrom */
} report_curve;

typedef struct report_data {
    const char *directory;
    report_state state;
    char sentence[1024]; /* how it ended, or how far it is */
    /* files as text, "" where one is missing; the caller may cut them up */
    char *about, *settings_text, *log, *left_out;
    config settings; /* defaults where they are unknown */
    int n_records;
    run_record *records; /* history.h */
    double s_max;        /* 1/Angstrom, the edge of the data; NAN: unknown */
    /* results, or what the newest checkpoint has of the run that is furthest: */
    char source[128];                  /* in words; "" if there is neither */
    int half;                          /* the images' half, -1: all of them */
    int64_t size;                      /* n; 0: none of the following */
    double voxel;                      /* Angstrom */
    double *density, *autocorrelation; /* [n]^3 */
    int64_t n_images;                  /* that have orientations; 0: none */
    int64_t *image;                    /* [n_images] index in the data set, or NULL */
    double *orientations, *fluences;   /* [n_images][4], [n_images] */
    report_curve halves, truth, prtf;
    int64_t starts; /* that the PRTF is of */
    double agreement, r_factor;
    char notes[1024]; /* sentences on what could not be had */
} report_data;

/* Reads the directory.  STATUS_INPUT if it is none of a run, and for results that are damaged; a
   checkpoint or a table (history.txt, fsc.txt, prtf.txt) that is damaged makes a note. */
status report_read(const device *dev, const char *directory, report_data **read);
/* The same without results and checkpoints: how far the run is. */
status report_read_progress(const char *directory, report_data **read);
/* Accepts NULL. */
void report_data_destroy(report_data *r);

/* The value of a line "name: value" of about.txt; "" if there is none: good for size bytes. */
const char *report_about(const report_data *r, const char *name, char *value, size_t size);
/* Its number, NAN if there is none. */
double report_about_number(const report_data *r, const char *name);

/* Adds a sentence to the notes. */
void report_note(report_data *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
