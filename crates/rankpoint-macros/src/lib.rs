//! Derive and attribute macros of the rankpoint crate.
