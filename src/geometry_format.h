/* geometry_format.h: a format of geometry files; for geometry*.c only. */
#ifndef MTIP_GEOMETRY_FORMAT_H
#define MTIP_GEOMETRY_FORMAT_H

#include "geometry.h"

typedef struct geometry_format {
    const char *name;
    /* From the file's beginning or its parts. No failure. */
    bool (*recognize)(const char *path);
    /* images NULL: the detector has the file's own shape. */
    status (*read)(const geometry_settings *set, const geometry_images *images, detector **det);
} geometry_format;

extern const geometry_format geometry_dragonfly_hdf5, geometry_dragonfly_text, geometry_crystfel,
    geometry_json;

/* The images' shape where it is known, else the file's own, which has as many pixels. */
status geometry_shape(const geometry_settings *set, const geometry_images *images,
                      const int64_t own[3], int64_t shape[3]);

/* The settings' wavelength, or found (0: the file has none); STATUS_CONFIG without either. */
status geometry_wavelength(const geometry_settings *set, double found, double *wavelength);

#endif
