//! Which bytes: MPI type maps as data, canonical forms, pack and unpack kernels.
