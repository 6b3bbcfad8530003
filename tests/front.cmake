# Settings, the command line, and who may include whom.
pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
foreach(unit cli config bench_nufft)
  add_executable(test_${unit} test_${unit}.c)
  target_link_libraries(test_${unit} PRIVATE app PkgConfig::CMOCKA)
  add_test(NAME ${unit} COMMAND test_${unit})
endforeach()
add_test(NAME layers COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/check_layers.sh ${CMAKE_SOURCE_DIR})
set_tests_properties(cli config layers bench_nufft PROPERTIES LABELS unit)
add_test(NAME program COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/test_program.sh $<TARGET_FILE:mtip>
  ${CMAKE_CURRENT_SOURCE_DIR}/data/2LYZ.pdb ${MPIEXEC_EXECUTABLE})
set_tests_properties(program PROPERTIES ENVIRONMENT
  "OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1;ASAN_OPTIONS=detect_leaks=0;OMP_NUM_THREADS=1")

# A libFuzzer target: CC=clang cmake -B build-fuzz -DMTIP_FUZZ=ON, then
# build-fuzz/tests/fuzz_config -max_len=4096 -max_total_time=300 CORPUS
option(MTIP_FUZZ "Build the fuzz targets (needs clang)" OFF)
if(MTIP_FUZZ)
  pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-0.1)
  add_executable(fuzz_config fuzz_config.c ../src/config.c ../src/config_check.c
    ../src/config_schema.c ../src/config_value.c ../src/config_yaml.c ../src/text.c
    ../src/core/status.c)
  target_link_libraries(fuzz_config PRIVATE mtip_flags PkgConfig::YAML)
  target_compile_options(fuzz_config PRIVATE -g -fsanitize=fuzzer,address,undefined
    -fno-sanitize-recover=all)
  target_link_options(fuzz_config PRIVATE -fsanitize=fuzzer,address,undefined)
endif()
