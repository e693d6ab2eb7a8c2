// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages that complete in bulk: they have no request, and their communicator counts them.

// account: request

use super::slab::{RequestEntry, flag};

/// Added to the record's `extra` of such a message.
pub(super) const IN_BULK: u8 = 0x80;

impl RequestEntry {
    /// Lets a message complete in bulk: it is freed when it is complete, and its communicator counts it.
    #[inline(always)]
    pub(crate) const fn set_in_bulk(&mut self) {
        self.record.flags |= flag::FREED;
        self.record.extra |= IN_BULK;
    }

    /// Whether it completes in bulk.
    pub(crate) const fn is_in_bulk(&self) -> bool {
        self.record.extra & IN_BULK != 0
    }
}
