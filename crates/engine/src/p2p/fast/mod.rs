// SPDX-License-Identifier: MIT OR Apache-2.0
//! The fast paths of sends and receives.
//!
//! A send tries stages; each passes its decoded arguments to the next. [`inject()`] is inlined into the caller: up to
//! [`super::INJECT_BYTES`] contiguous bytes, a linear rank map, no lock. Where it does not reach the rank, [`stage_of_send`] tells the next
//! one: [`inject_locked`] does the same with the lock, [`inject_mapped`] with a table as rank map, and where tags name VCIs
//! [`inject_locked`] works on the lane of the tag ([`lane_of_send`]). [`send_eager`] takes longer messages, [`super::isend`] everything.
//! Receives have the same stages: [`post()`], [`stage_of_receive`], [`post_locked`], [`post_mapped`], [`super::irecv`].
//! [`receive_soon`] takes a message that is in the ring, or arrives in a moment, without a request. What a call promises
//! ([`super::Promises`]) is a constant of each stage.

mod inject;
mod lane;
mod post;
mod soon;

pub use inject::{
    Injected, inject, inject_locked, inject_mapped, inject_predefined, send_eager, send_now, wake,
};
pub use lane::{
    Stage, lane_of_receive, lane_of_send, reaches_receive, stage_of_receive, stage_of_send,
    taker_of_receive,
};
pub use post::{
    Posted, let_owner_work, post, post_locked, post_mapped, post_now, receive_posted,
    wake_contenders,
};
pub use soon::{exchange_soon, receive_soon};
