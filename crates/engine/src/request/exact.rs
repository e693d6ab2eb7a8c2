// SPDX-License-Identifier: MIT OR Apache-2.0
//! Receives whose messages must fill their buffers, as the program has promised for all of a communicator
//! (`mpi_assert_exact_length`), where that is checked.

// account: request

use super::bulk::IN_BULK;
use super::slab::{RequestEntry, Role};

/// The record's `extra` of such a receive.
const EXACT: u8 = 3;

impl RequestEntry {
    /// Says of a new receive that its message must fill its buffer. It then ends on the slow path, which compares both.
    pub(crate) fn set_exact(&mut self) {
        self.record.extra = EXACT;
        self.extra.get_or_insert_default().template.2 = self.record.bytes;
    }

    /// The bytes that the message of this receive must have, if that is promised.
    pub(crate) fn exact_bytes(&self) -> Option<u64> {
        let is_exact = self.record.extra & !IN_BULK == EXACT && self.role() == Role::Receive;
        let extra = self.extra.as_ref().filter(|_| is_exact)?;
        Some(extra.template.2)
    }
}
