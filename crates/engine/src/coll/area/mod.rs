// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collectives through the shared collective area of a communicator ([`fabric::area`]), without messages.
//!
//! The members of a communicator whose processes run on one node get an area with their second collective
//! ([`shared`]). An operation uses one round of the area, or several rounds if its data exceed a buffer. All members
//! count rounds in the order in which collectives are called, so they need not agree on round numbers.

mod describe;
pub(in crate::coll) mod drive;
mod entering;
pub mod fast;
mod fold;
pub(in crate::coll) mod long;
mod parts;
pub(in crate::coll) mod persistent;
mod purpose;
mod round;
pub(in crate::coll) mod sequence;
mod shared;
mod span;
mod spec;
mod stores;

pub(in crate::coll) use purpose::Purpose;
pub(in crate::coll) use sequence::{Sequence, enter_area};
