// SPDX-License-Identifier: MIT OR Apache-2.0
//! How the long messages of a communicator travel: by its hint, or else by the setting of the process.

use sys::clock;

use crate::identity::LinkIndex;
use crate::request::{RequestEntry, RequestIndex, flag};
use crate::settings::Rendezvous;
use crate::vci::offers::Moment;
use crate::vci::{CmaPolicy, VciState};

/// The protocol that an operation's communicator asks for.
pub(super) fn asked_of(state: &VciState, entry: &RequestEntry) -> Rendezvous {
    // SAFETY: null, or a communicator, which lives while it counts operations (Process::purge).
    let owner = unsafe { entry.owner.as_ref() };
    let hint = owner.and_then(|owner| owner.rendezvous());
    hint.unwrap_or(state.node.rendezvous)
}

/// The same within a node, where a collective chooses if its communicator leaves that to the library.
pub(super) fn rendezvous_of(state: &VciState, entry: &RequestEntry) -> Rendezvous {
    match asked_of(state, entry) {
        Rendezvous::Auto if entry.has(flag::COPIED_BY_RECEIVER) => Rendezvous::Read,
        chosen => chosen,
    }
}

/// Whether receives are offered to a peer where that pays, of communicators that leave the protocol to the library: where copy modes are
/// measured, because their prices decide.
pub(super) fn weighs_offers(state: &VciState, peer: LinkIndex) -> bool {
    let node = &state.node;
    node.offers
        && node.cma == CmaPolicy::Measured
        && !node.refuses_writes
        && !state.copy_modes.is_refused()
        && peer != node.own_link()
        && !state.links[peer].is_remote()
}

/// The moment of a cell that announces a message, or says that one has been written; none where nobody reads it.
pub(in super::super) fn moment_now(state: &VciState, peer: LinkIndex) -> Moment {
    match weighs_offers(state, peer) {
        true => Moment::at(clock::ticks()),
        false => Moment::NONE,
    }
}

/// Notes that this rank has copied a long message, or a chunk of one: until now it was inside the library.
pub(super) fn note_copied(state: &mut VciState) {
    if state.node.offers && state.node.cma == CmaPolicy::Measured {
        state.offer_gains.copied_at = clock::ticks();
    }
}

/// For how long a message could have been on its way without this rank, which was outside the library: since the moment in its cell, or
/// since this rank last copied.
fn lain(state: &VciState, moment: Moment, now: u64) -> u64 {
    let since_copy = now.saturating_sub(state.offer_gains.copied_at);
    moment.until(now).min(since_copy)
}

/// Notes when a long receive is posted.
pub(super) fn note_post(state: &mut VciState, index: RequestIndex) {
    let entry = state.slab.entry_mut(index);
    let capacity = entry.record.bytes;
    let receive = entry.receive_mut();
    (receive.posted_at, receive.capacity) = (clock::ticks(), capacity);
}

/// Notes that an announced message of so many bytes has met a receive that was posted, and when it was announced.
pub(in super::super) fn note_announced(
    state: &mut VciState,
    receive: RequestIndex,
    peer: LinkIndex,
    bytes: u64,
    moment: Moment,
) {
    let entry = state.slab.entry(receive);
    let capacity = entry.record.bytes;
    let is_noted = capacity >= state.node.offer_min_bytes;
    if !is_noted || bytes < state.node.offer_min_bytes || !weighs_offers(state, peer) {
        return;
    }
    let Some(prices) = state.copy_modes.prices(bytes) else {
        return;
    };
    let now = clock::ticks();
    let since_post = now.saturating_sub(entry.receive().posted_at);
    let lain = lain(state, moment, now).min(since_post);
    if let Some(gain) = state.offer_gains.of(peer, capacity) {
        gain.note_announced(lain, prices);
    }
}

/// Notes that a message was written into an offered receive, and when.
pub(super) fn note_landed(
    state: &mut VciState,
    receive: RequestIndex,
    peer: LinkIndex,
    moment: Moment,
) {
    if !weighs_offers(state, peer) {
        return;
    }
    let capacity = state.slab.entry(receive).receive().capacity;
    let lain = lain(state, moment, clock::ticks());
    if let Some(gain) = state.offer_gains.of(peer, capacity) {
        gain.note_landed(lain);
    }
}

/// When the data of an operation are copied by cross-memory attach.
pub(in super::super) fn cma_policy(state: &VciState, entry: &RequestEntry) -> CmaPolicy {
    state.node.cma_policy(rendezvous_of(state, entry))
}
