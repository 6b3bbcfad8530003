# The simulator, structure files, HDF5, MRC and data sets.
pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
foreach(unit files molecule random scatter simulate skopi)
  add_executable(test_${unit} test_${unit}.c)
  target_compile_definitions(test_${unit} PRIVATE SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  target_link_libraries(test_${unit} PRIVATE app PkgConfig::CMOCKA)
  add_test(NAME ${unit} COMMAND test_${unit})
  set_tests_properties(${unit} PROPERTIES SKIP_RETURN_CODE 77)
endforeach()
