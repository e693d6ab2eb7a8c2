// SPDX-License-Identifier: MIT OR Apache-2.0
//! Texts whose room the program names: C counts a NUL in it, Fortran does not.

use mpi_abi_sys::constants as mpi;

use crate::library::types;
use crate::{handle, logical, text};

/// The longest text of these calls: no value of an info object and no name of a process set is longer.
const MOST: i32 = if mpi::MPI_MAX_INFO_VAL > mpi::MPI_MAX_PSET_NAME_LEN {
    mpi::MPI_MAX_INFO_VAL
} else {
    mpi::MPI_MAX_PSET_NAME_LEN
};

/// Room for so many characters and a NUL, whatever the length of the program's variable is: some libraries refuse a text that is longer
/// than the room.
fn room(characters: i32) -> Vec<u8> {
    vec![0; handle::count(characters.min(MOST).into()) + 1]
}

pub(crate) unsafe fn info_get(
    call: types::MPI_Info_get,
    info: *mut i32,
    key: *mut u8,
    valuelen: *mut i32,
    value: *mut u8,
    flag: *mut i32,
    key_length: usize,
    value_length: usize,
) -> i32 {
    // SAFETY: the arguments are those of the Fortran procedure.
    unsafe {
        let info = handle::find::<handle::Info>(*info);
        let key = text::trimmed(key, key_length);
        let mut bytes = room(*valuelen);
        let most = i32::try_from(bytes.len() - 1)
            .unwrap_or(i32::MAX)
            .min(*valuelen);
        let mut found = 0;
        let code = call(
            info,
            key.as_ptr(),
            most,
            bytes.as_mut_ptr().cast(),
            &mut found,
        );
        *flag = logical::taken(found);
        if code == mpi::MPI_SUCCESS && found != 0 {
            text::store(&bytes, value, value_length);
        }
        code
    }
}

/// Calls a function that takes a length with the NUL and returns the length it needs, and stores its text.
///
/// # Safety
/// `stated` is writable, and so are `length` characters of `value`.
unsafe fn with_length(
    stated: *mut i32,
    value: *mut u8,
    length: usize,
    call: impl FnOnce(&mut i32, *mut core::ffi::c_char) -> (i32, bool),
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        let asks_only = *stated == 0;
        let mut bytes = room(*stated);
        let mut size = match *stated {
            0 => 0,
            stated if stated < 0 => stated,
            _ => i32::try_from(bytes.len()).unwrap_or(i32::MAX),
        };
        let (code, is_found) = call(&mut size, bytes.as_mut_ptr().cast());
        if code == mpi::MPI_SUCCESS && is_found {
            *stated = size - 1;
            if !asks_only {
                text::store(&bytes, value, length);
            }
        }
        code
    }
}

pub(crate) unsafe fn info_get_string(
    call: types::MPI_Info_get_string,
    info: *mut i32,
    key: *mut u8,
    buflen: *mut i32,
    value: *mut u8,
    flag: *mut i32,
    key_length: usize,
    value_length: usize,
) -> i32 {
    // SAFETY: the arguments are those of the Fortran procedure.
    unsafe {
        let info = handle::find::<handle::Info>(*info);
        let key = text::trimmed(key, key_length);
        with_length(buflen, value, value_length, |size, room| {
            let mut found = 0;
            let code = call(info, key.as_ptr(), size, room, &mut found);
            *flag = logical::taken(found);
            (code, found != 0)
        })
    }
}

pub(crate) unsafe fn session_get_nth_pset(
    call: types::MPI_Session_get_nth_pset,
    session: *mut i32,
    info: *mut i32,
    n: *mut i32,
    pset_len: *mut i32,
    pset_name: *mut u8,
    name_length: usize,
) -> i32 {
    // SAFETY: the arguments are those of the Fortran procedure.
    unsafe {
        let session = handle::find::<handle::Session>(*session);
        let info = handle::find::<handle::Info>(*info);
        with_length(pset_len, pset_name, name_length, |size, room| {
            (call(session, info, *n, size, room), true)
        })
    }
}
