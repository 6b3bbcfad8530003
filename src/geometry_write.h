/* geometry_write.h: detectors as files of Dragonfly. */
#ifndef MTIP_GEOMETRY_WRITE_H
#define MTIP_GEOMETRY_WRITE_H

#include "mtip/detector.h"

/* Dragonfly's detector file: HDF5, or text if the path ends in ".dat".  Its voxels are those in which
   a pixel at the centre is one voxel wide; where the distance or the pixels' size is not known, those
   in which the largest |q| is half the number of columns.  STATUS_INVALID without positions. */
status geometry_write_dragonfly(const char *path, const detector *det);

#endif
