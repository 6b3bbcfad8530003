/* nufft_sorting.h: what it takes to sort the points of a plan (nufft.h), for forecasts of memory. */
#ifndef NUFFT_SORTING_H
#define NUFFT_SORTING_H

#include "core/device.h"

#ifndef GPU_PART_FROM
#define GPU_PART_FROM 4e6 /* points that a GPU sorts by parts: measured, nufft/NOTES.md */
#endif

/* Bytes that n points in 3D take while they are set, and that are free again then: on the CPU cells,
   arguments and tiles of unsorted points. */
static inline int64_t nufft_sorting_bytes(device_kind kind, precision p, int64_t n)
{
    return kind == DEVICE_CPU ? n * (3 * ((int64_t)real_size(p) + 4) + 12) : 0;
}

#endif
