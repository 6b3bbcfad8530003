/* kernels_no_cuda.c: the GPU's tables in a build without CUDA, which has no device to use them. */
#include "mtip/kernels.h"

extern const match_kernels match_kernels_cuda_single, match_kernels_cuda_double;
extern const image_kernels image_kernels_cuda_single, image_kernels_cuda_double;
extern const volume_kernels volume_kernels_cuda_single, volume_kernels_cuda_double;
extern const cg_kernels cg_kernels_cuda_single, cg_kernels_cuda_double;
extern const phase_kernels phase_kernels_cuda_single, phase_kernels_cuda_double;
extern const average_kernels average_kernels_cuda;
extern const scatter_kernels scatter_kernels_cuda;

const match_kernels match_kernels_cuda_single, match_kernels_cuda_double;
const image_kernels image_kernels_cuda_single, image_kernels_cuda_double;
const volume_kernels volume_kernels_cuda_single, volume_kernels_cuda_double;
const cg_kernels cg_kernels_cuda_single, cg_kernels_cuda_double;
const phase_kernels phase_kernels_cuda_single, phase_kernels_cuda_double;
const average_kernels average_kernels_cuda;
const scatter_kernels scatter_kernels_cuda;
