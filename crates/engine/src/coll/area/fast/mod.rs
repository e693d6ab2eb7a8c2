// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collectives of little data, in one round of the shared area.
//!
//! They take the rounds of [`super::describe`] with contiguous data that fit a slot, when the members have an area; otherwise they
//! answer `None` and have done nothing. How the call goes through its round is its driver's ([`super::drive`],
//! [`super::persistent`]). Where there is one member, they are copies.

mod forms;
mod rounds;

pub use super::span::Span;
pub use forms::{at_once, here, now, planned};
