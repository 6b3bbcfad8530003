#include "mtip/kernels.h"

#define CHOOSE(table)                                                                     \
    extern const table##_kernels table##_kernels_cpu_single, table##_kernels_cpu_double,  \
        table##_kernels_cuda_single, table##_kernels_cuda_double;                         \
    const table##_kernels *table##_kernels_of(const device *dev, precision p)             \
    {                                                                                     \
        static const table##_kernels *const tables[][2] = {                               \
            [DEVICE_CPU] = {&table##_kernels_cpu_single, &table##_kernels_cpu_double},    \
            [DEVICE_CUDA] = {&table##_kernels_cuda_single, &table##_kernels_cuda_double}, \
        };                                                                                \
        return tables[device_kind_of(dev)][p];                                            \
    }

CHOOSE(match)
CHOOSE(image)
CHOOSE(volume)
CHOOSE(cg)
CHOOSE(phase)

const scatter_kernels *scatter_kernels_of(const device *dev)
{
    extern const scatter_kernels scatter_kernels_cpu, scatter_kernels_cuda;
    return device_kind_of(dev) == DEVICE_CPU ? &scatter_kernels_cpu : &scatter_kernels_cuda;
}

const average_kernels *average_kernels_of(const device *dev)
{
    extern const average_kernels average_kernels_cpu, average_kernels_cuda;
    return device_kind_of(dev) == DEVICE_CPU ? &average_kernels_cpu : &average_kernels_cuda;
}
