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
//! Messages hold data of a [`Datatype`](trait@Datatype): numbers, arrays of them, and `#[repr(C)]` structs that derive it, padding or
//! not. A buffer is a value, a slice, or a view of memory that is not one run of bytes: a [`Section`] of an array, [`Indexed`] blocks of a
//! slice, [`Parts`] from anywhere. Its type is known at compile time, so that no datatype is looked up when it is sent.
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
//! With the feature `testkit`, [`test`](macro@test) makes a test function a job of several ranks under plain `cargo test`.
//! The feature belongs to `[dev-dependencies]`: `rankpoint = { path = "…", features = ["testkit"] }`.
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
//! Here is [`universe`]'s start, how many [`threads`] may use it, [`communicator`] with its point-to-point calls in [`p2p`] and [`message`], its
//! nonblocking ones in [`scope`] and [`owned`], its persistent ones in [`persistent`], [`planned`] and [`partitioned`], its collectives in [`collective`], [`varying`], [`blocks`] and (nonblocking) [`pending`], [`pending_varying`] and [`duplicate`], its relatives in
//! [`group`], [`cart`], [`graph`], [`reorder`] and [`inter`], memory that other ranks use in [`window`], [`window_promise`] and [`shared`], files in [`mod@file`], what it carries in [`attribute`] and [`errors`]; [`data`] says what may travel,
//! [`buffer`] from and into what, with views in [`section`] and [`parts`].

#![deny(unsafe_code)]

extern crate self as rankpoint;

mod abort;
#[cfg(feature = "ndarray")]
mod arrays;
pub mod attribute;
mod axes;
pub mod blocks;
pub mod buffer;
pub mod cart;
pub mod collective;
pub mod communicator;
pub mod data;
pub mod duplicate;
pub mod dynamic;
pub mod endpoint;
pub mod envelope;
pub mod epoch;
pub mod errors;
pub mod file;
pub mod graph;
pub mod group;
pub mod inter;
pub mod inter_collective;
pub mod local;
pub mod message;
pub mod op;
pub mod owned;
pub mod p2p;
pub mod partitioned;
pub mod parts;
pub mod pending;
pub mod pending_varying;
pub mod persistent;
pub mod places;
pub mod planned;
pub mod promise;
pub mod reorder;
pub mod scope;
pub mod section;
pub mod shared;
mod start;
mod strides;
pub mod threads;
pub mod universe;
pub mod varying;
pub mod window;
pub mod window_promise;

#[cfg(feature = "testkit")]
#[doc(hidden)]
pub use testkit;

pub use attribute::AttributeKey;
pub use buffer::{Buffer, BufferMut, Incoming, Lend, Outgoing};
pub use cart::{Cart, balanced_dims};
pub use communicator::{Communicator, Hints, TagVcis};
pub use data::{Datatype, Plain};
pub use duplicate::Duplicating;
pub use dynamic::{Attached, DynamicWindow};
pub use endpoint::Endpoint;
pub use engine::group::Comparison;
pub use engine::{Error, ErrorClass, Result};
pub use envelope::{Source, Status, Tag};
pub use epoch::{Epoch, Lock, LockAllGuard, LockGuard};
pub use errors::ErrorMode;
pub use file::{File, OpenOptions, Strided};
pub use graph::Graph;
pub use group::Group;
pub use inter::InterCommunicator;
pub use local::Local;
pub use message::Message;
pub use op::{At, Integer, Op, Reducible};
pub use owned::OwnedRequest;
pub use partitioned::{
    Arrivals, Partition, PartitionedReceive, PartitionedSend, ReceiveRound, SendRound,
};
pub use parts::{Indexed, IndexedMut, Parts, PartsMut};
pub use pending::{Pending, join_all};
pub use persistent::{Persistent, Started, start_all};
pub use places::{Address, ByAddress, ByIndex, Places};
pub use planned::PersistentCollective;
pub use promise::{PredefinedCommunicator, Promising};
#[cfg(feature = "testkit")]
pub use rankpoint_macros::test;
#[cfg(not(feature = "testkit"))]
#[doc(hidden)]
pub use rankpoint_macros::test_without_testkit as test;
pub use rankpoint_macros::{Datatype, Plain};
pub use reorder::Reordering;
pub use scope::{Request, Scope, wait_all, wait_any, wait_some};
pub use section::{Section, SectionMut};
pub use shared::{SharedAtomic, SharedAtomics, SharedSlices};
pub use threads::{AnyThread, OneThread, OwnThread, Threads};
pub use universe::Universe;
pub use window::{AccumulateOrder, Window};
pub use window_promise::PromisingWindow;

/// The examples of the page on the Rust API are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/rust.md")]
pub struct PageOnTheRustApi;

/// Those of the page on threads, too.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/threads.md")]
pub struct PageOnThreads;

/// The examples of the page on partitioned communication are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/partitioned.md")]
pub struct PageOnPartitions;

/// The examples of the page on one-sided communication are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/rma.md")]
pub struct PageOnWindows;

/// The examples of the page on calls with promises are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/shortest-path.md")]
pub struct PageOnPromises;
