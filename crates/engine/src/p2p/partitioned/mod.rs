// SPDX-License-Identifier: MIT OR Apache-2.0
//! Partitioned communication (MPI-5.0, chapter 4): a persistent send or receive whose partitions become ready, and arrive, one by one.
//!
//! Each partition of the sender is one message, which MPI_Pready sends, with one lock of one VCI. The match words of these messages have
//! a bit that no context id has, so that they match nothing of the program:
//!
//! | message | match word |
//! |---|---|
//! | opening: the sender's geometry, sent once, by MPI_Psend_init | context id and tag of the request |
//! | data of a partition | number of the sender's request (*channel*), and number of the partition |
//!
//! Openings are matched in the order of the calls that make the requests, as messages are in the order of theirs ([`init`]). The start of
//! a receive posts a receive for each message, or leaves that to a task while the opening has not arrived ([`round`]). The messages
//! have entries of their own ([`messages`]), which last as long as the request; [`crate::vci`] counts those that are complete.
//!
//! The partitions of a request can be spread over several VCIs, as the sender says in its opening. Then the request has a *lane* for each
//! VCI, a partitioned request with a block of the partitions, on a communicator between these VCIs of both ranks ([`lanes`]).

mod init;
mod lanes;
mod messages;
mod partitions;
mod round;
#[cfg(test)]
mod tests;

pub use init::{recv_init, send_init};
pub use partitions::{arrived, not_ready, ready, ready_list, ready_range};
pub(super) use round::start;
