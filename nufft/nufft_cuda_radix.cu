/* nufft_cuda_radix.cu: the stable sort that deterministic plans take, by the CUDA toolkit's CUB. */
#include <cub/device/device_radix_sort.cuh>

#include "nufft/nufft_cuda.h"

static cudaError_t sort_pairs(const gpu_pairs *p, void *scratch, size_t *bytes, int64_t n, int bits,
                              cudaStream_t stream)
{
    return cub::DeviceRadixSort::SortPairs(scratch, *bytes, p->keys[0], p->keys[1], p->values[0],
                                           p->values[1], (int)n, 0, bits, stream);
}

extern "C" cudaError_t gpu_sort_pairs(const gpu_pairs *p, int64_t n, int bits, cudaStream_t stream)
{
    size_t bytes = p->scratch_bytes;
    return sort_pairs(p, p->scratch, &bytes, n, bits, stream);
}

extern "C" cudaError_t gpu_sort_pairs_scratch(int64_t n, size_t *bytes)
{
    const gpu_pairs none = {};
    return sort_pairs(&none, NULL, bytes, n, 32, NULL);
}
