//! The `rankpoint` command.

fn main() {}
