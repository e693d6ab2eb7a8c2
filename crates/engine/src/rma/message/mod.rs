// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operations and synchronisation by messages, where members share no memory or the setting `RANKPOINT_RMA` demands it.
//!
//! Each member of such a window runs a [`service`]: a task of the window's VCI that receives requests of all members ([`wire`]) on the
//! window's own communicator and handles them: [`target`] and [`elements`] access the memory ([`runs`]), [`locks`] is the queue of the member's lock. It handles
//! the requests of one origin in the order in which they were sent, so an answer to a flush, a lock given back or a count of completed
//! epochs says that everything sent before is done. Data too long for a request follow as a message of their own, which is received
//! straight into place; meanwhile requests of other origins are handled. [`answers`] are under way until their messages are sent.
//!
//! The origin's side is the [`channel`], whose [`stream`]s keep what it has started: one, or with the hint `rankpoint_num_vcis` one for each VCI,
//! each with a service of its own; [`operations`] are its puts, gets and accumulates, cut into
//! requests by [`cut`]. An operation returns when its messages are under way. They are awaited where synchronisation demands it: here by
//! [`channel::Channel::settle`], at the target by [`channel::Channel::conclude`]. What the target refuses is told in its next answer.
//!
//! `RANKPOINT_CHECK=rma` sends everything by messages: [`accesses`] finds the conflicts ([`uses`]) among the [`places`] that a service
//! sees, [`check`] tells it and
//! [`buffers`] adds what the member does itself; [`knowledge`] is what origins know of each other, by vector clocks ([`clock`]).

mod accesses;
#[cfg(test)]
mod accesses_tests;
mod answers;
mod buffers;
pub(super) mod channel;
mod check;
#[cfg(test)]
mod check_tests;
mod clock;
mod cut;
mod elements;
#[cfg(test)]
mod gathered_tests;
mod knowledge;
mod locks;
#[cfg(test)]
mod many_tests;
mod opened;
#[cfg(test)]
mod opened_tests;
pub(super) mod operations;
#[cfg(test)]
mod path_tests;
mod places;
mod runs;
mod service;
mod stream;
mod target;
#[cfg(test)]
mod tests;
mod thread;
mod uses;
mod wire;

pub use buffers::{BufferUse, enter_message, note_buffer};
pub(super) use channel::{Channel, Ending};
#[cfg(test)]
pub(super) use thread::thread_number;
pub(super) use wire::Kind;
