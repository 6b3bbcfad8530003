/* align_search.h: the first step of align(): candidate rotations from intensities alone. */
#ifndef MTIP_ALIGN_SEARCH_H
#define MTIP_ALIGN_SEARCH_H

#include "mtip/ball.h"

/* The number of rotations in the search. */
#define ALIGN_COVER 12000
/* Candidates differ by at least this angle, in radians. */
#define ALIGN_APART 0.15

/* The rotations (moving frame to fixed frame) under which the shell-normalised intensities of the
   maps [n][n][n], n that of the ball, agree best inside the ball: at most n_wanted, best first,
   into q [n_wanted][4].  Neither the hand nor a shift matters to it. */
status align_search(const device *dev, const ball *b, const double *fixed, const double *moving,
                    int n_wanted, double *q, int *n_found);

#endif
