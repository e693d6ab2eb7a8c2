// SPDX-License-Identifier: MIT OR Apache-2.0
//! Jobs that have ranks on other nodes.
//!
//! Each node has an *agent*: `mpiexec` in a mode of its own ([`agent`]), which starts and watches the ranks of its node with
//! the code that does so on one node. The *conductor* ([`conductor`]), which is the `mpiexec` that the user started, starts the
//! agents through a launcher command such as ssh ([`launcher`]), judges the ends of ranks, and reads and writes the terminal.
//!
//! ```text
//! conductor                      agent of each node
//!     ---- launcher command ---->  greeting: version
//!     Start: share of the job --->  node segment, ranks; once all agents have greeted
//!     <--- Started, Output, Ended, Cards, State, Alive
//!     ---> Input, Signal, Cards, Death, Report, Alive
//!     ---> Finish                   kills what is left
//!     <--- Done
//! ```
//!
//! For many hosts, the conductor starts a *branch* on some of them ([`branch`]), each of which starts the agents of its part of
//! the hosts and carries their streams, so that no host runs more than a few dozen launcher commands.
//!
//! The standard input and output of the launcher command carry [`message`]s in [`frame`]s, so nothing listens on a port, and
//! ssh authenticates and encrypts. A node is lost when its stream ends, breaks the protocol, or is silent for too long
//! ([`node`]). An agent that loses the conductor in the same ways kills its ranks.

mod agent;
mod branch;
mod channel;
mod conductor;
mod frame;
mod launched;
mod launcher;
mod message;
mod node;
mod share;

pub(crate) use agent::run as run_agent;
pub(crate) use branch::run as run_branch;
pub(crate) use conductor::run;
