# Tests of nufft/.
pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)

add_library(nufft_suite STATIC nufft_suite.c nufft_case.c)
target_link_libraries(nufft_suite PUBLIC nufft core mtip_flags PkgConfig::CMOCKA)

foreach(name nufft fft)
  add_executable(test_${name} test_${name}.c)
  target_link_libraries(test_${name} PRIVATE nufft_suite)
endforeach()
add_test(NAME fft COMMAND test_fft)
if(CMAKE_CROSSCOMPILING) # an emulator takes 50 times as long: each test by itself
  file(STRINGS test_nufft.c lines REGEX "^ +cmocka_unit_test\\(")
  file(STRINGS nufft_suite.c suite_lines REGEX "^ +TEST\\(")
  foreach(line ${lines} ${suite_lines})
    string(REGEX REPLACE ".*\\((.*)\\).*" "\\1" test ${line})
    add_test(NAME nufft.${test} COMMAND test_nufft ${test})
    list(APPEND nufft_tests nufft.${test})
  endforeach()
else()
  set(nufft_tests nufft)
  add_test(NAME nufft COMMAND test_nufft)
endif()
set_tests_properties(fft ${nufft_tests} PROPERTIES LABELS unit TIMEOUT 300 PROCESSORS 2
  ENVIRONMENT OMP_WAIT_POLICY=passive) # spinning threads make a shared machine crawl

# Built with or without CUDA: without, it is skipped like on a machine without a GPU.
add_executable(test_nufft_cuda test_nufft_cuda.c)
target_link_libraries(test_nufft_cuda PRIVATE nufft_suite)
add_test(NAME nufft_cuda COMMAND test_nufft_cuda)
set_tests_properties(nufft_cuda PROPERTIES LABELS gpu TIMEOUT 600 SKIP_RETURN_CODE 77)

if(MTIP_CUDA)
  add_executable(test_nufft_graph test_nufft_graph.c)
  target_link_libraries(test_nufft_graph PRIVATE nufft_suite CUDA::cudart)
  add_test(NAME nufft_graph COMMAND test_nufft_graph)
  set_tests_properties(nufft_graph PROPERTIES LABELS gpu TIMEOUT 120 SKIP_RETURN_CODE 77)
endif()
add_executable(sanitize_nufft_cuda sanitize_nufft_cuda.c)
target_link_libraries(sanitize_nufft_cuda PRIVATE nufft core mtip_flags)
if(MTIP_CUDA) # sorts by parts from few points on: this file goes before the library's
  target_sources(sanitize_nufft_cuda PRIVATE ${CMAKE_SOURCE_DIR}/nufft/nufft_cuda_slots.c)
  target_compile_definitions(sanitize_nufft_cuda PRIVATE MTIP_SINGLE GPU_PART_FROM=500)
  target_link_libraries(sanitize_nufft_cuda PRIVATE CUDA::cudart)
endif()

# `mtip bench nufft` where there is no mtip.
if(MTIP_ONLY_NUFFT)
  file(GLOB bench_sources ${CMAKE_SOURCE_DIR}/src/bench_nufft*.c)
  add_executable(bench_nufft nufft_bench_main.c ${bench_sources}
    ${CMAKE_SOURCE_DIR}/src/bench_machine.c ${CMAKE_SOURCE_DIR}/src/option_table.c
    ${CMAKE_SOURCE_DIR}/src/text.c)
  target_link_libraries(bench_nufft PRIVATE nufft core mtip_flags)
endif()
