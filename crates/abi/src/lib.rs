//! libmpi_abi: the C library of the MPI 5.0 standard ABI.
