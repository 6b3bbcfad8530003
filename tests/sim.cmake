# The simulator, structure files, HDF5, MRC and data sets.
pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
foreach(unit convert dataset detector files formats formats_hdf5 full_disk molecule molecule_cif page random scatter
    scatter_nufft simulate skopi)
  add_executable(test_${unit} test_${unit}.c)
  target_compile_definitions(test_${unit} PRIVATE SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  target_link_libraries(test_${unit} PRIVATE app PkgConfig::CMOCKA)
  add_test(NAME ${unit} COMMAND test_${unit})
  set_tests_properties(${unit} PROPERTIES LABELS unit SKIP_RETURN_CODE 77
    ENVIRONMENT "LSAN_OPTIONS=suppressions=${CMAKE_CURRENT_SOURCE_DIR}/leaks.supp")
endforeach()
add_test(NAME simulate_program COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/test_simulate.sh
  $<TARGET_FILE:mtip> ${MPIEXEC_EXECUTABLE} ${CMAKE_SOURCE_DIR})
set_tests_properties(simulate_program PROPERTIES ENVIRONMENT "${mpi_environment}")
add_test(NAME formats_program COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/test_formats.sh
  $<TARGET_FILE:mtip> ${CMAKE_SOURCE_DIR})
set_tests_properties(formats_program PROPERTIES ENVIRONMENT "${mpi_environment}")

# Damaged files of every format; `sh tests/mutate.sh` says how to do it at length.
add_executable(mutate mutate.c)
target_link_libraries(mutate PRIVATE app)
add_test(NAME mutate COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/mutate.sh $<TARGET_FILE:mtip>
  $<TARGET_FILE:mutate> ${CMAKE_SOURCE_DIR} 300)
set_tests_properties(mutate PROPERTIES TIMEOUT 600 ENVIRONMENT "${mpi_environment}")

# Checkpoints, and the calls that fail while one is written (a library to preload).
add_library(inject_io MODULE inject_io.c)
target_link_libraries(inject_io PRIVATE ${CMAKE_DL_LIBS})
set_target_properties(inject_io PROPERTIES C_VISIBILITY_PRESET default)
add_executable(test_checkpoint test_checkpoint.c)
target_compile_definitions(test_checkpoint PRIVATE SOURCE_DIR="${CMAKE_SOURCE_DIR}"
  INJECT_IO="$<TARGET_FILE:inject_io>" SELF="$<TARGET_FILE_DIR:inject_io>/test_checkpoint")
target_link_libraries(test_checkpoint PRIVATE app PkgConfig::CMOCKA)
add_test(NAME checkpoint COMMAND test_checkpoint)
set_tests_properties(checkpoint PROPERTIES LABELS unit SKIP_RETURN_CODE 77
  ENVIRONMENT "LSAN_OPTIONS=suppressions=${CMAKE_CURRENT_SOURCE_DIR}/leaks.supp")
