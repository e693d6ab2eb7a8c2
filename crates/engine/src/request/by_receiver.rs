// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages of collectives whose receivers copy alone: one rank has something for many, which then copy at the same time.

use super::bulk::IN_BULK;
use super::opened::OPENED;
use super::slab::RequestEntry;

/// The record's `extra` of such an operation.
const BY_RECEIVER: u8 = 4;

impl RequestEntry {
    /// Says of a new operation that the receiver is to copy its data, where the protocol is left to the library.
    pub(crate) const fn set_copied_by_receiver(&mut self) {
        self.record.extra = BY_RECEIVER;
    }

    /// Whether the receiver is to copy the data of this operation.
    pub(crate) const fn is_copied_by_receiver(&self) -> bool {
        self.record.extra & !(IN_BULK | OPENED) == BY_RECEIVER
    }
}
