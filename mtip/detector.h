/* detector.h: a flat square-pixel detector across the beam, and what its pixels measure.

   The beam runs along +z and hits the middle of the detector; pixel [row][col] has its centre at
   x = (col - (n_cols-1)/2) p, y = (row - (n_rows-1)/2) p, z = D.  With r = |(x,y,z)|:
     s            = ((x,y,z)/r - (0,0,1)) / lambda           1/Angstrom, no 2 pi
     solid angle  = p^2 D / r^3                              sr
     polarization = 1-(x/r)^2, 1-(y/r)^2, or for unpolarized light 1-(x^2+y^2)/(2r^2). */
#ifndef MTIP_DETECTOR_H
#define MTIP_DETECTOR_H

#include "core/status.h"
#include "core/types.h"

/* hc in eV Angstrom, and the classical electron radius in metres (CODATA). */
#define PHYSICS_HC              12398.41984
#define PHYSICS_ELECTRON_RADIUS 2.8179403205e-15

typedef enum polarization {
    POLARIZATION_HORIZONTAL, /* along x */
    POLARIZATION_VERTICAL,   /* along y */
    POLARIZATION_NONE        /* unpolarized */
} polarization;

typedef struct detector_settings {
    int n_rows, n_cols;
    double pixel_size; /* m */
    double distance;   /* m */
    double wavelength; /* Angstrom */
    polarization polarized;
    int stop_pixels; /* the middle stop_pixels x stop_pixels are behind the beam stop */
} detector_settings;

typedef struct detector {
    detector_settings settings;
    int64_t n_pixels;     /* n_rows n_cols; arrays below are [row][col] */
    double *s;            /* [n_pixels][3], 1/Angstrom */
    double *polarization; /* [n_pixels] */
    double *solid_angle;  /* [n_pixels], sr */
    uint8_t *mask;        /* [n_pixels], 1 = use, 0 = behind the beam stop */
} detector;

/* STATUS_INVALID when a number makes no sense, STATUS_RESOURCE without memory. */
status detector_create(const detector_settings *settings, detector **created);
/* Accepts NULL. */
void detector_destroy(detector *det);

/* |s| in 1/Angstrom at the centre of the middle pixel of an edge, and of a corner pixel. */
double detector_s_edge(const detector *det);
double detector_s_corner(const detector *det);

#endif
