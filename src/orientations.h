/* orientations.h: lists of orientations, one for each image, in the formats of several programs.

   text         our orientations.txt: image w x y z score fluence
   quaternions  Dragonfly's list: their number, then w x y z weight; its quaternions turn the detector
                and are the inverse of ours; weights sum to 1
   star         RELION's table: _rlnAngleRot, _rlnAngleTilt, _rlnAnglePsi in degrees, whose matrix
                (ZYZ) takes the map's frame to that of the image */
#ifndef MTIP_ORIENTATIONS_H
#define MTIP_ORIENTATIONS_H

#include "core/status.h"
#include "core/types.h"

typedef struct orientations {
    int64_t n;
    int64_t *image;      /* [n] index in the data set */
    double *quaternions; /* [n][4] rotation of the particle, w, x, y, z */
    double *score;       /* [n], 0 where the file has none */
    double *fluence;     /* [n], 1 where the file has none */
} orientations;

typedef struct orientation_format {
    const char *name, *suffix;
    status (*write)(const char *path, const orientations *list);
} orientation_format;

extern const orientation_format orientation_formats[];
extern const int n_orientation_formats;

/* From our text (or Dragonfly's list), or from HDF5 with /orientations (a run's result.h5, a data
   set): STATUS_INPUT names file and line or dataset. */
status orientations_read(const char *path, orientations *list);
void orientations_free(orientations *list);

/* RELION's angles in degrees of a unit quaternion: rot, tilt (0..180), psi. */
void orientations_euler(const double q[4], double angles[3]);

#endif
