// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rings whose two ends are on different nodes.
//!
//! Such a ring exists twice: the sender's copy on its node and the receiver's copy on its own. A network transport carries
//! published cells and the payload that they describe to the same positions of the receiver's copy, and the receiver's line back.
//! So room is accounted for exactly as in one memory, and both ends are an ordinary [`RingSender`] and [`RingReceiver`].
//!
//! Invariants: the source's cursor never passes the sender's; payload stays in the sender's copy until the receiver has consumed it,
//! so a network may read it without a copy. The target refuses cells beyond the receiver's room: what arrives is untrusted.
#![expect(unsafe_code, reason = "a ring is memory that both ends share")]

// account: fabric

use std::ptr::NonNull;
use std::sync::Arc;

use super::private::{RingMemory, private_view};
use super::{Arrival, Cell, RingReceiver, RingSender, RingView};
use sys::sync::Ordering;

/// Words of a cell.
const WORDS: usize = 8;

/// The receiver's line as a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Feedback {
    /// Cells and payload consumed.
    pub consumed: u64,
    /// Whether the receiver holds too many unexpected bytes.
    pub throttle: u32,
    /// Which messages the receiver would rather copy itself.
    pub preferences: u32,
}

/// The end of a sender's copy that a transport reads.
pub struct MirrorSource {
    view: RingView,
    memory: Arc<RingMemory>,
    /// Cells taken; wraps.
    taken: u32,
}

/// The end of a receiver's copy that a transport writes.
pub struct MirrorTarget {
    view: RingView,
    memory: Arc<RingMemory>,
    /// Cells written; wraps.
    written: u32,
}

// SAFETY: the pointers lead into memory that the owner keeps; its methods take `&mut self` or read atomics.
unsafe impl Send for MirrorSource {}
// SAFETY: as for MirrorSource.
unsafe impl Send for MirrorTarget {}

/// The sender's copy of a ring to another node. `None` as for [`super::private_ring`].
pub fn mirrored_sender(cells: u32, payload_bytes: u32) -> Option<(RingSender, MirrorSource)> {
    let (view, memory) = private_view(cells, payload_bytes)?;
    let source = MirrorSource {
        view,
        memory: memory.clone(),
        taken: 0,
    };
    Some((RingSender::with_memory(view, Some(memory)), source))
}

/// The receiver's copy of a ring from another node. `None` as for [`super::private_ring`].
pub fn mirrored_receiver(cells: u32, payload_bytes: u32) -> Option<(MirrorTarget, RingReceiver)> {
    let (view, memory) = private_view(cells, payload_bytes)?;
    let target = MirrorTarget {
        view,
        memory: memory.clone(),
        written: 0,
    };
    Some((target, RingReceiver::with_memory(view, Some(memory))))
}

/// The cell with this number, counted from the ring's first, and its lap.
fn cell_at(view: &RingView, number: u32) -> (&Cell, u32) {
    let offset = number & (view.cell_count - 1);
    // SAFETY: masked, so inside the cells, which the owner's memory holds; all atomics.
    let cell = unsafe { view.cells.add(offset as usize).as_ref() };
    (cell, (number / view.cell_count).wrapping_add(1))
}

/// The address of payload at a position; `None` when it leaves the payload area.
fn payload_at(view: &RingView, location: u64, bytes: u32) -> Option<NonNull<u8>> {
    let offset = u32::try_from(location).ok()? & (view.payload_bytes - 1);
    let fits = bytes <= view.payload_bytes && offset <= view.payload_bytes - bytes;
    // SAFETY: inside the payload area by the comparison.
    fits.then(|| unsafe { view.payload.add(offset as usize) })
}

impl MirrorSource {
    /// The next published cell that was not taken.
    pub fn peek(&self) -> Option<Arrival> {
        self.peek_at(0)
    }

    /// The same, `ahead` cells further on.
    pub fn peek_at(&self, ahead: u32) -> Option<Arrival> {
        let (cell, lap) = cell_at(&self.view, self.taken.wrapping_add(ahead));
        // PAIRS: ring.published. Seeing the lap makes the cell and its payload visible.
        let head = cell.head.load(Ordering::Acquire);
        // The cells of a whole lap ahead have the last lap's numbers.
        (head as u32 == lap && ahead < self.view.cell_count).then_some(Arrival(head))
    }

