// SPDX-License-Identifier: MIT OR Apache-2.0
//! Communicators (MPI-5.0, chapter 7): which ranks exchange messages, and in which context.
//!
//! A communicator reaches everything a message needs by itself: its VCI, its match word, and the map from ranks to
//! processes. `create` makes new ones and `create::inter` those of two groups; context ids come in pairs, the even one for
//! point-to-point, the odd one for collectives ([`context`] says how members agree on them).

mod area_slot;
mod assign;
mod attached;
mod communicator;
pub(crate) mod context;
pub(crate) mod endpoint;
mod forked;
mod hints;
mod lane_table;
mod network;
pub(crate) mod node_map;
mod overlap;
mod predefined;
mod process;
mod rendezvous;
mod route;
mod shared_pages;
mod spread;
mod thread_level;
pub(crate) mod topology;
mod trace_file;
mod vci_report;

pub(crate) use area_slot::{AttachedArea, Drawn, SpareAreas};
pub use attached::AttachedBuffer;
pub(crate) use attached::Reserved;
pub(crate) use communicator::COLLECTIVE;
pub use communicator::Comm;
pub(crate) use forked::CutOff;
pub use hints::Hints;
pub use overlap::InCollective;
pub use predefined::{MOST_PREDEFINED, Predefined};
pub use process::Process;
pub use spread::{Spread, read_partition_vcis};
pub use thread_level::ThreadLevel;
