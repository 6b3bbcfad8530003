/* io_mrc.h: density maps in MRC2014 format, what molecular viewers open. */
#ifndef MTIP_IO_MRC_H
#define MTIP_IO_MRC_H

#include "core/status.h"
#include "core/types.h"

typedef struct mrc_map {
    int64_t nx, ny, nz;
    double voxel[3];  /* edges along x, y, z in Angstrom; 0 where the file gives none */
    double origin[3]; /* x, y, z of the first voxel's centre in Angstrom */
    float *values;    /* [nz][ny][nx] */
} mrc_map;

/* Writes values [nz][ny][nx] as 32-bit floats (mode 2, a volume, axes x, y, z) with cubic voxels of
   this edge in Angstrom and the centre voxel floor(n/2) at the origin.  label: at most 80
   characters on where the map comes from.  Complete or not at all (io_atomic.h); STATUS_NUMERIC if
   a value is not finite. */
status mrc_write(const char *path, int64_t nx, int64_t ny, int64_t nz, const float *values,
                 double voxel, const char *label);

/* The same of a map with its own voxels and origin. */
status mrc_write_map(const char *path, const mrc_map *map, const char *label);

/* Whether a file has the mark of an MRC file. */
bool mrc_recognize(const char *path);

/* Reads modes 0, 1, 2 and 6 of either byte order, gzipped or not, the axes brought into the order x, y, z and an
   extended header skipped.  STATUS_INPUT, and nothing allocated by what the header alone claims. */
status mrc_read(const char *path, mrc_map **read);
/* Accepts NULL. */
void mrc_destroy(mrc_map *map);

#endif