    /// The words of a peeked cell.
    pub fn words(&self, ahead: u32) -> [u64; WORDS] {
        let (cell, _) = cell_at(&self.view, self.taken.wrapping_add(ahead));
        let words: [u64; WORDS - 2] =
            std::array::from_fn(|at| cell.words[at].load(Ordering::Relaxed));
        let [a, b, c, d, e, f] = words;
        let head = cell.head.load(Ordering::Relaxed);
        [
            head,
            cell.match_word.load(Ordering::Relaxed),
            a,
            b,
            c,
            d,
            e,
            f,
        ]
    }

    /// Takes this many peeked cells.
    pub const fn advance(&mut self, cells: u32) {
        self.taken = self.taken.wrapping_add(cells);
    }

    /// Where payload that a cell describes lies; `None` when the cell describes none of this ring.
    pub fn payload(&self, location: u64, bytes: u32) -> Option<NonNull<u8>> {
        payload_at(&self.view, location, bytes)
    }

    /// The receiver's line as its node has it now.
    pub fn feed(&self, feedback: Feedback) {
        let shared = self.view.shared();
        shared.throttle.store(feedback.throttle, Ordering::Relaxed);
        shared
            .preferences
            .store(feedback.preferences, Ordering::Relaxed);
        // PAIRS: ring.consumed. The network's reads of consumed cells ended before the receiver consumed them.
        shared.consumed.store(feedback.consumed, Ordering::Release);
    }

    /// The memory of the ring, for a network that registers memory.
    pub fn memory(&self) -> (NonNull<u8>, usize) {
        (self.memory.base, self.memory.bytes)
    }
}

impl MirrorTarget {
    /// Where payload that the next cell describes is to be written; `None` when it leaves the ring.
    pub fn payload(&self, location: u64, bytes: u32) -> Option<NonNull<u8>> {
        payload_at(&self.view, location, bytes)
    }

    /// Lends the payload that the next cell describes to the receiver, instead of writing it; false when it leaves the ring. One payload
    /// of a ring is lent at once; [`Self::take_back`] ends the loan.
    ///
    /// # Safety
    /// `start` is readable for `bytes` bytes until then, and only threads that hold the lock of the receiver's VCI lend, read and take back.
    #[must_use]
    pub unsafe fn lend(&self, location: u64, bytes: u32, start: NonNull<u8>) -> bool {
        let fits = self.payload(location, bytes).is_some();
        if fits {
            self.memory.lent.set(location, bytes, start);
        }
        fits
    }

    /// Whether payload is lent that the receiver has not copied out.
    pub fn has_lent(&self) -> bool {
        self.memory.lent.is_some()
    }

    /// Ends a loan: what the receiver has not copied out is written into the ring.
    pub fn take_back(&self) {
        let Some((location, bytes, start)) = self.memory.lent.take() else {
            return;
        };
        if let Some(target) = self.payload(location, bytes) {
            // SAFETY: the ring has room for the bytes (`lend`), which lie elsewhere and are readable (`lend`).
            unsafe { target.copy_from_nonoverlapping(start, bytes as usize) };
        }
    }

    /// Publishes a cell; false when the sender breaks the ring's protocol: another cell was due, or there is no room.
    #[must_use]
    pub fn put(&mut self, words: &[u64; WORDS]) -> bool {
        // PAIRS: ring.consumed. The receiver's reads of a cell happen before it is overwritten.
        let consumed = self.view.shared().consumed.load(Ordering::Acquire);
        let in_flight = self.written.wrapping_sub(consumed as u32);
        let (cell, lap) = cell_at(&self.view, self.written);
        if words[0] as u32 != lap || in_flight >= self.view.cell_count {
            return false;
        }
        cell.match_word.store(words[1], Ordering::Relaxed);
        for (slot, &word) in cell.words.iter().zip(&words[2..]) {
            slot.store(word, Ordering::Relaxed);
        }
        // PAIRS: ring.published.
        cell.head.store(words[0], Ordering::Release);
        self.written = self.written.wrapping_add(1);
        true
    }

