# The GPU's backend.  Kernels in `real` are compiled once per precision; tensor cores are double.
target_sources(nufft PRIVATE fft_cuda.c nufft_cuda_tensor_spread.cu
  nufft_cuda_tensor_interpolate.cu)
foreach(single 0 1)
  set(part nufft_cuda_${single})
  add_library(${part} OBJECT nufft_cuda.c nufft_cuda_points.cu nufft_cuda_modes.cu
    nufft_cuda_global.cu nufft_cuda_tile.cu)
  target_link_libraries(${part} PRIVATE mtip_flags CUDA::cudart)
  if(single)
    target_compile_definitions(${part} PRIVATE MTIP_SINGLE)
  endif()
  target_sources(nufft PRIVATE $<TARGET_OBJECTS:${part}>)
endforeach()
target_link_libraries(nufft PRIVATE CUDA::cufft CUDA::cudart)
