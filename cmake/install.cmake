# What `cmake --install` puts where: the NUFFT library with its headers, for CMake and for pkg-config;
# the program with its manual page, completion, configs, documentation and environment modules.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(packaging ${CMAKE_SOURCE_DIR}/packaging)

# The library.  Its headers include one another as "nufft/..." and "core/...".
set_target_properties(core PROPERTIES OUTPUT_NAME nufft_core)
set(headers ${CMAKE_INSTALL_INCLUDEDIR}/mtip)
install(TARGETS nufft core EXPORT nufft ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  INCLUDES DESTINATION ${headers})
install(FILES nufft/nufft.h DESTINATION ${headers}/nufft)
install(FILES src/core/device.h src/core/status.h src/core/types.h DESTINATION ${headers}/core)
set(nufft_config ${CMAKE_INSTALL_LIBDIR}/cmake/nufft)
configure_package_config_file(${packaging}/nufft-config.cmake.in nufft-config.cmake
  INSTALL_DESTINATION ${nufft_config})
write_basic_package_version_file(nufft-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/nufft-config.cmake ${CMAKE_BINARY_DIR}/nufft-config-version.cmake
  DESTINATION ${nufft_config})
install(EXPORT nufft NAMESPACE nufft:: DESTINATION ${nufft_config})
file(RELATIVE_PATH PC_TO_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
string(REGEX REPLACE "/$" "" PC_TO_PREFIX ${PC_TO_PREFIX})
string(REPLACE ";" " " PC_OPENMP "${OpenMP_C_FLAGS}")
if(MTIP_CUDA)
  set(PC_CUDA "-L${CUDAToolkit_LIBRARY_DIR} -lcufft -lcudart -lstdc++ -ldl -lrt")
endif()
configure_file(${packaging}/nufft.pc.in nufft.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/nufft.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(MTIP_ONLY_NUFFT)
  return()
endif()

# The program.
add_custom_command(OUTPUT mtip.1 COMMAND mtip --help-man > mtip.1 DEPENDS mtip VERBATIM)
add_custom_target(man ALL DEPENDS mtip.1)
set(data ${CMAKE_INSTALL_DATADIR}/mtip)
install(TARGETS mtip DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES ${CMAKE_BINARY_DIR}/mtip.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${packaging}/mtip.bash RENAME mtip
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES README.md LICENSE CITATION.cff DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${packaging}/modulefile.lua RENAME ${PROJECT_VERSION}.lua DESTINATION ${data}/modulefiles/mtip)
install(FILES ${packaging}/modulefile.tcl RENAME ${PROJECT_VERSION} DESTINATION ${data}/modulefiles/mtip)
# The configs, with the structure of the quickstart where it then lies.
install(FILES tests/data/2cex_a.pdb DESTINATION ${data})
install(CODE "set(data \"${data}\")\nset(source \"${CMAKE_SOURCE_DIR}\")")
install(SCRIPT cmake/install_configs.cmake)
