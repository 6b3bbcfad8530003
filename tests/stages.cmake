# The stages of the reconstruction, what ranks say to each other, and the program on several ranks.
pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
add_library(stage_suite STATIC stage_case.c stage_slice.c stage_match.c match_problem.c stage_merge.c stage_phase.c
  stage_average.c)
target_link_libraries(stage_suite PUBLIC stages PkgConfig::CMOCKA)
add_executable(test_stages test_stages.c)
target_link_libraries(test_stages PRIVATE stage_suite)
foreach(stage slice match merge phase average)
  add_test(NAME stage.${stage} COMMAND test_stages ${stage})
  set_tests_properties(stage.${stage} PROPERTIES LABELS unit TIMEOUT 120 PROCESSORS 2 ENVIRONMENT
    OMP_WAIT_POLICY=passive) # the processors may be busy
endforeach()

add_executable(bench_phase bench_phase.c)
target_link_libraries(bench_phase PRIVATE stages)

add_executable(test_comm test_comm.c)
target_link_libraries(test_comm PRIVATE app PkgConfig::CMOCKA)
foreach(ranks 1 2 3 4)
  add_test(NAME comm.n${ranks} COMMAND ${MPIEXEC_EXECUTABLE} -n ${ranks} $<TARGET_FILE:test_comm>)
  set_tests_properties(comm.n${ranks} PROPERTIES LABELS mpi PROCESSORS ${ranks} TIMEOUT 60
    ENVIRONMENT "${mpi_environment}")
endforeach()

add_executable(test_comm_device test_comm_device.c)
target_link_libraries(test_comm_device PRIVATE app PkgConfig::CMOCKA)
foreach(device cpu cuda)
  foreach(ranks 1 2 3 4)
    set(name comm_device.${device}.n${ranks})
    add_test(NAME ${name}
      COMMAND ${MPIEXEC_EXECUTABLE} -n ${ranks} $<TARGET_FILE:test_comm_device> ${device})
    set_tests_properties(${name} PROPERTIES LABELS mpi PROCESSORS ${ranks} TIMEOUT 60
      SKIP_RETURN_CODE 77 ENVIRONMENT "${mpi_environment}")
  endforeach()
endforeach()

