// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory whose size depends on an argument of the program: if the system has none, the call fails, not the process.
#![expect(unsafe_code, reason = "zeroed pages come from the allocator itself")]

use std::alloc::{self, Layout};

use crate::errors::{Error, ErrorClass, Result};

/// The error of memory that does not exist.
#[cold]
fn no_memory(bytes: usize) -> Error {
    let text = format!("there is no memory of {bytes} bytes for a copy of the data");
    Error::new(ErrorClass::ERR_NO_MEM, text)
}

/// Zeroed bytes.
///
/// # Errors
/// MPI_ERR_NO_MEM.
pub fn zeroed(bytes: usize) -> Result<Vec<u8>> {
    if bytes == 0 {
        return Ok(Vec::new());
    }
    let layout = Layout::array::<u8>(bytes).map_err(|_| no_memory(bytes))?;
    // SAFETY: the layout has a size above 0.
    let start = unsafe { alloc::alloc_zeroed(layout) };
    if start.is_null() {
        return Err(no_memory(bytes));
    }
    // SAFETY: the global allocator gave `bytes` initialised bytes with the layout of such a vector.
    Ok(unsafe { Vec::from_raw_parts(start, bytes, bytes) })
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
        }
        assert_eq!(list::<u64>(7).unwrap().capacity(), 7);
    }
}
