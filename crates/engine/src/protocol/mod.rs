// SPDX-License-Identifier: MIT OR Apache-2.0
//! Message protocols: inject, eager and rendezvous.
//!
//! | message | cells |
//! |---|---|
//! | up to 48 bytes | INJECT: header and data in one cache line |
//! | up to the eager limit, or synchronous | EAGER and EAGER_CHUNK: data in the ring's payload area, in chunks that cells locate; FIN back if synchronous |
//! | with types to be checked | SIGNATURE, then EAGER or RTS, whatever the length |
//! | larger, or to a receiver with too much unexpected data | RTS (ready to send); then the receiver copies the data itself and answers FIN, or answers CTS (clear to send) and gets CHUNKs |
//! | the same to a receiver that has offered the memory of its receive (OFFER) | the sender writes the data there; LANDED, or TAKEN and CHUNKs where the system forbids it |
//! | the same from another node, where the network can write the receiver's memory | RTS; CTS_PUT; a put and PUT_DONE ([`put`]) |
//! | the same where nothing else is in progress to the receiver | RTS_DATA and EARLY_CHUNK bring the first chunks before the CTS, CTS_REST requests the others ([`early`]) |
//! | partitions to a receiver on another node that has offered its memory | FAR_OFFER; a put and LANDED, and TAKEN where the put lasts ([`rendezvous`]) |
//!
//! A send can be cancelled until a receive or a probe has taken its message ([`cancel`]).
//!
//! A receiver trusts no number in a cell: operations are named by ids with a generation, lengths are bounded by the receiver's own
//! buffer.

mod arrival;
mod backlog;
pub(crate) mod cancel;
mod chunks;
mod control;
mod copies;
pub(crate) mod eager;
mod early;
pub(crate) mod inject;
pub(crate) mod kept;
mod preferences;
mod put;
#[cfg(test)]
mod put_tests;
pub(crate) mod rendezvous;
mod send;
mod signature;
#[cfg(test)]
mod tests;
mod zero_copy;

pub(crate) use arrival::{Handled, arrived, named_by_peer, note_message};
use arrival::{consume, is_untyped_eager};
use chunks::{chunk_at, release_chunk};
use control::put_control;
pub(crate) use control::send_control;
use copies::{copy, fill_chunk, pack_chunk, unpack_chunk};
pub(crate) use copies::{is_contiguous, pack, unpack};
pub(crate) use preferences::publish_preferences;
use preferences::{note_arrival, note_written, prefers_cma, receiver_prefers_cma};
pub(crate) use put::{begin_put, put_ended};
pub(crate) use rendezvous::{may_be_offered, note_posted};
use send::complete_offered;
pub(crate) use send::{load_staged, start_send, transmit};