# Scripts that run the program; h5_tool compares and damages files for them.
add_executable(h5_tool h5_tool.c)
target_link_libraries(h5_tool PRIVATE app)
foreach(name ranks bad_input interrupted resume)
  add_test(NAME ${name} COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/test_${name}.sh $<TARGET_FILE:mtip>
    ${MPIEXEC_EXECUTABLE} $<TARGET_FILE:h5_tool> ${CMAKE_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES LABELS mpi PROCESSORS 2 TIMEOUT 600
    ENVIRONMENT "${mpi_environment}")
endforeach()

add_executable(test_estimate test_estimate.c)
target_link_libraries(test_estimate PRIVATE app PkgConfig::CMOCKA)
add_test(NAME estimate_lines COMMAND test_estimate)
foreach(unit scaling trial)
  add_executable(test_${unit} test_${unit}.c)
  target_link_libraries(test_${unit} PRIVATE app PkgConfig::CMOCKA)
  add_test(NAME ${unit} COMMAND test_${unit})
endforeach()
add_test(NAME watch COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/test_watch.sh $<TARGET_FILE:mtip>
  ${CMAKE_SOURCE_DIR})
set_tests_properties(estimate_lines scaling trial PROPERTIES LABELS unit)
set_tests_properties(watch PROPERTIES LABELS mpi TIMEOUT 300 SKIP_RETURN_CODE 77
  ENVIRONMENT "${mpi_environment}")
if(NOT MTIP_SANITIZE) # a sanitizer's memory is no part of a forecast, and beyond every limit
  foreach(name estimate limits)
    add_test(NAME ${name} COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/test_${name}.sh $<TARGET_FILE:mtip>
      ${CMAKE_SOURCE_DIR})
    set_tests_properties(${name} PROPERTIES LABELS mpi TIMEOUT 300 SKIP_RETURN_CODE 77
      ENVIRONMENT "${mpi_environment}")
  endforeach()
endif()

# Pages: page_tool tells whether they are well-formed and whole, a browser shows them where there is one.
add_executable(page_tool page_tool.c)
add_test(NAME report COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/test_report.sh $<TARGET_FILE:mtip>
  ${MPIEXEC_EXECUTABLE} $<TARGET_FILE:page_tool> ${CMAKE_SOURCE_DIR})
add_test(NAME report_look COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/test_report_look.sh
  $<TARGET_FILE:mtip> ${MPIEXEC_EXECUTABLE} ${CMAKE_SOURCE_DIR})
set_tests_properties(report report_look PROPERTIES LABELS mpi PROCESSORS 2 TIMEOUT 300
  SKIP_RETURN_CODE 77 ENVIRONMENT "${mpi_environment}")

add_test(NAME end_to_end COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/test_end_to_end.sh
  $<TARGET_FILE:mtip> ${MPIEXEC_EXECUTABLE} ${CMAKE_SOURCE_DIR})
# Under the sanitizers it takes 400 s on two idle cores.
set_tests_properties(end_to_end PROPERTIES LABELS e2e PROCESSORS 2 TIMEOUT 1800
  ENVIRONMENT "${mpi_environment}")

add_executable(test_run test_run.c)
target_link_libraries(test_run PRIVATE app)
foreach(device cpu cuda)
  add_test(NAME run_ranks.${device} COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/test_run.sh
    $<TARGET_FILE:mtip> $<TARGET_FILE:test_run> ${CMAKE_CURRENT_SOURCE_DIR}/data/2LYZ.pdb ${device})
  set_tests_properties(run_ranks.${device} PROPERTIES LABELS mpi PROCESSORS 2 TIMEOUT 300
    SKIP_RETURN_CODE 77 ENVIRONMENT "${mpi_environment}")
endforeach()

add_test(NAME bench_mtip COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/test_bench_mtip.sh
  $<TARGET_FILE:mtip>)
set_tests_properties(bench_mtip PROPERTIES LABELS mpi PROCESSORS 2 TIMEOUT 300
  ENVIRONMENT "${mpi_environment}")

# A rank that stands still, and a library to preload that makes numbers that are none.
pkg_check_modules(OPENBLAS REQUIRED IMPORTED_TARGET openblas)
add_library(inject_nan MODULE inject_nan.c)
target_link_libraries(inject_nan PRIVATE PkgConfig::OPENBLAS ${CMAKE_DL_LIBS})
set_target_properties(inject_nan PROPERTIES C_VISIBILITY_PRESET default)
add_test(NAME stuck COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/test_stuck.sh $<TARGET_FILE:mtip>
  ${MPIEXEC_EXECUTABLE} $<TARGET_FILE:h5_tool> ${CMAKE_SOURCE_DIR} $<TARGET_FILE:inject_nan>)
add_test(NAME kill_loop COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/kill_loop.sh 5 $<TARGET_FILE:mtip>
  ${MPIEXEC_EXECUTABLE} $<TARGET_FILE:h5_tool> ${CMAKE_SOURCE_DIR})
set_tests_properties(stuck kill_loop PROPERTIES LABELS mpi PROCESSORS 2 TIMEOUT 300
  ENVIRONMENT "${mpi_environment}")
foreach(device cpu cuda)
  add_test(NAME resume_device.${device} COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/test_resume_device.sh
    $<TARGET_FILE:mtip> $<TARGET_FILE:h5_tool> ${CMAKE_SOURCE_DIR} ${device})
  set_tests_properties(resume_device.${device} PROPERTIES LABELS mpi TIMEOUT 300 SKIP_RETURN_CODE 77
    ENVIRONMENT "${mpi_environment}")
endforeach()

# The program with a device that computes wrongly.
add_executable(mtip_flip ${CMAKE_SOURCE_DIR}/src/main.c inject_flip.c)
target_link_libraries(mtip_flip PRIVATE app)
foreach(name devices_choose slicer_run match_add match_tomograms merger_add merger_solve
    phaser_create phaser_get phaser_autocorrelation)
  target_link_options(mtip_flip PRIVATE -Wl,--wrap=${name})
endforeach()
foreach(device cpu cuda)
  add_test(NAME corruption.${device} COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/test_corruption.sh
    $<TARGET_FILE:mtip_flip> ${CMAKE_SOURCE_DIR} ${device})
  set_tests_properties(corruption.${device} PROPERTIES LABELS mpi TIMEOUT 300 SKIP_RETURN_CODE 77
    ENVIRONMENT "${mpi_environment}")
endforeach()

# An MPI library that fails, and names of files.
find_package(MPI REQUIRED COMPONENTS C)
add_library(inject_mpi MODULE inject_mpi.c)
target_link_libraries(inject_mpi PRIVATE MPI::MPI_C)
set_target_properties(inject_mpi PROPERTIES C_VISIBILITY_PRESET default)
add_test(NAME mpi_fault COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/test_mpi_fault.sh $<TARGET_FILE:mtip>
  ${MPIEXEC_EXECUTABLE} ${CMAKE_SOURCE_DIR} $<TARGET_FILE:inject_mpi>)
add_test(NAME paths COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/test_paths.sh $<TARGET_FILE:mtip>
  ${CMAKE_SOURCE_DIR})
set_tests_properties(mpi_fault paths PROPERTIES LABELS mpi PROCESSORS 2 TIMEOUT 600
  ENVIRONMENT "${mpi_environment}")
