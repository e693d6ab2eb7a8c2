// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory whose size depends on an argument of the program: if the system has none, the call fails, not the process.
#![expect(unsafe_code, reason = "zeroed pages come from the allocator itself")]

use std::alloc::{self, Layout};

use sys::limits;

use crate::errors::{Error, ErrorClass, Result};

/// The error of memory that does not exist.
#[cold]
fn no_memory(bytes: usize) -> Error {
    let limits = limits::of_memory();
    let text = format!("there is no memory of {bytes} bytes for a copy of the data{limits}");
    Error::new(ErrorClass::ERR_NO_MEM, text)
}

/// Zeroed bytes.
///
/// # Errors
/// MPI_ERR_NO_MEM.
pub fn zeroed(bytes: usize) -> Result<Vec<u8>> {
    // SAFETY: zero is a byte.
    unsafe { zeroed_list(bytes) }
}

/// Zeroed words of the strictest alignment.
///
/// # Errors
/// MPI_ERR_NO_MEM.
pub(crate) fn zeroed_words(words: usize) -> Result<Vec<u128>> {
    // SAFETY: zero is a number.
    unsafe { zeroed_list(words) }
}

/// # Safety
/// Zeroed memory is a `T`, which has a size above 0.
unsafe fn zeroed_list<T>(entries: usize) -> Result<Vec<T>> {
    if entries == 0 {
        return Ok(Vec::new());
    }
    let bytes = entries.saturating_mul(size_of::<T>());
    let layout = Layout::array::<T>(entries).map_err(|_| no_memory(bytes))?;
    // SAFETY: the layout has a size above 0.
    let start = unsafe { alloc::alloc_zeroed(layout) };
    if start.is_null() {
        return Err(no_memory(bytes));
    }
    // SAFETY: the global allocator gave zeroed memory for `entries` entries with the layout of such a vector.
    Ok(unsafe { Vec::from_raw_parts(start.cast(), entries, entries) })
}

/// An empty list with room for so many entries.
///
/// # Errors
/// MPI_ERR_NO_MEM.
pub fn list<T>(entries: usize) -> Result<Vec<T>> {
    let mut list = Vec::new();
    let bytes = entries.saturating_mul(size_of::<T>());
    list.try_reserve_exact(entries)
        .map_err(|_| no_memory(bytes))?;
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_does_not_exist_is_an_error() {
        assert_eq!(zeroed(0).unwrap(), []);
        assert_eq!(zeroed(1000).unwrap(), vec![0; 1000]);
        for bytes in [usize::MAX, isize::MAX as usize, 1 << 60] {
            assert_eq!(zeroed(bytes).unwrap_err().class(), ErrorClass::ERR_NO_MEM);
            let list = list::<u64>(bytes).unwrap_err();
            assert_eq!(list.class(), ErrorClass::ERR_NO_MEM);
            let words = zeroed_words(bytes).unwrap_err();
            assert_eq!(words.class(), ErrorClass::ERR_NO_MEM);
        }
        assert_eq!(list::<u64>(7).unwrap().capacity(), 7);
    }
}
