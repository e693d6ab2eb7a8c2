// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tool information interface (MPI-5.0, chapter 15), so far without variables, categories and events.
//!
//! Its calls return their error codes and call no error handler (section 15.3.10), and a tool makes them at any time: only
//! MPI_T_init_thread has to come first. Those that are not written yet, generated in `build.rs`, all name something that does not
//! exist, and return the code for that ([`absent`]).

use std::sync::atomic::Ordering;

use mpi_abi_sys::constants::{
    MPI_SUCCESS, MPI_T_ERR_INVALID, MPI_T_ERR_INVALID_HANDLE, MPI_T_ERR_INVALID_SESSION,
    MPI_T_ERR_NOT_INITIALIZED, MPI_T_PVAR_ALL_HANDLES, MPI_T_PVAR_SESSION_NULL,
    MPI_THREAD_MULTIPLE,
};
use mpi_abi_sys::types::{MPI_T_pvar_handle, MPI_T_pvar_session};

use crate::sync::AtomicU32;

/// Calls of MPI_T_init_thread without their MPI_T_finalize.
static STARTS: AtomicU32 = AtomicU32::new(0);

/// The handle of every session: there is nothing that a session could keep.
const SESSION: MPI_T_pvar_session = 1;

/// Runs a body between MPI_T_init_thread and MPI_T_finalize; it gives the code.
fn run(body: impl FnOnce() -> i32) -> i32 {
    match STARTS.load(Ordering::Relaxed) {
        0 => MPI_T_ERR_NOT_INITIALIZED,
        _ => body(),
    }
}

/// A call that is not written yet; `code` says that there is nothing of what it names.
pub(crate) fn absent(code: i32) -> i32 {
    run(|| code)
}

/// Stores a result.
///
/// # Safety
/// The result is writable, or null.
unsafe fn give<T>(result: *mut T, value: T) -> i32 {
    if result.is_null() {
        return MPI_T_ERR_INVALID;
    }
    // SAFETY: the caller's promise; not null.
    unsafe { *result = value };
    MPI_SUCCESS
}

pub(crate) unsafe fn MPI_T_init_thread(required: i32, provided: *mut i32) -> i32 {
    // The calls share nothing but the counter, so any threads may make them.
    let _ = required;
    // SAFETY: the result is writable (crate head).
    let code = unsafe { give(provided, MPI_THREAD_MULTIPLE) };
    if code == MPI_SUCCESS {
        STARTS.fetch_add(1, Ordering::Relaxed);
    }
    code
}

pub(crate) fn MPI_T_finalize() -> i32 {
    let one_less = |starts: u32| starts.checked_sub(1);
    match STARTS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less) {
        Ok(_) => MPI_SUCCESS,
        Err(_) => MPI_T_ERR_NOT_INITIALIZED,
    }
}

/// Calls that ask how many there are.
macro_rules! numbers {
    ($($name:ident)*;) => {
        $(
            pub(crate) unsafe fn $name(number: *mut i32) -> i32 {
                // SAFETY: the result is writable (crate head).
                run(|| unsafe { give(number, 0) })
            }
        )*
    };
}

numbers! {
    MPI_T_cvar_get_num MPI_T_pvar_get_num MPI_T_category_get_num MPI_T_category_changed MPI_T_event_get_num MPI_T_source_get_num;
}

pub(crate) unsafe fn MPI_T_pvar_session_create(session: *mut MPI_T_pvar_session) -> i32 {
    // SAFETY: the result is writable (crate head).
    run(|| unsafe { give(session, SESSION) })
}

pub(crate) unsafe fn MPI_T_pvar_session_free(session: *mut MPI_T_pvar_session) -> i32 {
    run(|| {
        // SAFETY: the handle is readable and writable unless it is null (crate head).
        match unsafe { session.as_mut() } {
            Some(session) if *session == SESSION => {
                *session = MPI_T_PVAR_SESSION_NULL;
                MPI_SUCCESS
            }
            _ => MPI_T_ERR_INVALID_SESSION,
        }
    })
}

/// Calls on a variable of a session, or on all of them, of which there are none.
fn on_all(session: MPI_T_pvar_session, handle: MPI_T_pvar_handle) -> i32 {
    run(|| match (session, handle) {
        (SESSION, MPI_T_PVAR_ALL_HANDLES) => MPI_SUCCESS,
        (SESSION, _) => MPI_T_ERR_INVALID_HANDLE,
        _ => MPI_T_ERR_INVALID_SESSION,
    })
}

pub(crate) fn MPI_T_pvar_start(session: MPI_T_pvar_session, handle: MPI_T_pvar_handle) -> i32 {
    on_all(session, handle)
}

pub(crate) fn MPI_T_pvar_stop(session: MPI_T_pvar_session, handle: MPI_T_pvar_handle) -> i32 {
    on_all(session, handle)
}

pub(crate) fn MPI_T_pvar_reset(session: MPI_T_pvar_session, handle: MPI_T_pvar_handle) -> i32 {
    on_all(session, handle)
}
