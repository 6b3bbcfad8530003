# Settings, the command line, and who may include whom.
pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
foreach(unit cli config bench_nufft host_memory image_store)
  add_executable(test_${unit} test_${unit}.c)
  target_link_libraries(test_${unit} PRIVATE app PkgConfig::CMOCKA)
  add_test(NAME ${unit} COMMAND test_${unit})
endforeach()
add_test(NAME layers COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/check_layers.sh ${CMAKE_SOURCE_DIR})
set_tests_properties(cli config layers bench_nufft host_memory image_store PROPERTIES LABELS unit)
add_test(NAME program COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/test_program.sh $<TARGET_FILE:mtip>
  ${CMAKE_CURRENT_SOURCE_DIR}/data/2LYZ.pdb ${MPIEXEC_EXECUTABLE})
add_test(NAME jobscript COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/test_jobscript.sh $<TARGET_FILE:mtip>
  ${CMAKE_SOURCE_DIR})
add_test(NAME slurm COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/slurm.sh $<TARGET_FILE:mtip>
  srun codes pmi sbatch signal)
set_tests_properties(slurm PROPERTIES LABELS mpi PROCESSORS 2 TIMEOUT 600 SKIP_RETURN_CODE 77
  ENVIRONMENT ASAN_OPTIONS=detect_leaks=0)
set_tests_properties(program jobscript PROPERTIES ENVIRONMENT "${mpi_environment}")
foreach(what help man completion)
  add_test(NAME ${what} COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/test_${what}.sh $<TARGET_FILE:mtip> ${CMAKE_SOURCE_DIR})
  set_tests_properties(${what} PROPERTIES SKIP_RETURN_CODE 77
    ENVIRONMENT "${mpi_environment}")
endforeach()
add_test(NAME docs COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/test_docs.sh ${CMAKE_SOURCE_DIR})
add_test(NAME packaging COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/test_packaging.sh ${CMAKE_SOURCE_DIR})
set_tests_properties(packaging PROPERTIES SKIP_RETURN_CODE 77)
if(NOT MTIP_SANITIZE) # another project would have to be built with the same sanitizers
  add_test(NAME install COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/test_install.sh ${CMAKE_COMMAND} ${CMAKE_BINARY_DIR}
    ${CMAKE_SOURCE_DIR})
  set_tests_properties(install PROPERTIES TIMEOUT 300 ENVIRONMENT "${mpi_environment}")
endif()

# libFuzzer targets: CC=clang cmake -B build-fuzz -DMTIP_FUZZ=ON, then
# build-fuzz/tests/fuzz_config -max_len=4096 -max_total_time=300 CORPUS; fuzz_cli takes arguments, a line each, the others read files.
if(MTIP_FUZZ)
  add_executable(fuzz_config fuzz_config.c)
  add_executable(fuzz_cli fuzz_cli.c)
  foreach(kind geometry images molecule map table)
    add_executable(fuzz_${kind} fuzz_reader.c)
    target_compile_definitions(fuzz_${kind} PRIVATE FUZZ_KIND=look_at_${kind})
    target_compile_options(fuzz_${kind} PRIVATE -Wno-unused-function)
  endforeach()
  foreach(kind cli config geometry images molecule map table)
    target_link_libraries(fuzz_${kind} PRIVATE app)
    target_link_options(fuzz_${kind} PRIVATE -fsanitize=fuzzer)
  endforeach()
endif()
