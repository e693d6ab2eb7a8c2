// SPDX-License-Identifier: MIT OR Apache-2.0
//! Error classes and codes, those that the program adds among them, and their texts (MPI-5.0, sections 9.4 and 9.5).

use core::ffi::{CStr, c_char};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

use engine::errors::ERROR_CLASSES;
use engine::{Error, ErrorClass, Result};
use mpi_abi_sys::constants::MPI_MAX_ERROR_STRING;

use super::raise::{last_said, raise, run};
use crate::state::process;
use crate::sync::AtomicU64;
use crate::text::store_text;

/// User-defined classes, codes and their texts: (code, class, text).
static ADDED: Mutex<Vec<(i32, i32, String)>> = Mutex::new(Vec::new());
const FIRST_ADDED: i32 = 16385;

static LAST_USED_CODE: AtomicU64 = AtomicU64::new(FIRST_ADDED as u64 - 1);

fn with_added<R>(action: impl FnOnce(&mut Vec<(i32, i32, String)>) -> R) -> R {
    action(&mut ADDED.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The text of an error code that the program added.
pub(crate) fn text_of_added(code: i32) -> Option<String> {
    with_added(|added| {
        let found = added.iter().find(|row| row.0 == code);
        found.map(|row| row.2.clone())
    })
}

fn add(class: Option<i32>) -> i32 {
    let number = FIRST_ADDED + process().map_or(0, |process| process.next_number() as i32);
    with_added(|added| added.push((number, class.unwrap_or(number), String::new())));
    LAST_USED_CODE.fetch_max(number as u64, Ordering::Relaxed);
    number
}

/// The last code or class that the program added (MPI_LASTUSEDCODE).
pub(crate) fn last_used_code() -> i32 {
    LAST_USED_CODE.load(Ordering::Relaxed) as i32
}

fn class_of(code: i32) -> Option<i32> {
    if ERROR_CLASSES.iter().any(|row| row.0 == code) {
        return Some(code);
    }
    with_added(|added| added.iter().find(|row| row.0 == code).map(|row| row.1))
}

fn unknown_code(code: i32) -> Error {
    Error::argument(
        ErrorClass::ERR_ARG,
        "errorcode",
        code,
        "an error class or code of this library",
    )
}

pub(crate) unsafe fn MPI_Error_class(errorcode: i32, errorclass: *mut i32) -> i32 {
    match class_of(errorcode) {
        Some(class) => {
            // SAFETY: the result is writable (crate head).
            unsafe { *errorclass = class };
            0
        }
        None => raise("MPI_Error_class", 0, unknown_code(errorcode)),
    }
}

pub(crate) unsafe fn MPI_Error_string(
    errorcode: i32,
    string: *mut c_char,
    resultlen: *mut i32,
) -> i32 {
    let predefined =
        ERROR_CLASSES
            .iter()
            .find(|row| row.0 == errorcode)
            .map(|row| match last_said(errorcode) {
                Some(said) => format!("{}: {}; the last one here: {said}", row.1, row.2),
                None => format!("{}: {}", row.1, row.2),
            });
    match predefined.or_else(|| text_of_added(errorcode)) {
        Some(text) => {
            // SAFETY: the buffer holds MPI_MAX_ERROR_STRING bytes (crate head).
            unsafe { store_text(&text, string, resultlen, MPI_MAX_ERROR_STRING as usize) };
            0
        }
        None => raise("MPI_Error_string", 0, unknown_code(errorcode)),
    }
}

pub(crate) unsafe fn MPI_Add_error_class(errorclass: *mut i32) -> i32 {
    // SAFETY: the result is writable (crate head).
    unsafe { *errorclass = add(None) };
    0
}

pub(crate) unsafe fn MPI_Add_error_code(errorclass: i32, errorcode: *mut i32) -> i32 {
    run("MPI_Add_error_code", 0, || {
        let class = class_of(errorclass).ok_or_else(|| unknown_code(errorclass))?;
        // SAFETY: the result is writable (crate head).
        unsafe { *errorcode = add(Some(class)) };
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Add_error_string(errorcode: i32, string: *const c_char) -> i32 {
    run("MPI_Add_error_string", 0, || {
        // SAFETY: the text is NUL-terminated (crate head).
        let text = unsafe { CStr::from_ptr(string) }
            .to_string_lossy()
            .into_owned();
        with_added(|added| {
            added
                .iter_mut()
                .find(|row| row.0 == errorcode)
                .map(|row| row.2 = text)
        })
        .ok_or_else(|| unknown_code(errorcode))
    })
}

/// Forgets a class, or a code, that the program added and to which nothing belongs any more (MPI-5.0, section 9.5).
fn remove(argument: &'static str, number: i32, is_class: bool) -> Result<()> {
    let wrong = |value: String, expected: &str| {
        Err(Error::argument(
            ErrorClass::ERR_ARG,
            argument,
            value,
            expected,
        ))
    };
    with_added(|added| {
        let is_it = |row: &&(i32, i32, String)| row.0 == number && (row.0 == row.1) == is_class;
        let Some((_, _, text)) = added.iter().find(is_it) else {
            return wrong(number.to_string(), "one that the program added");
        };
        if !text.is_empty() {
            let expected = "one without a text: MPI_Remove_error_string takes it";
            return wrong(format!("{number}, '{text}'"), expected);
        }
        if let Some((code, ..)) = added.iter().find(|row| row.1 == number && row.0 != number) {
            let expected = "a class without codes: MPI_Remove_error_code takes them";
            return wrong(format!("{number}, of which there is code {code}"), expected);
        }
        added.retain(|row| row.0 != number);
        Ok(())
    })
}

pub(crate) fn MPI_Remove_error_class(errorclass: i32) -> i32 {
    run("MPI_Remove_error_class", 0, || {
        remove("errorclass", errorclass, true)
    })
}

pub(crate) fn MPI_Remove_error_code(errorcode: i32) -> i32 {
    run("MPI_Remove_error_code", 0, || {
        remove("errorcode", errorcode, false)
    })
}

pub(crate) fn MPI_Remove_error_string(errorcode: i32) -> i32 {
    run("MPI_Remove_error_string", 0, || {
        with_added(|added| {
            added
                .iter_mut()
                .find(|row| row.0 == errorcode)
                .map(|row| row.2.clear())
        })
        .ok_or_else(|| unknown_code(errorcode))
    })
}
