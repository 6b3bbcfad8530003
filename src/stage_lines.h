/* stage_lines.h: the seconds of a stage as a line in what it has to do, fitted to samples.

   Of a generation on one rank, in operations as stage_floor.h counts them (the matches' in pairs):

   stage  at any rate                            grows with
   slice  transforms of (2n)^3, one a pass       interpolation of the points of all passes
   match  images x references: ladders           products: images x pixels x (references, active ones)
   merge  two transforms of (4n)^3               spreading of the merged points
   solve  two transforms of (2n)^3               the same for each iteration
   phase  a transform of n^3 for each start      two for each step of each start */
#ifndef MTIP_STAGE_LINES_H
#define MTIP_STAGE_LINES_H

#include "config.h"
#include "stage_timer.h"

/* What a rank does in a generation. */
typedef struct stage_load {
    int64_t images, pixels, references; /* that it matches */
    int64_t passes;                     /* over the references: 1 if their scores are kept */
    int64_t sliced, merged;             /* references: of each pass; that carry weight */
    int64_t active;                     /* references of all ranks that carry weight */
    int64_t iterations;                 /* of the solve */
    int64_t starts, steps;              /* of phasing */
} stage_load;

typedef struct stage_line {
    double fixed, growing;
} stage_line;

/* The operations at any rate, and those that grow; N_STAGES of them. */
void stage_terms(const config *cfg, const stage_load *load, stage_line terms[]);

/* Seconds an operation that fit n samples best, relative to their seconds; none is negative. */
stage_line stage_line_fit(int n, const stage_line terms[], const double seconds[]);

static inline double stage_line_seconds(stage_line line, stage_line terms)
{
    return line.fixed * terms.fixed + line.growing * terms.growing;
}

#endif
