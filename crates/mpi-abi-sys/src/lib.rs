//! Raw declarations of the MPI 5.0 ABI, usable with any conforming library.
