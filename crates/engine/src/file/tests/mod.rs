// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of files on ranks that are threads of one program: [`model`] compares accesses of every family with bytes in memory, [`rules`]
//! has the rows of the error table, [`shared`] the shared pointer and atomic accesses; [`covered`] writes across gaps, [`counted`] what counters and the report say; [`checked`] conflicts; [`opened`] is what they share,
//! [`memory`] lets memory be short.

mod checked;
mod counted;
mod covered;
pub(super) mod memory;
mod model;
mod opened;
mod rules;
mod shared;
