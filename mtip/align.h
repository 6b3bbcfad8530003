/* align.h: brings one map onto another by a rigid motion and, where needed, a change of hand.

   The intensities of a particle do not tell it from its inversion through a point (Friedel), nor
   do they fix where it stands, and orientations found from nothing are relative to an arbitrary
   frame; maps are compared after undoing all three.

   Convention.  A point y of the moving map (voxels from its centre, x, y, z) comes to

       x = hand R y + shift,        R = rotation_matrix(q), hand = +1 or -1,

   in the frame of the fixed map:  aligned(x) = moving(hand R^T (x - shift)).

   Maps are [n][n][n] in host memory, any n; radius is the edge of the comparison in Fourier voxels,
   s_max n voxel.  The aligned map is the moving map's transform at rotated frequencies, without
   interpolation, cut at the radius; this supposes that the box holds all of the moving map.  All
   functions give STATUS_NUMERIC for maps that are not finite or are empty. */
#ifndef MTIP_ALIGN_H
#define MTIP_ALIGN_H

#include "core/device.h"

typedef struct alignment {
    double q[4];        /* from the moving map's frame to the fixed one's */
    double shift[3];    /* voxels: x, y, z */
    int hand;           /* +1; -1: the moving map is inverted */
    double correlation; /* Pearson, of the aligned and the fixed map inside the radius */
} alignment;

/* Finds the alignment and the aligned map (NULL: not wanted).  Orientations are searched by the
   shell-normalised intensities at low resolution, over an even cover of all rotations; the best
   ones, with both hands, are refined together with the shift by Gauss-Newton steps on the Fourier
   coefficients, each shell weighted by its correlation c as c/(1-c^2) (the likelihood of equal maps
   with noise). */
status align(const device *dev, int64_t n, double radius, const double *fixed, const double *moving,
             double *aligned, alignment *found);

/* aligned <- the moving map after the motion, cut at the radius. */
status align_apply(const device *dev, int64_t n, double radius, const double *moving,
                   const alignment *motion, double *aligned);

/* Orientations (w, x, y, z) [n_images][4] of images with respect to the moving map become those
   with respect to the fixed map: q q_align^-1.  The hand does not enter: inversion leaves the
   intensities as they are.  moved may be the same array. */
void align_orientations(const alignment *motion, int64_t n_images, const double *orientations,
                        double *moved);

#endif
