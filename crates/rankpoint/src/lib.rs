// SPDX-License-Identifier: MIT OR Apache-2.0
//! MPI for Rust: typed, safe, without C.
//!
//! A program joins its job with [`Universe::init`], and talks through [`Communicator`]s:
//!
//! ```
//! use rankpoint::{Op, Universe};
//!
//! fn main() -> rankpoint::Result<()> {
//!     let universe = Universe::init()?;
//!     let world = universe.world();
//!     let sum = world.all_reduce_value(world.rank() as u64, Op::SUM)?;
//!     assert_eq!(sum, (0..world.size() as u64).sum());
//!     Ok(())
//! }
//! ```
//!
//! Started by `cargo run` it is a job of one rank; `mpiexec -n 4 target/release/program` starts four.
//!
//! # What travels
//!
//! Messages hold [`Plain`] data: numbers, arrays of them, and `#[repr(C)]` structs with `#[derive(Plain)]`. A buffer is a
//! value or a slice of them; its type is known at compile time, so that no datatype is looked up when it is sent.
//!
//! # Nonblocking operations
//!
//! An operation in flight borrows its buffer. Inside [`Communicator::scope`] the borrow lasts until the scope ends, which
//! waits for whatever was not waited for; forgetting a request changes nothing. [`Communicator::isend_owned`] and
//! [`Communicator::irecv_owned`] take the buffer instead and give it back.
//!
//! # Threads
//!
//! [`Universe::init`] promises that one thread uses MPI, which the compiler enforces: nothing that leads to it is `Send`.
//! [`Universe::init_threaded`] gives communicators that any thread may use, and costs a lock per call.
//!
//! # Tests
//!
//! [`test`](macro@test) makes a test function a job of several ranks under plain `cargo test`:
//!
//! ```
//! # mod tests {
//! use rankpoint::{Communicator, Op};
//!
//! #[rankpoint::test(ranks = [1, 4])]
//! fn everybody_counts(world: Communicator<'_>) -> rankpoint::Result<()> {
//!     let ones = world.all_reduce_value(1u32, Op::SUM)?;
//!     assert_eq!(ones as usize, world.size());
//!     Ok(())
//! }
//! # }
//! ```
//!
//! Here is [`universe`]'s start, [`communicator`] with its point-to-point calls in [`p2p`] and [`message`], its
//! nonblocking ones in [`scope`] and [`owned`], its collectives in [`collective`], [`varying`] and (nonblocking) [`pending`], its relatives in
//! [`group`] and [`cart`]; [`data`] says what may travel.

#![deny(unsafe_code)]

extern crate self as rankpoint;

pub mod cart;
pub mod collective;
pub mod communicator;
pub mod data;
pub mod envelope;
pub mod group;
pub mod message;
pub mod op;
pub mod owned;
pub mod p2p;
pub mod pending;
pub mod scope;
pub mod universe;
pub mod varying;

#[doc(hidden)]
pub use testkit;

pub use cart::{Cart, balanced_dims};
pub use communicator::Communicator;
pub use data::{Buffer, Plain};
pub use engine::{Error, ErrorClass, Result};
pub use envelope::{Source, Status, Tag};
pub use group::Group;
pub use message::Message;
pub use op::{Op, Reducible};
pub use owned::OwnedRequest;
pub use pending::{Pending, join_all};
pub use rankpoint_macros::{Plain, test};
pub use scope::{Request, Scope, wait_all, wait_any, wait_some};
pub use universe::{AnyThread, OneThread, Threads, Universe};

/// The examples of the page on the Rust API are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/rust.md")]
pub struct PageOnTheRustApi;
