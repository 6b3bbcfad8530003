#include "mtip/photons.h"

#include <stdlib.h>
#include <string.h>

void photon_lists_free(photon_lists *p)
{
    free(p->start);
    free(p->pixel);
    free(p->counts);
    *p = (photon_lists){0};
}

void photon_lists_spread(const photon_lists *p, int64_t first, int64_t count, int64_t n_pixels,
                         float *rows)
{
    memset(rows, 0, (size_t)(count * n_pixels) * sizeof *rows);
    for (int64_t i = 0; i < count; i++)
        for (int64_t k = p->start[first + i]; k < p->start[first + i + 1]; k++)
            rows[i * n_pixels + p->pixel[k]] = (float)p->counts[k];
}
