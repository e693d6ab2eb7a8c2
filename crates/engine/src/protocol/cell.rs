// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kinds of cells.

/// A whole message. Zero, so that its head needs no constant.
pub(crate) const INJECT: u8 = 0;
/// The first chunk of a message in the payload area: words = bytes of all, sender's id if synchronous, position, bytes,
/// ticks.
pub(crate) const EAGER: u8 = 1;
/// Ready to send; no data; the auxiliary bits tell when: words = bytes, sender's id, address, segment offset, address of the proof.
pub(crate) const RTS: u8 = 2;
/// Clear to send; the receiver requests chunks: words = sender's id, receiver's id, bytes wanted (in the match word).
pub(crate) const CTS: u8 = 3;
/// A chunk: words = receiver's id, bytes, position, and how many ticks the sender took to copy it, if measured, else 0.
pub(crate) const CHUNK: u8 = 4;
/// Finished: the receiver has all it wants, words = sender's id.
pub(crate) const FIN: u8 = 5;
/// The next chunk of an EAGER message: words = position, bytes, ticks.
pub(crate) const EAGER_CHUNK: u8 = 6;
/// Type signature of the next EAGER or RTS, where types are checked: words of a `SentSignature`, its count in the match word.
pub(crate) const SIGNATURE: u8 = 7;
/// The sender wants to cancel a message: words = sender's id.
pub(crate) const RECALL: u8 = 8;
/// The receiver has removed a message that no receive had taken: words = sender's id.
pub(crate) const RECALLED: u8 = 9;
/// Ready to send, with the first chunk; the auxiliary bits tell when: words = bytes, sender's id, position, bytes of the chunk, address,
/// address of the proof.
pub(crate) const RTS_DATA: u8 = 10;
/// The next chunk of an RTS_DATA message, before the CTS: words = position, bytes, ticks.
pub(crate) const EARLY_CHUNK: u8 = 11;
/// Clear to send the rest; the receiver takes the early chunks: words = sender's id, receiver's id.
pub(crate) const CTS_REST: u8 = 12;
/// Clear to send; the receiver has opened its memory for a put: words = sender's id, receiver's id, address, key, bytes wanted, 1 if it
/// takes the early chunks.
pub(crate) const CTS_PUT: u8 = 13;
/// The data are in the receiver's memory: words = receiver's id.
pub(crate) const PUT_DONE: u8 = 14;
/// A whole message without a tag; otherwise as INJECT.
pub(crate) const INJECT_IN_ORDER: u8 = 15;
/// The memory of a posted receive, into which the peer may write its next message for it: the receive's key, words = receive's id, capacity,
/// where the memory is, address of the proof, where the claim word is, cells of the peer consumed so far; the number of the
/// offer in the auxiliary bits. Of a peer on another node: words = receive's id, capacity, address, key, 0, cells consumed.
pub(crate) const OFFER: u8 = 16;
/// The sender sends chunks to an offered receive, or puts a message there: words = receive's id, bytes of the message.
pub(crate) const TAKEN: u8 = 17;
/// The sender has written a message into an offered receive; the auxiliary bits tell when: words = receive's id, bytes of the message.
pub(crate) const LANDED: u8 = 18;
/// A whole message that is traced; otherwise as INJECT, or as INJECT_IN_ORDER if its match word is one of those.
pub(crate) const INJECT_TRACED: u8 = 19;

/// Cells that describe payload: their words for the payload's location and length.
pub(crate) const PAYLOAD_RULES: &[fabric::ring::PayloadRule] = &[
    payload_rule(EAGER, 2, 3),
    payload_rule(EAGER_CHUNK, 0, 1),
    payload_rule(CHUNK, 2, 1),
    payload_rule(RTS_DATA, 2, 3),
    payload_rule(EARLY_CHUNK, 0, 1),
];

const fn payload_rule(kind: u8, location_word: u8, bytes_word: u8) -> fabric::ring::PayloadRule {
    fabric::ring::PayloadRule {
        kind,
        location_word,
        bytes_word,
    }
}
