// SPDX-License-Identifier: MIT OR Apache-2.0
//! Receives of collectives whose memory is open to their sender on another node, from their post to their end.

use super::bulk::IN_BULK;
use super::slab::RequestEntry;

/// In the record's `extra` of such a receive. Its first inline word has the number of the memory and one more.
pub(super) const OPENED: u8 = 0x40;
const _: () = assert!(OPENED & IN_BULK == 0);

impl RequestEntry {
    /// Notes the number under which the memory of this receive is open. The receive then ends on the slow path, which closes it.
    pub(crate) const fn set_opened(&mut self, number: u32) {
        self.inline[0] = number as u64 + 1;
        if self.part().is_none() {
            self.record.extra |= OPENED;
        }
    }

    /// Whether the first inline word says which memory is open, if any.
    const fn may_be_open(&self) -> bool {
        self.record.extra & OPENED != 0 || self.part().is_some()
    }

    /// The number of the open memory, which the caller closes. The first inline word of other receives means something else.
    pub(crate) const fn take_opened(&mut self) -> Option<u32> {
        if !self.may_be_open() {
            return None;
        }
        if self.part().is_none() {
            self.record.extra &= !OPENED;
        }
        match std::mem::replace(&mut self.inline[0], 0) {
            0 => None,
            number => Some(number as u32 - 1),
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(unsafe_code, reason = "an entry without a slab")]

    use super::*;

    #[test]
    fn the_first_inline_word_is_a_number_only_where_memory_was_opened() {
        // SAFETY: all-zero is a valid value of an entry.
        let mut entry: RequestEntry = unsafe { std::mem::zeroed() };
        entry.inline[0] = 7;
        assert_eq!((entry.take_opened(), entry.inline[0]), (None, 7));
        entry.set_opened(3);
        assert_eq!(entry.take_opened(), Some(3));
        assert_eq!(entry.take_opened(), None);
    }
}
