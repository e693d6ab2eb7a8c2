// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sends whose data the network takes out of the memory of the program: it tells when each part of them has left.

use super::slab::RequestEntry;

impl RequestEntry {
    /// Notes that the data of this send leave in so many parts.
    pub(crate) const fn leaves_in(&mut self, parts: usize) {
        self.inline[0] = parts as u64;
    }

    /// Notes that a part has left; whether it was the last.
    pub(crate) const fn part_left(&mut self) -> bool {
        self.inline[0] = self.inline[0].saturating_sub(1);
        self.inline[0] == 0
    }
}
