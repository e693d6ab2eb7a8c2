//! Safe, typed MPI for Rust on the Rankpoint engine.
