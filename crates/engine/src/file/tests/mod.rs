// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of files on ranks that are threads of one program: [`model`] compares accesses of every family with bytes in memory, [`rules`]
//! has the rows of the error table, [`shared`] the shared pointer and atomic accesses; [`opened`] is what they share.

mod model;
mod opened;
mod rules;
mod shared;
