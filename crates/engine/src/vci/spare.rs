// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory for messages that arrive before their receives, kept for the next ones.
//!
//! An allocator gives memory of this size back to the system and takes it anew each time, and fresh pages cost more than what is
//! copied into them.

use crate::allocate;
use crate::errors::Result;

/// Shorter memory comes from the allocator as fast.
const SHORTEST: usize = 4 << 10;
/// Bytes that are kept at most.
const MOST: usize = 4 << 20;
/// Kept buffers that are searched for one that fits.
const SEARCHED: usize = 8;

/// Unused memory; the buffer used last is at the end.
#[derive(Default)]
pub(crate) struct Spare {
    buffers: Vec<Vec<u8>>,
    bytes: usize,
}

impl Spare {
    /// Empty memory with room for `bytes` bytes.
    ///
    /// # Errors
    /// MPI_ERR_NO_MEM.
    pub(crate) fn take(&mut self, bytes: usize) -> Result<Vec<u8>> {
        let fits =
            |buffer: &Vec<u8>| (bytes..=bytes.saturating_mul(4)).contains(&buffer.capacity());
        let found = self.buffers.iter().rev().take(SEARCHED).position(fits);
        let Some(back) = found.filter(|_| bytes >= SHORTEST) else {
            return allocate::list(bytes);
        };
        let buffer = self.buffers.remove(self.buffers.len() - 1 - back);
        self.bytes -= buffer.capacity();
        Ok(buffer)
    }

    /// Keeps memory for later, unless that would be too much.
    pub(crate) fn keep(&mut self, mut buffer: Vec<u8>) {
        let room = buffer.capacity();
        if room >= SHORTEST && self.bytes + room <= MOST {
            buffer.clear();
            self.bytes += room;
            self.buffers.push(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST, SHORTEST, Spare};
    use crate::errors::ErrorClass;

    #[test]
    fn memory_that_does_not_exist_is_an_error() {
        let mut spare = Spare::default();
        for bytes in [isize::MAX as usize, usize::MAX, 1 << 60] {
            let error = spare.take(bytes).unwrap_err();
            assert_eq!(error.class(), ErrorClass::ERR_NO_MEM);
        }
        assert_eq!(spare.take(SHORTEST).unwrap().len(), 0);
    }

    #[test]
    fn memory_comes_again_where_it_fits_and_is_never_too_much() {
        let mut spare = Spare::default();
        let mut first = spare.take(SHORTEST).unwrap();
        first.push(7);
        let address = first.as_ptr();
        spare.keep(first);
        let [longer, shorter] =
            [SHORTEST + 1, SHORTEST / 4 - 1].map(|bytes| spare.take(bytes).unwrap());
        assert!(longer.as_ptr() != address && shorter.as_ptr() != address);
        let again = spare.take(SHORTEST / 2 * 2).unwrap();
        assert_eq!((again.as_ptr(), again.len()), (address, 0));
        spare.keep(again);
        for _ in 0..3 {
            spare.keep(Vec::with_capacity(MOST / 2));
        }
        spare.keep(Vec::with_capacity(SHORTEST - 1));
        assert_eq!(spare.buffers.len(), 2);
        assert!(spare.bytes <= MOST);
    }
}
