# SPDX-License-Identifier: MIT OR Apache-2.0
# find_package(rankpoint) gives the target rankpoint::mpi, the launcher rankpoint_MPIEXEC and the compiler rankpoint_MPICC.
# CMake's own find_package(MPI) works too, with bin/mpicc in PATH or in MPI_C_COMPILER.
get_filename_component(_rankpoint_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET rankpoint::mpi)
  add_library(rankpoint::mpi SHARED IMPORTED)
  set_target_properties(rankpoint::mpi PROPERTIES
    IMPORTED_LOCATION "${_rankpoint_prefix}/lib/libmpi_abi.so.1"
    IMPORTED_SONAME "libmpi_abi.so.1"
    INTERFACE_INCLUDE_DIRECTORIES "${_rankpoint_prefix}/include")
endif()
set(rankpoint_MPIEXEC "${_rankpoint_prefix}/bin/mpiexec")
set(rankpoint_MPICC "${_rankpoint_prefix}/bin/mpicc")
unset(_rankpoint_prefix)
