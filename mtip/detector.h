/* detector.h: where the pixels of a detector are, and what they measure.

   The particle is at the origin and the beam runs along +z.  A pixel whose centre is at (x,y,z), with
   r = |(x,y,z)|, has
     s            = ((x,y,z)/r - (0,0,1)) / lambda           1/Angstrom, no 2 pi
     solid angle  = (fs x ss) . (x,y,z) / r^3                sr; fs, ss: the edges of the pixel
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

typedef struct detector {
    int64_t shape[3];     /* panels, rows, columns of an image */
    int64_t n_pixels;     /* their product; arrays below are in the order of an image */
    double wavelength;    /* Angstrom; 0: unknown */
    double distance;      /* of the first panel along the beam, m; 0: unknown */
    double pixel_size;    /* m; 0: unknown */
    double *s;            /* [n_pixels][3], 1/Angstrom; NULL: nothing says where the pixels are */
    double *polarization; /* [n_pixels] */
    double *solid_angle;  /* [n_pixels], sr */
    uint8_t *mask;        /* [n_pixels], 1 = use, 0 = behind the beam stop, bad, or no pixel */
    float *flags; /* [n_pixels][3]: a value that is less than the first, more than the second
                             or equal to the third (NAN: any will do) is of a pixel that is bad in
                             this image; NULL: there are none */
} detector;

/* Four times the pixels of the largest detectors. A file that says it has more is not believed. */
enum { DETECTOR_MAX_PIXELS = 1 << 26 };

/* Arrays of this many pixels with s = 0, both factors and the mask 1. STATUS_RESOURCE without
   memory, STATUS_INPUT for a shape that no detector has. */
status detector_allocate(const int64_t shape[3], detector **created);
/* Accepts NULL. */
void detector_destroy(detector *det);

/* ---- a flat square-pixel detector across the beam: pixel [row][col] has its centre at
   x = (col - (n_cols-1)/2) p, y = (row - (n_rows-1)/2) p, z = D ---- */

typedef struct detector_settings {
    int n_rows, n_cols;
    double pixel_size; /* m */
    double distance;   /* m */
    double wavelength; /* Angstrom */
    polarization polarized;
    int stop_pixels; /* the middle stop_pixels x stop_pixels are behind the beam stop */
} detector_settings;

/* STATUS_INVALID when a number makes no sense, STATUS_RESOURCE without memory. */
status detector_create(const detector_settings *settings, detector **created);

/* ---- any number of flat panels ---- */

typedef struct panel {
    int64_t n_fs, n_ss;               /* pixels along the fast and the slow axis */
    double first[3];                  /* centre of the first pixel, m */
    double fs[3], ss[3];              /* to the next pixel along either axis, m */
    int64_t at, stride_fs, stride_ss; /* of its pixels in an image: the first, and strides */
} panel;

/* Pixels of an image that no panel has are masked, with solid angle 0.  STATUS_INPUT for panels that overlap in the
   image, reach out of it, or have no area; the message numbers them from 0. */
status detector_from_panels(const panel *panels, int64_t n_panels, const int64_t shape[3],
                            double wavelength, polarization polarized, detector **created);

/* Cuts `clip` pixels off every edge of every panel and sums bin x bin pixels of the rest into one,
   whose centre is the mean of theirs on the Ewald sphere; of rows and columns that do not fill a
   bin, the last are dropped.  A bin with a masked pixel is masked.  STATUS_INPUT when nothing is
   left.  *binned is another detector; det stays. */
status detector_bin(const detector *det, int64_t clip, int64_t bin, detector **binned);

/* |s| in 1/Angstrom at the centre of the middle pixel of an edge of the first panel, and the largest
   of all pixels. */
double detector_s_edge(const detector *det);
double detector_s_corner(const detector *det);

/* -2 s_z / |s|^2 over all pixels: the wavelength where s lie on an Ewald sphere, |s + z / wavelength| =
   1 / wavelength; and whether that is the detector's wavelength, within 1 %, for either sign of z. */
double detector_curvature(const detector *det);
bool detector_is_on_sphere(const detector *det);

#endif
