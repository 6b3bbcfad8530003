/* png.h: pictures as PNG data within a page (ISO/IEC 15948; RFC 2397). */
#ifndef MTIP_PNG_H
#define MTIP_PNG_H

#include <stdio.h>

#include "core/status.h"
#include "core/types.h"

/* A whole PNG file of rgb [height][width][3], the top row first, in memory; the caller frees *bytes.
   STATUS_RESOURCE. */
status png_encode(int64_t width, int64_t height, const uint8_t *rgb, uint8_t **bytes, size_t *size);

/* Prints the same as "data:image/png;base64,...". */
status png_print(int64_t width, int64_t height, const uint8_t *rgb, FILE *file);

#endif
