// SPDX-License-Identifier: MIT OR Apache-2.0
//! A ring as the log of its sender: the cells that the receiver may not have consumed yet.
//!
//! A cell keeps its contents until the sender writes the next lap, so the sender knows what is under way without a list of its own.
#![expect(unsafe_code, reason = "a ring is memory that two ranks share")]

use sys::sync::Ordering;

use super::{CellContents, RingSender};

impl RingSender {
    /// The cells that the receiver may not have consumed, the oldest first, each with the number of cells before it. The receiver is
    /// known to have consumed the first `known` cells.
    ///
    /// Not for rings whose cells a relay consumes.
    pub fn unconsumed(&self, known: u64) -> impl Iterator<Item = (u64, CellContents)> + '_ {
        let published = self.published();
        let back = self.back.as_deref();
        let first = back.map_or(published, |back| {
            let view = back.view;
            let count = u64::from(view.cell_count);
            // PAIRS: ring.consumed. What the receiver did with a consumed cell happened before.
            let consumed = view.shared().consumed.load(Ordering::Acquire) as u32;
            let in_flight = (published as u32).wrapping_sub(consumed);
            let returned = published.wrapping_sub(u64::from(in_flight).min(count));
            // A receiver that claims to have consumed cells that were never sent is not believed.
            let known = if known > published { 0 } else { known };
            returned.max(known)
        });
        (first..published).filter_map(move |number| Some((number, self.logged(number)?)))
    }

    /// The cells from number `first` on, consumed or not, the oldest first; `None` if some were overwritten, or so many were never published.
    ///
    /// Also for rings whose cells a relay consumes.
    pub fn published_since(&self, first: u64) -> Option<impl Iterator<Item = CellContents> + '_> {
        let published = self.published();
        let kept = u64::from(self.back.as_deref()?.view.cell_count);
        let is_kept = published.checked_sub(first)? <= kept;
        is_kept.then(|| (first..published).filter_map(|number| self.logged(number)))
    }

    /// The contents of a cell of the last lap.
    fn logged(&self, number: u64) -> Option<CellContents> {
        let view = self.back.as_deref()?.view;
        let slot = (number % u64::from(view.cell_count)) as usize;
        // SAFETY: below the number of cells; the mapping outlives the ring (RingView::at), and cells are atomics.
        let cell = unsafe { view.cells.add(slot).as_ref() };
        // Relaxed: the sole writer.
        let head = cell.head.load(Ordering::Relaxed);
        Some(CellContents {
            kind: (head >> 32) as u8,
            bytes: (head >> 40) as u8,
            aux: (head >> 48) as u16,
            match_word: cell.match_word.load(Ordering::Relaxed),
            words: std::array::from_fn(|index| cell.words[index].load(Ordering::Relaxed)),
        })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use crate::ring::private_ring;

    fn numbers(sender: &crate::ring::RingSender, known: u64) -> Vec<(u64, u64)> {
        let cells = sender.unconsumed(known);
        cells.map(|(at, cell)| (at, cell.match_word)).collect()
    }

    #[test]
    fn the_log_holds_what_may_be_unconsumed() {
        let (mut sender, mut receiver) = private_ring(8, 8192).unwrap();
        assert_eq!(numbers(&sender, 0), []);
        let mut sent = 0;
        for round in 0..40u64 {
            while sender.put_words(1, 0, sent, &[sent]) {
                sent += 1;
            }
            let log = numbers(&sender, 0);
            assert!(log.len() <= 8, "{log:?}");
            assert!(log.iter().all(|&(at, word)| at == word));
            assert_eq!(log.last().map(|last| last.0), Some(sent - 1));
            // Nothing that is not consumed is missing.
            assert!(log[0].0 <= receiver.consumed());
            for _ in 0..=round % 8 {
                if receiver.peek().is_some() {
                    receiver.advance();
                }
            }
            let known = receiver.consumed();
            let log = numbers(&sender, known);
            assert!(log.first().is_none_or(|first| first.0 >= known));
            assert_eq!(log.len() as u64, sent - known);
        }
    }

    #[test]
    fn published_cells_are_known_until_they_are_overwritten() {
        let (mut sender, mut receiver) = private_ring(8, 8192).unwrap();
        assert!(sender.published_since(0).is_some_and(|it| it.count() == 0));
        assert!(sender.published_since(1).is_none());
        for sent in 0..40u64 {
            assert!(sender.put_words(1, 0, sent, &[sent]));
            assert!(receiver.peek().is_some());
            receiver.advance();
            let published = sent + 1;
            for first in 0..=published {
                let words = |it: &crate::ring::RingSender| {
                    let cells = it.published_since(first)?;
                    Some(cells.map(|cell| cell.match_word).collect::<Vec<_>>())
                };
                let kept = (published - first <= 8).then(|| (first..published).collect());
                assert_eq!(words(&sender), kept, "{first} of {published}");
            }
        }
        assert!(sender.published_since(u64::MAX).is_none());
    }

    #[test]
    fn a_receiver_that_is_ahead_of_its_sender_is_not_believed() {
        let (mut sender, _receiver) = private_ring(8, 8192).unwrap();
        assert!(sender.put_words(1, 0, 5, &[5]));
        assert_eq!(numbers(&sender, 100), [(0, 5)]);
    }
}
