// SPDX-License-Identifier: MIT OR Apache-2.0
//! CHARACTER arguments: blanks at the end are no part of the text, and there is no NUL.

use core::ffi::c_char;

use mpi_abi_sys::constants::MPI_SUCCESS;

/// The characters of an argument. Compilers pass its length as an `int` or as a `size_t`, so only the low half counts.
///
/// # Safety
/// `text` is readable for `length` characters.
unsafe fn characters<'a>(text: *const u8, length: usize) -> &'a [u8] {
    if text.is_null() {
        // A deferred length, not allocated.
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { core::slice::from_raw_parts(text, length as u32 as usize) }
}

/// A text for C.
pub(crate) struct Text(Vec<u8>);

impl Text {
    fn new(text: &[u8]) -> Self {
        let mut bytes = Vec::with_capacity(text.len() + 1);
        bytes.extend_from_slice(text);
        bytes.push(0);
        Self(bytes)
    }

    pub(crate) fn as_ptr(&self) -> *const c_char {
        self.0.as_ptr().cast()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.len() == 1
    }
}

/// A text without the blanks at its end.
///
/// # Safety
/// `text` is readable for `length` characters.
pub(crate) unsafe fn given(text: *const u8, length: usize) -> Text {
    // SAFETY: the caller's promise.
    Text::new(without_end(unsafe { characters(text, length) }))
}

fn without_end(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|&byte| byte != b' ');
    &text[..end.map_or(0, |last| last + 1)]
}

/// A text without the blanks at both ends, as keys and values of info objects are.
///
/// # Safety
/// `text` is readable for `length` characters.
pub(crate) unsafe fn trimmed(text: *const u8, length: usize) -> Text {
    // SAFETY: the caller's promise.
    let text = without_end(unsafe { characters(text, length) });
    let start = text.iter().position(|&byte| byte != b' ');
    Text::new(&text[start.unwrap_or(0)..])
}

/// Copies a text of C into a CHARACTER argument: cut at its length, or filled up with blanks.
///
/// # Safety
/// `text` is writable for `length` characters.
pub(crate) unsafe fn store(from: &[u8], text: *mut u8, length: usize) {
    if text.is_null() {
        return;
    }
    // SAFETY: the caller's promise.
    let room = unsafe { core::slice::from_raw_parts_mut(text, length as u32 as usize) };
    let end = from.iter().position(|&byte| byte == 0);
    let from = &from[..end.unwrap_or(from.len()).min(room.len())];
    let (start, rest) = room.split_at_mut(from.len());
    start.copy_from_slice(from);
    rest.fill(b' ');
}

/// Room for a text that a C function stores.
pub(crate) struct Room<const N: usize>([u8; N]);

impl<const N: usize> Room<N> {
    pub(crate) fn new() -> Self {
        Self([0; N])
    }

    pub(crate) fn as_mut_ptr(&mut self) -> *mut c_char {
        self.0.as_mut_ptr().cast()
    }

    /// Stores the text in the argument, if the call succeeded.
    ///
    /// # Safety
    /// `text` is writable for `length` characters.
    pub(crate) unsafe fn give(&self, code: i32, text: *mut u8, length: usize) {
        if code == MPI_SUCCESS {
            // SAFETY: the caller's promise.
            unsafe { store(&self.0, text, length) };
        }
    }
}

/// Cuts the length that a call stored at the argument's.
///
/// # Safety
/// `stored` is writable.
pub(crate) unsafe fn at_most(code: i32, stored: *mut i32, length: usize) {
    if code == MPI_SUCCESS {
        let length = i32::try_from(length as u32).unwrap_or(i32::MAX);
        // SAFETY: the caller's promise.
        unsafe { *stored = (*stored).min(length) };
    }
}
