// SPDX-License-Identifier: MIT OR Apache-2.0
//! Type signatures of messages, where types are checked.

use crate::datatype::SentSignature;
use crate::identity::LinkIndex;
use crate::request::{RequestEntry, RequestIndex};
use crate::vci::VciState;
use crate::vci::cell::Signature;

/// Handles a SIGNATURE cell.
pub(super) fn arrived_signature(state: &mut VciState, ring: usize, cell: Signature) {
    state.incoming[ring].signature = Some(Box::new(SentSignature {
        count: cell.count,
        words: [
            cell.first,
            cell.second,
            cell.third,
            cell.fourth,
            cell.fifth,
            cell.sixth,
        ],
    }));
}

/// Sends the type signature of a message to the receiver, once; false when the ring has no room.
#[cold]
pub(super) fn announce(state: &mut VciState, index: RequestIndex, peer: LinkIndex) -> bool {
    let types = |entry: &mut RequestEntry| {
        entry
            .extra
            .as_mut()?
            .types
            .as_mut()
            .map(|types| (types.signature(), types.is_announced))
    };
    let Some((signature, false)) = types(state.slab.entry_mut(index)) else {
        return true;
    };
    let sender = &mut state.links[peer].sender;
    let [first, second, third, fourth, fifth, sixth] = signature.words;
    let cell = Signature {
        count: signature.count,
        first,
        second,
        third,
        fourth,
        fifth,
        sixth,
    };
    if !cell.put(sender) {
        return false;
    }
    state.count_other_cell_sent();
    mark_announced(state.slab.entry_mut(index), true);
    true
}

/// Notes whether the signature of a send has been transmitted.
pub(super) fn mark_announced(entry: &mut RequestEntry, is_announced: bool) {
    if let Some(types) = entry.extra.as_mut().and_then(|extra| extra.types.as_mut()) {
        types.is_announced = is_announced;
    }
}

/// Compares the type signature of a message with that of a receive.
#[cold]
#[inline(never)]
pub(super) fn check_types(state: &mut VciState, receive: RequestIndex, peer: LinkIndex) {
    let signature = state.signature.take();
    let entry = state.slab.entry_mut(receive);
    let extra = entry.extra.get_or_insert_default();
    let process = state.node.process_of(peer);
    let types = extra.types.as_ref();
    let mismatch = signature.and_then(|signature| types?.mismatch(&signature, process));
    if let Some(text) = mismatch
        && entry.error == 0
    {
        entry.error = crate::ErrorClass::ERR_TYPE.0;
        extra.error_text = text;
    }
}
