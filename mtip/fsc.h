/* fsc.h: Fourier shell correlation of two maps, and the resolution read off it.

       FSC = Re sum F1 conj(F2) / sqrt(sum |F1|^2 sum |F2|^2)

   over shells one Fourier voxel, 1/(n voxel), wide, of the whole box without a mask (van Heel,
   Ultramicroscopy 21 (1987) 95). */
#ifndef MTIP_FSC_H
#define MTIP_FSC_H

#include "core/device.h"

typedef struct fsc {
    double s_max;      /* 1/Angstrom: the edge */
    int n_shells;      /* the first is the zero frequency */
    double *s;         /* [n_shells] centre of the shell, 1/Angstrom */
    int64_t *n_voxels; /* [n_shells] Fourier voxels, both half spaces */
    double *value;     /* [n_shells] -1..1; 0 where a map has nothing */
} fsc;

typedef enum fsc_outcome {
    FSC_CROSSES,          /* the curve comes down through the threshold */
    FSC_BETTER_THAN_EDGE, /* it never does: the resolution is at least 1/s_max */
    FSC_NONE              /* it is below from the first shell on */
} fsc_outcome;

typedef struct fsc_resolution {
    fsc_outcome outcome;
    double angstrom; /* full period; 1/s_max if better than the edge, INFINITY if none */
} fsc_resolution;

/* a and b are [n][n][n] in host memory, voxel in Angstrom; Fourier voxels with |s| <= s_max count,
   s_max <= 1/(2 voxel).  STATUS_NUMERIC if a map is not finite. */
status fsc_create(const device *dev, int64_t n, double voxel, double s_max, const double *a,
                  const double *b, fsc **created);
/* Accepts NULL. */
void fsc_destroy(fsc *f);

/* The FIRST place, from low to high s and leaving out s = 0, where the curve goes from at or above
   the threshold to below it, interpolated linearly between shells. */
fsc_resolution fsc_resolution_at(const fsc *f, double threshold);

/* "7.84 A", or "none"; returns text. */
enum { FSC_TEXT_SIZE = 32 };
const char *fsc_resolution_text(const fsc_resolution *r, char text[FSC_TEXT_SIZE]);

#endif
