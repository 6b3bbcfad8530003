# Tests of nufft/.
pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)

add_library(nufft_suite STATIC nufft_suite.c nufft_case.c)
target_link_libraries(nufft_suite PUBLIC nufft core mtip_flags PkgConfig::CMOCKA)

foreach(name nufft fft)
  add_executable(test_${name} test_${name}.c)
  target_link_libraries(test_${name} PRIVATE nufft_suite)
  add_test(NAME ${name} COMMAND test_${name})
  set_tests_properties(${name} PROPERTIES LABELS unit TIMEOUT 300 PROCESSORS 2)
endforeach()
