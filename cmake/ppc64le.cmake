# Toolchain for Summit's processors (POWER9, little endian) on another machine: Debian's cross compiler,
# headers and libraries of that architecture below MTIP_PPC64LE_ROOT, programs run by MTIP_PPC64LE_QEMU.
# `sh tests/ppc64le.sh` does all of it.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ppc64le)
set(CMAKE_C_COMPILER powerpc64le-linux-gnu-gcc)
set(CMAKE_C_FLAGS_INIT -mcpu=power9)
set(CMAKE_LIBRARY_ARCHITECTURE powerpc64le-linux-gnu)
set(CMAKE_SYSROOT ${MTIP_PPC64LE_ROOT})
set(CMAKE_CROSSCOMPILING_EMULATOR ${MTIP_PPC64LE_QEMU} -cpu power9 -L ${MTIP_PPC64LE_ROOT})

list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES MTIP_PPC64LE_ROOT MTIP_PPC64LE_QEMU)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(libraries ${MTIP_PPC64LE_ROOT}/usr/lib/powerpc64le-linux-gnu)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${MTIP_PPC64LE_ROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${libraries}/pkgconfig:${libraries}/openblas-openmp/pkgconfig)

# Compiler wrappers are this machine's and tell of its libraries: /bin/false tells nothing.
set(MPI_C_COMPILER /bin/false CACHE FILEPATH "")
set(MPI_C_HEADER_DIR ${libraries}/openmpi/include CACHE PATH "")
set(MPI_C_LIB_NAMES mpi CACHE STRING "")
set(MPI_mpi_LIBRARY ${libraries}/openmpi/lib/libmpi.so CACHE FILEPATH "")
set(HDF5_C_COMPILER_EXECUTABLE /bin/false CACHE FILEPATH "")
set(HDF5_ROOT ${libraries}/hdf5/serial)
