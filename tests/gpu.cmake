# The stages on a GPU. Built with or without CUDA: without, they are skipped like on a machine
# without a GPU.
foreach(name kernels_cuda phase_cuda solve_cuda)
  add_executable(test_${name} test_${name}.c kernel_pairs.c)
  target_link_libraries(test_${name} PRIVATE stages PkgConfig::CMOCKA)
endforeach()
add_executable(test_stages_cuda test_stages_cuda.c)
target_link_libraries(test_stages_cuda PRIVATE stage_suite)
add_executable(test_stage_pairs test_stage_pairs.c)
target_link_libraries(test_stage_pairs PRIVATE stage_suite)
add_test(NAME scatter_nufft_cuda COMMAND test_scatter_nufft cuda)
set_tests_properties(scatter_nufft_cuda PROPERTIES LABELS gpu TIMEOUT 120 SKIP_RETURN_CODE 77)
foreach(name kernels_cuda phase_cuda solve_cuda stages_cuda stage_pairs)
  add_test(NAME ${name} COMMAND test_${name})
  set_tests_properties(${name} PROPERTIES LABELS gpu TIMEOUT 120 SKIP_RETURN_CODE 77)
endforeach()

# A fault put into one rank's GPU.
if(MTIP_CUDA)
  add_library(inject_cuda MODULE inject_cuda.cu)
  set_target_properties(inject_cuda PROPERTIES CUDA_RUNTIME_LIBRARY Shared)
  target_link_libraries(inject_cuda PRIVATE CUDA::cudart ${CMAKE_DL_LIBS})
  add_test(NAME gpu_fault COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/test_gpu_fault.sh
    $<TARGET_FILE:mtip> $<TARGET_FILE:inject_cuda> ${CMAKE_CURRENT_SOURCE_DIR}/data/2LYZ.pdb)
  set_tests_properties(gpu_fault PROPERTIES LABELS gpu TIMEOUT 300 SKIP_RETURN_CODE 77
    ENVIRONMENT "${mpi_environment}")
endif()
