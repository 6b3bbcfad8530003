# The stages' kernels on a GPU, compiled once per precision; averages and the simulator have one.
target_sources(stages PRIVATE kernels_cuda.cu kernels_cuda_average.cu kernels_cuda_scatter.cu)
foreach(single 0 1)
  set(part stages_cuda_${single})
  add_library(${part} OBJECT kernels_cuda_cg.cu kernels_cuda_images.cu kernels_cuda_iterate.cu
    kernels_cuda_match.cu kernels_cuda_phase.cu kernels_cuda_solve.cu kernels_cuda_volume.cu)
  target_link_libraries(${part} PRIVATE mtip_flags CUDA::cudart)
  if(single)
    target_compile_definitions(${part} PRIVATE MTIP_SINGLE)
  endif()
  target_sources(stages PRIVATE $<TARGET_OBJECTS:${part}>)
endforeach()
target_link_libraries(stages PRIVATE CUDA::cublas CUDA::cudart)
