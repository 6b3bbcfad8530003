/* run_parts.h: what a run holds; for run*.c only. */
#ifndef MTIP_RUN_PARTS_H
#define MTIP_RUN_PARTS_H

#include "core/integer.h"
#include "mtip/phase.h"
#include "run.h"
#include "run_options.h"

struct run {
    const config *cfg;
    const device *dev;
    comm *comm;
    comm_device *devices; /* of the ranks of comm */
    stage_timer timer;    /* of a generation */
    const catalogue *catalogue;
    const images *set;
    uint64_t seed;
    precision precision;
    int64_t size;        /* n */
    double s_max, voxel; /* 1/Angstrom, Angstrom */
    slicer *slicer;
    match *match;
    merger *merger;
    void *pixels;     /* device [n_pixels][3], radians per voxel */
    void *correction; /* device [n_pixels] */
    void *model;      /* device [n]^3: what is sliced */
    void *merged;     /* device [n]^3: what the data gave */
    bool has_model;
    double *density;          /* host [n]^3 */
    double *average;          /* device [n]^3: the density */
    double *prtf;             /* host [n / 2 + 1] */
    double *fluence, *scores; /* host [set->n] */
    double *orientations;     /* host [set->n][4] */
    /* of the generation */
    int64_t n_references, n_used, batch;
    double k_max;
    double turn[4];
    const double *given; /* host [n_references][4]: references instead of an even cover */
    double *quaternions; /* host [batch][4] */
    int64_t *weights;    /* host [batch] */
    int64_t *columns;    /* host [batch] */
    int64_t *share;      /* host [ranks] */
    double *entropy;     /* host [set->n], nats, and */
    double *moved;       /* host [set->n], degrees, in any order once it was looked at */
    void *slices;        /* device [batch][n_used] */
    int64_t slices_capacity;
    void *fixed; /* device int64 [batch][n_used], deterministic mode */
    /* references waiting to be merged */
    int64_t n_waiting, waiting_rows; /* and the most there may be */
    int64_t waiting_capacity;        /* values in waiting_data */
    double *waiting_quaternions, *waiting_weights;
    void *waiting_data; /* device */
    /* kept from one phasing to the next of as many starts */
    phaser *phaser; /* of this rank's */
    int64_t phaser_starts;
    averager *averager; /* rank 0's, of all */
    double *densities;  /* device [n_densities][n]^3 */
    int64_t n_densities;
    struct run_check *check; /* run_check.h; NULL: none */
};

static inline int64_t bytes(const run *r, int64_t n)
{
    return real_bytes(r->precision, n);
}

static inline int64_t volume(const run *r)
{
    return cube(r->size);
}

static inline comm_type real_type(const run *r)
{
    return r->precision == PRECISION_SINGLE ? COMM_SINGLE : COMM_DOUBLE;
}

/* The record's costs, from the timer, and works: of a generation that `matched` (or assigned
   orientations), with this rank's share of the phasings. */
void run_account(const run *r, bool matched, int64_t starts, int loops, run_record *record);

/* Every image's fluence from the counts it has and those expected at fluence 1 (host [n_local];
   NULL: all the same), mean 1 over all images. Collective. */
status run_update_fluence(run *r, const double *expected);

/* Of a phaser of so many starts, and the smallest |k| that is imposed. */
phase_options run_phase_options(const run *r, int64_t starts);
double run_k_min(const run *r);

/* share[rank] = its part of n things; returns where this rank's part begins. */
int64_t run_deal(run *r, int64_t n);

/* Phases `merged` `starts` times, dealt to ranks (start 0 from the density if `again`), and averages:
   the new density. Random starts are named by the seed, the round and their number. Collective. */
status run_phase_starts(run *r, int64_t starts, int loops, uint64_t round, bool again,
                        average_report *report, double *r_factor);
/* The model is the density's autocorrelation. Collective. */
status run_set_model(run *r);

#endif
