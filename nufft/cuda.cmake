# The GPU's backend.  Kernels in `real` are compiled once per precision; tensor cores are double.
target_sources(nufft PRIVATE fft_cuda.c nufft_cuda_tensor_spread.cu
  nufft_cuda_tensor_interpolate.cu)
foreach(single 0 1)
  set(part nufft_cuda_${single})
  add_library(${part} OBJECT nufft_cuda.c nufft_cuda_plan.c nufft_cuda_slots.c
    nufft_cuda_points.cu nufft_cuda_stable.cu nufft_cuda_exact.cu nufft_cuda_modes.cu
    nufft_cuda_global.cu nufft_cuda_tile.cu)
  target_link_libraries(${part} PRIVATE mtip_flags CUDA::cudart)
  if(single)
    target_compile_definitions(${part} PRIVATE MTIP_SINGLE)
    target_sources(${part} PRIVATE nufft_cuda_parts.cu)
  endif()
  target_sources(nufft PRIVATE $<TARGET_OBJECTS:${part}>)
endforeach()
# CUB wants C++17 in newer toolkits.
add_library(nufft_cuda_radix OBJECT nufft_cuda_radix.cu)
set_target_properties(nufft_cuda_radix PROPERTIES CUDA_STANDARD 17)
target_link_libraries(nufft_cuda_radix PRIVATE mtip_flags CUDA::cudart)
target_sources(nufft PRIVATE $<TARGET_OBJECTS:nufft_cuda_radix>)
target_link_libraries(nufft PRIVATE CUDA::cufft CUDA::cudart)
# Projects that link the installed library and know no CUDA themselves.
target_link_libraries(nufft PUBLIC $<INSTALL_INTERFACE:$<LINK_ONLY:stdc++>>)
