// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sends whose data the network takes out of the memory of the program: it tells when each part of them has left.

use super::slab::RequestEntry;

/// The inline word that counts parts. The first one may name open memory ([`RequestEntry::take_opened`]).
const PARTS: usize = 1;

impl RequestEntry {
    /// Notes that the data of this send leave in so many parts.
    pub(crate) const fn leaves_in(&mut self, parts: usize) {
        self.inline[PARTS] = parts as u64;
    }

    /// Notes that a part has left; whether it was the last.
    pub(crate) const fn part_left(&mut self) -> bool {
        self.inline[PARTS] = self.inline[PARTS].saturating_sub(1);
        self.inline[PARTS] == 0
    }
}
