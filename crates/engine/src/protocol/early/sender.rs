// SPDX-License-Identifier: MIT OR Apache-2.0
//! The sender: when an RTS brings data, and what becomes of the next ones.

use fabric::counters::Counter;
use fabric::trace::TraceKind;

use super::super::rendezvous::{chunk_bytes, moment_now};
use super::super::{is_contiguous, pack_chunk, receiver_prefers_cma};
use crate::identity::LinkIndex;
use crate::request::{RequestIndex, flag};
use crate::vci::VciState;
use crate::vci::cell::{Announced, EarlyChunk, RtsData};

/// Bytes that a sender sends before the CTS: their copy takes a little longer than the CTS takes to arrive.
const EARLY_BYTES: usize = 64 << 10;
/// The same to other nodes, in one chunk: each is a message of the network. Both sides copy it once more than what is put.
const REMOTE_EARLY_BYTES: usize = 8 << 10;
/// Messages that send the RTS only, after one sent data with it in vain.
pub(super) const RTS_ONLY_AFTER_WASTE: u8 = 16;
/// `Link::early` while an RTS with data is not answered.
const UNANSWERED: u8 = u8::MAX;

/// Whether the RTS of this operation to `peer` should bring data: nothing else is in progress to `peer`, and the receiver will want
/// chunks.
pub(in super::super) fn should_begin(
    state: &mut VciState,
    index: RequestIndex,
    peer: LinkIndex,
) -> bool {
    let prefers_cma = receiver_prefers_cma(state, index);
    let link = &mut state.links[peer];
    if peer == state.node.own_link()
        || prefers_cma
        || link.backlogged
        || !state.streaming.is_empty()
    {
        return false;
    }
    match link.early {
        0 => !link.sender.is_throttled(),
        UNANSWERED => false,
        _ => {
            link.early -= 1;
            false
        }
    }
}

/// Sends the RTS of a message with its first chunks; false, with nothing sent, when the ring has no room for the first.
pub(in super::super) fn transmit_rts_data(
    state: &mut VciState,
    index: RequestIndex,
    peer: LinkIndex,
    word: u64,
) -> bool {
    let total = state.slab.record(index).bytes as usize;
    let sender = state.slab.id(index).0;
    let most = state.node.chunk_bytes as usize;
    let moment = moment_now(state, peer);
    loop {
        let entry = state.slab.entry(index);
        let link = &mut state.links[peer];
        let start = entry.send().position;
        let (bytes, early) = match link.is_remote() {
            true => {
                let bytes = REMOTE_EARLY_BYTES.min(link.longest_chunk());
                ((total - start).min(bytes), bytes)
            }
            false => (chunk_bytes(start, total - start, most), EARLY_BYTES),
        };
        let room = (start < early && bytes != 0)
            .then(|| {
                link.sender
                    .reserve(bytes as u32, entry.base.wrapping_add(start))
            })
            .flatten();
        let Some((target, location)) = room else {
            return start != 0;
        };
        // SAFETY: the send's memory is readable until it completes (contract of isend), the reservation is `bytes` long.
        let taken = unsafe { pack_chunk(state, index, start, target, bytes) };
        let departure = state.before_sending(peer);
        let entry = state.slab.entry_mut(index);
        let link = &mut state.links[peer];
        let sent = if start == 0 {
            link.early = UNANSWERED;
            let address = if is_contiguous(entry) {
                entry.base as u64
            } else {
                0
            };
            let proof: *const u64 = &raw const *state.node.proof;
            let cell = RtsData {
                announced: Announced {
                    typed: entry.has(flag::TYPED),
                    moment,
                },
                word,
                total: total as u64,
                sender,
                location,
                bytes: bytes as u64,
                address,
                proof: proof as u64,
            };
            cell.put(&mut link.sender)
        } else {
            let cell = EarlyChunk {
                location,
                bytes: bytes as u64,
                ticks: taken,
            };
            cell.put(&mut link.sender)
        };
        debug_assert!(sent, "a reservation comes with a cell");
        entry.send_mut().position = start + bytes;
        link.ring_doorbell();
        state.count_other_cell_sent();
        if start == 0 {
            state.observe_sent(index, TraceKind::SentRts, departure);
            state.count(Counter::SendsBegun);
        }
        state.observe_chunk_sent(index, bytes as u64);
    }
}

/// Notes the answer to a message that may have sent data with its RTS.
pub(in super::super) fn note_answer(state: &mut VciState, index: RequestIndex, was_wanted: bool) {
    let send = state.slab.entry(index).send();
    if send.position == 0 {
        return;
    }
    let link = &mut state.links[send.target];
    link.early = if was_wanted { 0 } else { RTS_ONLY_AFTER_WASTE };
    if !was_wanted {
        state.count(Counter::SendsBegunInVain);
    }
}
