/* reconstruct.h: from a data set to a density that is trusted.

   Two halves of the images are reconstructed independently, from different random orientations;
   their agreement is the verdict, and the only one that needs no known structure: a trapped
   reconstruction disagrees with every other.  While no two halves agree, both are started afresh, up
   to run.attempts times.  The average of the two, brought into one frame, then starts the final
   generations with all images at full resolution, and their last merge is phased many times. */
#ifndef MTIP_RECONSTRUCT_H
#define MTIP_RECONSTRUCT_H

#include "comm.h"
#include "config.h"
#include "images.h"
#include "mtip/average.h"
#include "mtip/fsc.h"
#include "progress.h"
#include "run.h"

/* Host arrays; the same on all ranks but for the records and the times. */
typedef struct reconstruction {
    int64_t size;        /* n */
    double voxel, s_max; /* Angstrom, 1/Angstrom */
    double *density;     /* [n]^3 */
    double *half[2];     /* [n]^3, both in the frame of the first, which the density starts in */
    double *autocorrelation;   /* [n]^3, merged from the data */
    fsc *agreement;            /* of the halves */
    fsc_resolution resolution; /* of the halves, at 0.5 */
    double *prtf;              /* [agreement->n_shells] of the starts averaged (mtip/prtf.h) */
    bool converged;            /* the verdict */
    int64_t n_images;
    int64_t *source;          /* [n_images] indices in the file */
    double *orientations;     /* [n_images][4] */
    double *fluence, *scores; /* [n_images] */
    average_report average;
    run_record final; /* of the last phasing */
    int n_records;
    run_record *records; /* on rank 0 of all runs, else of those it took part in (history.h) */
    double start, work_done, work_left; /* for the time left: seconds, slices' worth of work */
    double seconds_left;
    int64_t device_free, device_bytes; /* of a GPU: free at first; the most that was taken since */
    progress progress;                 /* of the search and the final generations */
} reconstruction;

typedef struct keeper keeper;

/* Where a reconstruction begins: at nothing, or where the keeper's checkpoint stands, which has to be
   of the same settings and images.  The catalogue is of inputs_open; the caller destroys what is made.
   Collective. */
status reconstruction_create(const config *cfg, const device *dev, comm *world, const catalogue *k,
                             keeper *keep, reconstruction **created);
/* The data set's images against one another, as said above, from there on, with the arguments that it
   was created with.  A run that does not converge is no failure; STATUS_STOPPED if it has to go on
   another time.  Collective. */
status reconstruct(const config *cfg, const device *dev, comm *world, const catalogue *k,
                   keeper *keep, reconstruction *made);
/* Accepts NULL. */
void reconstruction_destroy(reconstruction *made);

#endif
