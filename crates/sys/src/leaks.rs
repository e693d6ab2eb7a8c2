// SPDX-License-Identifier: MIT OR Apache-2.0
//! Leak checkers: which mappings hold pointers to the heap.
//!
//! The leak checker of AddressSanitizer looks for pointers on stacks, in static variables and in the
//! heap, not in mappings. A program built with it brings functions that name further memory.

use std::ffi::CStr;
use std::ptr::NonNull;

/// A mapping that leak checkers search for pointers while this value exists.
#[derive(Debug)]
pub struct Root {
    base: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the address is only handed to the leak checker, which takes it from any thread.
unsafe impl Send for Root {}
// SAFETY: as for Send.
unsafe impl Sync for Root {}

impl Root {
    /// Names `bytes` bytes at `base`, of which leak checkers read the accessible ones. Without a leak
    /// checker in the program it does nothing.
    pub fn new(base: NonNull<u8>, bytes: usize) -> Self {
        tell(c"__lsan_register_root_region", base, bytes);
        Self { base, bytes }
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        tell(c"__lsan_unregister_root_region", self.base, self.bytes);
    }
}

fn tell(function: &CStr, base: NonNull<u8>, bytes: usize) {
    // SAFETY: the name ends with NUL by its type.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, function.as_ptr()) };
    if !address.is_null() {
        type Tell = unsafe extern "C" fn(*const libc::c_void, usize);
        // SAFETY: `sanitizer/lsan_interface.h` declares both functions so.
        let function: Tell = unsafe { std::mem::transmute(address) };
        // SAFETY: the checker reads the region later, and skips what is not mapped readable.
        unsafe { function(base.as_ptr().cast(), bytes) };
    }
}
