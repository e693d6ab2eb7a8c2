// SPDX-License-Identifier: MIT OR Apache-2.0
//! A deterministic network between ranks that are threads of one process, for tests.
//!
//! The engine talks to it through the same [`RingSender`](crate::ring::RingSender) and
//! [`RingReceiver`](crate::ring::RingReceiver) as to shared memory. A rank has one VCI or several,
//! each with a port. Each directed pair of VCIs that talks has two private rings and a [`wire`] between them. The wire takes cells out of the
//! source's ring, holds each for the time that the settings say, in virtual time, and puts it into
//! the target's ring as soon as the target has a credit.
//!
//! Invariant: only the rank that holds the *baton* runs, only [`Port::poll`], [`SimNet::port`] and
//! [`SimNet::leave`] pass the baton on, and only passing it on moves virtual time. All decisions
//! (the next rank, the next delivery) come from the seed or from a list of choices. So a program
//! whose ranks depend on nothing but the network and their own turns runs the same way each time,
//! and [`SimNet::trace_hash`] proves it.
//!
//! Computing takes no virtual time: time moves when every rank has polled in vain since the last
//! delivery. [`SimSettings::early_percent`] lets it move before.
//!
//! A rank must not sleep or wait for another rank outside [`Port::poll`]: the holder of the baton
//! that does so stops all ranks. In tests, [`SimNet::is_quiet`] tells a deadlock from a wait, and
//! [`SimNet::trace_text`] tells how it came about.
//!
//! ```
//! use fabric::identity::LinkIndex;
//! use fabric::ring::PayloadRule;
//! use fabric::sim::{Fate, SimNet};
//!
//! const PAYLOAD_RULES: &[PayloadRule] = &[];
//! let settings = "seed=3,latency=2000,gap=50,bandwidth=0".parse()?;
//! let net = SimNet::new(2, settings, PAYLOAD_RULES)?;
//! std::thread::scope(|scope| {
//!     for rank in 0..2 {
//!         let net = &net;
//!         scope.spawn(move || {
//!             // Also a rank that panics must leave, or the other one waits for ever.
//!             let _leave = net.leave_on_drop(rank);
//!             let port = net.port(rank).expect("a rank asks once for its port");
//!             if rank == 0 {
//!                 let mut ring = port.connect(LinkIndex::new(1)).expect("rank 1 exists");
//!                 assert!(ring.put_words(0, 0, 7, &[42]));
//!                 return;
//!             }
//!             let mut ring = None;
//!             loop {
//!                 assert_eq!(port.poll(), Ok(Fate::Alive));
//!                 ring = ring.or_else(|| port.accept());
//!                 if let Some((source, ring)) = &ring && ring.peek().is_some() {
//!                     break assert_eq!((source.get(), ring.word(0)), (0, 42));
//!                 }
//!             }
//!             assert_eq!(port.now_ns(), 2000);
//!         });
//!     }
//! });
//! # Ok::<(), fabric::sim::SimError>(())
//! ```
//!
//! | file | concept |
//! |---|---|
//! | `settings` | [`SimSettings`] and their text form |
//! | `wire` | one directed pair: arithmetic of time, credits, payload |
//! | `state` | what the baton protects: wires, ranks, virtual time, the rank that runs next |
//! | `schedule` | the source of choices: a seeded generator, a list of choices, [`for_each_schedule`] |
//! | `net` | [`SimNet`] and [`Port`]: the baton as a mutex and condition variables |
//! | `trace` | the record of events, and its hash |

mod errors;
mod net;
mod schedule;
mod settings;
mod state;
#[cfg(test)]
mod tests;
mod trace;
mod wire;

pub use errors::SimError;
pub use net::{Fate, Leave, Port, SimNet};
pub use schedule::{Explored, for_each_schedule};
pub use settings::{Death, Schedule, SimSettings};
