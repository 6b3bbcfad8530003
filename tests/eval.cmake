# Rotations and evaluation.
include(${CMAKE_SOURCE_DIR}/mtip/evaluate.cmake)
pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
foreach(unit evaluate rotation)
  add_executable(test_${unit} test_${unit}.c)
  target_link_libraries(test_${unit} PRIVATE stages PkgConfig::CMOCKA)
  add_test(NAME ${unit} COMMAND test_${unit})
endforeach()
