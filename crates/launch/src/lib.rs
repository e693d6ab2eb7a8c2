//! mpiexec: starts ranks, wires them up, watches them.
