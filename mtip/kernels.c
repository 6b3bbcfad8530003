#include "mtip/kernels.h"

#include <assert.h>

#define CHOOSE(table)                                                                             \
    extern const table##_kernels table##_kernels_cpu_single, table##_kernels_cpu_double;          \
    const table##_kernels *table##_kernels_of(const device *dev, precision p)                     \
    {                                                                                             \
        assert(device_kind_of(dev) == DEVICE_CPU);                                                \
        (void)dev;                                                                                \
        return p == PRECISION_SINGLE ? &table##_kernels_cpu_single : &table##_kernels_cpu_double; \
    }

CHOOSE(match)
CHOOSE(volume)
CHOOSE(phase)
