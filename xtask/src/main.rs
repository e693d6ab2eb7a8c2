//! Builds, installs, tests and measures Rankpoint.

fn main() {}
