// SPDX-License-Identifier: MIT OR Apache-2.0
//! Derive and attribute macros of the rankpoint crate.
