# The simulator: atoms, detector, photons.
pkg_check_modules(XRAYLIB REQUIRED IMPORTED_TARGET GLOBAL libxrl)
target_sources(stages PRIVATE 
  ${CMAKE_SOURCE_DIR}/mtip/detector.c
  ${CMAKE_SOURCE_DIR}/mtip/phase_sum.c
  ${CMAKE_SOURCE_DIR}/mtip/random.c
  ${CMAKE_SOURCE_DIR}/mtip/scatter.c
  ${CMAKE_SOURCE_DIR}/mtip/simulate.c
)
target_link_libraries(stages PRIVATE PkgConfig::XRAYLIB)
