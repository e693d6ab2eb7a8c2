// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files (MPI-5.0, chapter 14): [`transfer`] and [`split`] have the calls that read and write.

pub(crate) mod open;
pub(crate) mod position;
pub(crate) mod split;
pub(crate) mod transfer;
pub(crate) mod view;