    /// Cells written; wraps.
    #[cfg(test)]
    pub const fn written(&self) -> u32 {
        self.written
    }

    /// The receiver's line.
    pub fn feedback(&self) -> Feedback {
        let shared = self.view.shared();
        Feedback {
            // PAIRS: ring.consumed.
            consumed: shared.consumed.load(Ordering::Acquire),
            throttle: shared.throttle.load(Ordering::Relaxed),
            preferences: shared.preferences.load(Ordering::Relaxed),
        }
    }
}

#[cfg(not(loom))]
#[cfg(test)]
mod tests {
    use std::ptr::null;

    use super::*;

    /// Carries all that is published, as a transport would.
    fn carry(source: &mut MirrorSource, target: &mut MirrorTarget) -> u32 {
        let mut cells = 0;
        while let Some(arrival) = source.peek() {
            let words = source.words(0);
            if arrival.kind() == 1 {
                let bytes = words[3] as u32;
                let from = source
                    .payload(words[2], bytes)
                    .expect("payload of the ring");
                let to = target
                    .payload(words[2], bytes)
                    .expect("payload of the ring");
                // SAFETY: both lie in their rings, which are apart.
                unsafe { to.copy_from_nonoverlapping(from, bytes as usize) };
            }
            assert!(target.put(&words));
            source.advance(1);
            cells += 1;
        }
        source.feed(target.feedback());
        cells
    }

    #[test]
    fn cells_and_payload_arrive_at_the_same_positions_for_many_laps() {
        let (mut sender, mut source) = mirrored_sender(8, 8192).unwrap();
        let (mut target, mut receiver) = mirrored_receiver(8, 8192).unwrap();
        let (reverse, _) = mirrored_sender(8, 8192).unwrap();
        let mut reverse = reverse;
        let (mut sent, mut got) = (0u64, 0u64);
        while got < 5000 {
            for _ in 0..sent % 7 + 1 {
                let bytes = (sent * 131 % 2048) as u32 + 1;
                let Some((to, location)) = sender.reserve(bytes, null()) else {
                    break;
                };
                // SAFETY: reserved for this many bytes.
                unsafe { to.write_bytes(sent as u8, bytes as usize) };
                assert!(sender.put_words(1, 0, sent, &[location, bytes.into()]));
                sent += 1;
            }
            carry(&mut source, &mut target);
            while receiver.peek().is_some() {
                assert_eq!(receiver.match_word(), got);
                let (location, bytes) = (receiver.word(0), receiver.word(1) as u32);
                let at = receiver.payload(location, bytes, &reverse).unwrap();
                // SAFETY: checked by the ring.
                let data = unsafe { std::slice::from_raw_parts(at.as_ptr(), bytes as usize) };
                assert!(data.iter().all(|&byte| byte == got as u8));
                receiver.release_payload(location, bytes, &mut reverse);
                receiver.advance();
                got += 1;
            }
            carry(&mut source, &mut target);
        }
    }

    #[test]
    fn without_feedback_a_ring_fills_up_and_no_cell_is_written_twice() {
        let (mut sender, mut source) = mirrored_sender(8, 8192).unwrap();
        let (mut target, receiver) = mirrored_receiver(8, 8192).unwrap();
        let mut sent = 0;
        while sender.put_words(0, 0, 0, &[sent]) {
            sent += 1;
        }
        assert_eq!((sent, carry(&mut source, &mut target)), (8, 8));
        assert!(!sender.put_words(0, 0, 0, &[9]) && source.peek().is_none());
        // A sender that ignores its credits.
        let mut ninth = source.words(0);
        ninth[0] += 1;
        assert!(!target.put(&ninth));
        assert!(receiver.peek().is_some());
    }

    #[test]
    fn what_breaks_the_protocol_is_refused() {
        let (mut target, _receiver) = mirrored_receiver(8, 8192).unwrap();
        assert!(!target.put(&[2, 0, 0, 0, 0, 0, 0, 0]));
        assert!(target.payload(8000, 192).is_some() && target.payload(8000, 193).is_none());
        assert!(target.payload(1 << 32, 1).is_none() && target.payload(0, 8193).is_none());
        assert!(target.put(&[1, 0, 0, 0, 0, 0, 0, 0]));
    }
}
