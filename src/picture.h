/* picture.h: arrays of numbers as pictures in colours that grow darker with the number. */
#ifndef MTIP_PICTURE_H
#define MTIP_PICTURE_H

#include <stdio.h>

#include "core/status.h"
#include "core/types.h"

/* Prints values [height][width], the top row first, as a PNG's data URI (png.h): white at or below
   low, darkest at or above high, grey where a value is NaN.  STATUS_RESOURCE. */
status picture_print(int64_t width, int64_t height, const double *values, double low, double high,
                     FILE *file);

/* The same colours as a list for CSS gradients, from low to high. */
extern const char picture_gradient[];

/* Plane x, y or z = 0 (axis 0, 1, 2) through a volume [n][n][n] of z, y, x with its centre at
   floor(n/2), or the mean over all of them, leaving out NaN: out [n][n] with the later axis upwards. */
void picture_plane(int64_t n, const double *volume, int axis, double *out);
void picture_projection(int64_t n, const double *volume, int axis, double *out);

#endif
