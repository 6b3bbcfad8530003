# The stages on a GPU. Built with or without CUDA: without, they are skipped like on a machine
# without a GPU.
add_executable(test_kernels_cuda test_kernels_cuda.c)
target_link_libraries(test_kernels_cuda PRIVATE stages PkgConfig::CMOCKA)
add_test(NAME kernels_cuda COMMAND test_kernels_cuda)
set_tests_properties(kernels_cuda PROPERTIES LABELS gpu TIMEOUT 120 SKIP_RETURN_CODE 77)
