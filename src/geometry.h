/* geometry.h: where the pixels of a detector are, as a file or the settings say.

   Files are Dragonfly's detectors (HDF5 or text), CrystFEL's .geom and panel vectors in JSON
   (reborn); their contents say which.  Without a file a flat detector follows from numbers. */
#ifndef MTIP_GEOMETRY_H
#define MTIP_GEOMETRY_H

#include "io_hdf5.h"
#include "mtip/detector.h"

typedef struct geometry_settings {
    const char *file;  /* NULL, "": none */
    double wavelength; /* Angstrom; 0: as the files say */
    double distance;   /* m, along the beam; 0: as the files say */
    double pixel_size; /* m, of a flat detector; 0: as the files say */
    bool has_centre;   /* false: the beam meets a flat detector in the middle */
    double
        centre[2]; /* or at this column and row, 0: of the first pixel's centre; < 0: the middle */
    polarization polarized;
} geometry_settings;

/* What the file of the images knows. */
typedef struct geometry_images {
    const char *path;
    int64_t shape[3];      /* panels, rows, columns; (1, 1, n) where only the number is known */
    const h5_reader *file; /* for the values a geometry takes from it; NULL: it is no HDF5 file */
} geometry_images;

/* The detector of images of this number of pixels; its shape is theirs, or where only the number is
   known its own.  STATUS_INPUT names file and line, dataset or panel; STATUS_CONFIG what is missing
   in the settings. */
status geometry_read(const geometry_settings *set, const geometry_images *images, detector **det);

/* Column and row of the beam on a flat detector of these. */
void geometry_centre(const geometry_settings *set, int64_t n_rows, int64_t n_cols,
                     double centre[2]);

/* The same for a file alone, without images: the shape is its own. */
status geometry_read_alone(const geometry_settings *set, detector **det);

/* Whether the file is a geometry of one of the formats, and the format's name. */
const char *geometry_recognize(const char *path);

#endif
