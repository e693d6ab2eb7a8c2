// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every constant of the ABI: integers as `i32`, handles and addresses as `usize`.

include!(concat!(env!("OUT_DIR"), "/constants.rs"));
