// SPDX-License-Identifier: MIT OR Apache-2.0
//! Windows and one-sided communication (MPI-5.0, chapter 12, and section 7.7.3 on attributes of windows): [`transfer`] has the fast
//! paths of put and get.

pub(crate) mod accumulate;
pub(crate) mod attributes;
pub(crate) mod create;
mod endpoints;
pub(crate) mod object;
mod on_device;
pub(crate) mod passive;
pub(crate) mod requests;
pub(crate) mod synchronise;
pub(crate) mod transfer;
