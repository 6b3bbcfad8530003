/* volume.h: maps in the formats of several programs.

   mrc        MRC2014 (io_mrc.h)
   xdmf       an HDF5 file NAME.h5 with /map f4 [z][y][x], and NAME.xdmf that tells ParaView and VisIt
              of it
   cxi-image  the image class of CXI: /entry_1/image_1/data f4 (z, y, x), image_size in m */
#ifndef MTIP_VOLUME_H
#define MTIP_VOLUME_H

#include "io_mrc.h"

typedef struct volume_format {
    const char *name, *suffix;
    status (*write)(const char *path, const mrc_map *map);
} volume_format;

extern const volume_format volume_formats[];
extern const int n_volume_formats;

/* Whether a file holds a map: an MRC file, or HDF5 with one of the datasets below. */
bool volume_recognize(const char *path);

/* Reads MRC, or from HDF5 the dataset of this name; NULL, "": /map, /density (of a run's result.h5)
   or /entry_1/image_1/data, whichever is there.  Without a voxel size in the file it is 0.  The
   caller frees it with mrc_destroy. */
status volume_read(const char *path, const char *name, mrc_map **read);

#endif
