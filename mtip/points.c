#include "mtip/points.h"

#include "mtip/rotation.h"

#include <stdlib.h>

void points_free(points *p)
{
    for (int d = 0; d < 3; d++) {
        device_free(p->dev, p->coordinates[d]);
        p->coordinates[d] = NULL;
    }
    p->capacity = 0;
}

static status points_reserve(points *p, int64_t n)
{
    if (n <= p->capacity) return STATUS_OK;
    points_free(p);
    for (int d = 0; d < 3; d++)
        TRY(device_alloc(p->dev, real_bytes(p->precision, n), &p->coordinates[d]));
    p->capacity = n;
    return STATUS_OK;
}

status points_rotate(points *p, int64_t n_rotations, const double *quaternions, int64_t n_pixels,
                     const void *pixels)
{
    TRY(points_reserve(p, n_rotations * n_pixels));
    double *matrices = malloc((size_t)(9 * n_rotations + 1) * sizeof *matrices);
    if (!matrices)
        FAIL(STATUS_RESOURCE, "out of host memory for %lld rotations", (long long)n_rotations);
    for (int64_t r = 0; r < n_rotations; r++)
        rotation_matrix(quaternions + 4 * r, matrices + 9 * r);
    status result = match_kernels_of(p->dev, p->precision)
                        ->rotate(p->dev, n_rotations, matrices, n_pixels, pixels, p->coordinates);
    free(matrices);
    return result;
}
