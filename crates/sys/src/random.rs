// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random numbers of the kernel.

use std::io;

/// Eight random bytes.
pub fn random_word() -> io::Result<u64> {
    let mut bytes = [0u8; 8];
    // SAFETY: `bytes` is writable for its length; so few bytes come whole or not at all.
    let count = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    if count < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(u64::from_ne_bytes(bytes))
}
