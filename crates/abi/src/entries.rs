// SPDX-License-Identifier: MIT OR Apache-2.0
//! The generated entry points.
#![allow(
    unused_variables,
    clippy::allow_attributes,
    reason = "missing functions ignore their arguments"
)]

#[allow(
    unused_imports,
    clippy::allow_attributes,
    reason = "not every type of the ABI occurs while functions are missing"
)]
use mpi_abi_sys::types::*;

include!(concat!(env!("OUT_DIR"), "/entries.rs"));
