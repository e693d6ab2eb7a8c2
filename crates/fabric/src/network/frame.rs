// SPDX-License-Identifier: MIT OR Apache-2.0
//! Frames: a header, whole cells, then the payload that the cells describe, in their order.
//!
//! Both ends have the same byte order and word size, which the cards compare. Nothing in a frame is trusted: the token proves the
//! sender, and lengths are compared with what arrived.

use std::hash::Hasher;

use siphasher::sip::SipHasher24;

use crate::ring::Feedback;

/// Bytes of a header.
pub(super) const HEADER_BYTES: usize = 40;
/// Bytes of a cell.
pub(super) const CELL_BYTES: usize = 64;
/// Cells of one frame at most.
pub(super) const MOST_CELLS: usize = 8;
/// Payload of one frame at most, in bytes: as much as one cell may describe.
pub(super) const MOST_PAYLOAD: usize = 64 << 10;
/// Longest frame.
pub(super) const FRAME_BYTES: usize = HEADER_BYTES + MOST_CELLS * CELL_BYTES + MOST_PAYLOAD;

/// The purpose of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    /// Cells, or only the receiver's line.
    Cells = 1,
    /// The sender will send no more cells until it is initialized again.
    Farewell = 2,
    /// A request for the address of a context: in place of VCIs the number of the context that asks and of the one that it needs, behind the
    /// header the address of the one that asks. From context 0 to context 0.
    Ask = 3,
    /// The answer: the number of the context that has the address behind the header, and of the one that has asked.
    Address = 4,
}

/// The header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// Proves that the sender belongs to the job.
    pub(super) token: u64,
    /// World rank of the sender.
    pub(super) sender: u32,
    /// The VCIs that it goes from and to, or contexts ([`Kind::Ask`]).
    pub(super) vcis: [u8; 2],
    /// Number of the frame among those from this VCI of the sender to this VCI; wraps. Requests for addresses have none.
    pub(super) sequence: u32,
    pub(super) kind: Kind,
    pub(super) cells: u8,
    /// The receiver's line of the ring in the other direction.
    pub(super) feedback: Feedback,
}

impl Header {
    pub(super) fn to_bytes(self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[0..8].copy_from_slice(&self.token.to_ne_bytes());
        bytes[8..12].copy_from_slice(&self.sender.to_ne_bytes());
        bytes[12..16].copy_from_slice(&self.sequence.to_ne_bytes());
        bytes[16] = self.kind as u8;
        bytes[17] = self.cells;
        bytes[18..20].copy_from_slice(&self.vcis);
        bytes[24..32].copy_from_slice(&self.feedback.consumed.to_ne_bytes());
        bytes[32..36].copy_from_slice(&self.feedback.throttle.to_ne_bytes());
        bytes[36..40].copy_from_slice(&self.feedback.preferences.to_ne_bytes());
        bytes
    }

    /// The header of a frame; `None` when the frame is too small for it and its cells, or of an unknown kind.
    pub(super) fn parse(frame: &[u8]) -> Option<Self> {
        let word32 = |at: usize| Some(u32::from_ne_bytes(frame.get(at..at + 4)?.try_into().ok()?));
        let word64 = |at: usize| Some(u64::from_ne_bytes(frame.get(at..at + 8)?.try_into().ok()?));
        let kind = match frame.get(16)? {
            1 => Kind::Cells,
            2 => Kind::Farewell,
            3 => Kind::Ask,
            4 => Kind::Address,
            _ => return None,
        };
        let cells = *frame.get(17)?;
        let header = Self {
            token: word64(0)?,
            sender: word32(8)?,
            vcis: [*frame.get(18)?, *frame.get(19)?],
            sequence: word32(12)?,
            kind,
            cells,
            feedback: Feedback {
                consumed: word64(24)?,
                throttle: word32(32)?,
                preferences: word32(36)?,
            },
        };
        let whole = HEADER_BYTES + usize::from(cells) * CELL_BYTES;
        (usize::from(cells) <= MOST_CELLS && frame.len() >= whole).then_some(header)
    }
}

/// The token of frames from one process to another: a keyed hash of both ranks and their nonces, which the launcher has brought.
pub(super) fn token(secret: [u64; 2], from: (u32, u64), to: (u32, u64)) -> u64 {
    let mut hasher = SipHasher24::new_with_keys(secret[0], secret[1]);
    for (rank, nonce) in [from, to] {
        hasher.write_u32(rank);
        hasher.write_u64(nonce);
    }
    hasher.finish()
}

/// The words of a cell in a frame.
pub(super) fn cell_words(bytes: &[u8]) -> [u64; 8] {
    let mut words = [0; 8];
    for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
        *word = u64::from_ne_bytes(*bytes);
    }
    words
}
