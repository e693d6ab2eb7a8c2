//! The `mpiexec` command.

fn main() {}
