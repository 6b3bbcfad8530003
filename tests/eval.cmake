# Rotations and evaluation.
pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
foreach(unit align evaluate fsc rotation)
  add_executable(test_${unit} test_${unit}.c)
  target_link_libraries(test_${unit} PRIVATE stages PkgConfig::CMOCKA)
  add_test(NAME ${unit} COMMAND test_${unit})
endforeach()
foreach(unit align evaluate fsc)
  target_sources(test_${unit} PRIVATE map_case.c)
endforeach()
add_executable(test_command_evaluate test_command_evaluate.c)
target_link_libraries(test_command_evaluate PRIVATE app PkgConfig::CMOCKA)
add_test(NAME command_evaluate COMMAND test_command_evaluate $<TARGET_FILE:mtip>
  ${CMAKE_CURRENT_SOURCE_DIR}/data/2LYZ.pdb)
set_tests_properties(command_evaluate PROPERTIES ENVIRONMENT
  "OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1;ASAN_OPTIONS=detect_leaks=0;OMP_NUM_THREADS=1")
