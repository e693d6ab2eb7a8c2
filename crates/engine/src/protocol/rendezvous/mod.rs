// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rendezvous: messages whose data travel when the receive is known.
//!
//! Either side may start. The sender announces its message (RTS), or the receiver has offered the memory of its receive before
//! (OFFER), and the sender claims the memory and writes it. For an announced message the receiver uses the first copy mode
//! that applies:
//! * direct: it copies out of the node segment, when the data lie there (`MPI_Alloc_mem`) and are not so long that two cores are
//!   faster;
//! * CMA: it copies out of the sender's private memory, where the kernel allows it;
//! * pipeline: it requests chunks through the ring (CTS), which both sides copy at the same time.
//!
//! Some chunks may come before the CTS ([`super::early`]). The sender's buffer is free when FIN arrives, or, in the pipeline, when
//! the sender has written the last chunk.
//!
//! | file | contents |
//! |---|---|
//! | [`sender`], [`receiver`] | the cells of either side |
//! | [`offers`] | offers: who makes and who uses them; drives the state machines of crate `protocols` |
//! | [`far_offers`] | the same between nodes, of partitions |
//! | [`movers`] | copies without the ring |
//! | [`pipeline`] | chunks through the ring |
//! | [`policy`] | which of these a communicator wants, and whether offers pay |

#[cfg(test)]
mod auto_tests;
mod far_offers;
mod movers;
mod offers;
#[cfg(test)]
mod offers_counts_tests;
#[cfg(test)]
mod offers_hazards_tests;
#[cfg(test)]
mod offers_tests;
mod pipeline;
mod policy;
#[cfg(test)]
mod random_tests;
mod receiver;
mod sender;

pub(super) use far_offers::{arrived_far_offer, note_put_ended};
pub(super) use offers::{Answer, arrived_offer, note_answered, write_offered};
pub(crate) use offers::{may_be_offered, note_posted};
pub(crate) use pipeline::push_streams;
pub(super) use pipeline::{chunk_bytes, copy_chunk, stream};
pub(super) use policy::{cma_policy, moment_now, note_announced};
pub(super) use receiver::{
    arrived_landed, arrived_rts, arrived_taken, begin, fetch_at_once, request_data,
};
pub(super) use sender::{answered, arrived_cts, arrived_fin, transmit_rts};
