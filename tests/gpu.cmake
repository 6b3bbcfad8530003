# The stages on a GPU. Built with or without CUDA: without, they are skipped like on a machine
# without a GPU.
add_executable(test_kernels_cuda test_kernels_cuda.c kernel_pairs.c)
target_link_libraries(test_kernels_cuda PRIVATE stages PkgConfig::CMOCKA)
add_executable(test_stages_cuda test_stages_cuda.c)
target_link_libraries(test_stages_cuda PRIVATE stage_suite)
foreach(name kernels_cuda stages_cuda)
  add_test(NAME ${name} COMMAND test_${name})
  set_tests_properties(${name} PROPERTIES LABELS gpu TIMEOUT 120 SKIP_RETURN_CODE 77)
endforeach()
