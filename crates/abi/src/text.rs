// SPDX-License-Identifier: MIT OR Apache-2.0
//! Texts that calls store in memory of the program.

use core::ffi::c_char;

use engine::{Error, ErrorClass, Result};

/// Copies a text into a C buffer of `room` bytes and stores its length.
///
/// # Safety
/// `buffer` is writable for `room` bytes, `length` is null or writable.
pub(crate) unsafe fn store_text(text: &str, buffer: *mut c_char, length: *mut i32, room: usize) {
    let bytes = text.len().min(room.saturating_sub(1));
    // SAFETY: `bytes` and the NUL fit into `room`; the caller's promise.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr().cast(), buffer, bytes);
        *buffer.add(bytes) = 0;
        if !length.is_null() {
            *length = bytes as i32;
        }
    }
}

/// Refuses a null pointer where a call is to store a text; only a call that asks for the length alone may give one.
pub(crate) fn room_for_text(argument: &'static str, text: *const c_char, room: i32) -> Result<()> {
    if text.is_null() && room > 0 {
        let expected = format!("the address of {room} bytes for a text");
        return Err(Error::argument(
            ErrorClass::ERR_ARG,
            argument,
            "null",
            expected,
        ));
    }
    Ok(())
}
