// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls on error handlers (MPI-5.0, section 9.3), and the handlers of objects.
//!
//! The handles that a program has are counted. References of communicators, windows, sessions and requests are searched for only when no
//! handle is left; handlers without references are then removed.

use std::collections::HashSet;
use std::sync::Once;
use std::sync::atomic::Ordering;

use engine::{Error, ErrorClass, Result};
use mpi_abi_sys::constants::{
    MPI_COMM_NULL, MPI_COMM_SELF, MPI_ERRHANDLER_NULL, MPI_ERRORS_ABORT, MPI_ERRORS_ARE_FATAL,
    MPI_ERRORS_RETURN,
};
use mpi_abi_sys::types::{Callback, MPI_Comm, MPI_Errhandler, MPI_Win};

use super::codes::text_of_added;
use super::file;
use super::raise::{
    self, Null, handler_of, handlers_of_none, inactive_on, invoke, raise, raise_to, run,
    run_any_time, set_handler_of_none,
};
use super::window::run_window;
use crate::handle::{COMMS, FILES, FIRST_DYNAMIC, HANDLERS, SESSIONS, WINS};
use crate::objects::{Action, ErrorHandler, HandlerOf};
use crate::state::{is_active, process};

/// Gives the predefined handlers their objects; a session needs them before the engine starts.
pub(crate) fn define_predefined() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        HANDLERS.define(
            MPI_ERRORS_ARE_FATAL,
            ErrorHandler::new(Action::Fatal, HandlerOf::Anything),
        );
        HANDLERS.define(
            MPI_ERRORS_ABORT,
            ErrorHandler::new(Action::Fatal, HandlerOf::Anything),
        );
        HANDLERS.define(
            MPI_ERRORS_RETURN,
            ErrorHandler::new(Action::Return, HandlerOf::Anything),
        );
    });
}

/// The handler of a handle that the program has not freed.
fn find(errhandler: MPI_Errhandler) -> Result<&'static ErrorHandler> {
    let found = HANDLERS.find(errhandler, "errhandler")?;
    if found.is_freed() {
        return Err(HANDLERS.bad(errhandler, "errhandler"));
    }
    Ok(found)
}

/// Checks an argument that is to become the handler of an object of a kind.
pub(crate) fn check(errhandler: MPI_Errhandler, kind: HandlerOf) -> Result<()> {
    match find(errhandler)?.of().refuse(kind) {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

/// Runs the body of a call that is given the handler of the object it makes; an error goes to that handler, or to the one of calls that
/// belong to no object if it is none (MPI-5.0, section 7.4.2).
pub(crate) fn run_with_handler(
    call: &'static str,
    errhandler: MPI_Errhandler,
    body: impl FnOnce() -> Result<()>,
) -> i32 {
    if !is_active() {
        let given = check(errhandler, HandlerOf::Communicators)
            .is_ok()
            .then_some((errhandler, MPI_COMM_NULL));
        return inactive_on(call, || given);
    }
    match check(errhandler, HandlerOf::Communicators).and_then(|()| body()) {
        Ok(()) => 0,
        Err(error) if check(errhandler, HandlerOf::Communicators).is_ok() => {
            raise_to(call, errhandler, MPI_COMM_NULL, error)
        }
        Err(error) => raise(call, 0, error),
    }
}

/// Refuses a null pointer through the handler that such a call is given.
#[cold]
#[inline(never)]
pub(crate) fn refuse_null(null: &'static Null, errhandler: MPI_Errhandler) -> i32 {
    define_predefined();
    if find(errhandler).is_ok() {
        raise_to(null.call, errhandler, MPI_COMM_NULL, null.error())
    } else {
        raise::refuse_null(null, 0)
    }
}

/// A handle for the handler that an object has, which the program frees (MPI-5.0, section 9.3.4).
pub(crate) fn lend(handler: u64) -> MPI_Errhandler {
    if let Some(found) = HANDLERS.get(handler as usize) {
        found.hand_out();
    }
    handler as usize
}

/// Removes the handlers to which neither the program nor an object refers.
#[cold]
fn sweep() {
    let mut freed = Vec::new();
    HANDLERS.each(|handle, handler| {
        if handler.is_freed() {
            freed.push(handle);
        }
    });
    // Collected after the freed ones: an object that gets a handler meanwhile gets it from the program, so it was not freed.
    let mut used: HashSet<u64> = handlers_of_none()
        .chain([file::default_handler()])
        .collect();
    SESSIONS.each(|_, session| {
        used.insert(session.handler());
    });
    WINS.each(|_, window| {
        used.insert(window.error_handler.load(Ordering::Relaxed));
    });
    FILES.each(|_, file| {
        used.insert(file.error_handler.load(Ordering::Relaxed));
    });
    if let Some(process) = process() {
        used.extend(process.error_handlers());
    }
    for handle in freed {
        let is_free = HANDLERS.get(handle).is_some_and(ErrorHandler::is_freed);
        if is_free && !used.contains(&(handle as u64)) {
            // The handler exists, because no other function removes handlers.
            drop(HANDLERS.remove(handle, "errhandler"));
        }
    }
}

fn create(
    call: &'static str,
    kind: HandlerOf,
    function: Callback,
    errhandler: *mut MPI_Errhandler,
) -> i32 {
    run_any_time(call, || {
        if !HANDLERS.has_room() {
            sweep();
        }
        let handle = HANDLERS.insert(ErrorHandler::new(Action::User(function), kind))?;
        // SAFETY: the result is writable (crate head).
        unsafe { *errhandler = handle };
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Comm_create_errhandler(
    function: Callback,
    errhandler: *mut MPI_Errhandler,
) -> i32 {
    create(
        "MPI_Comm_create_errhandler",
        HandlerOf::Communicators,
        function,
        errhandler,
    )
}

pub(crate) unsafe fn MPI_Errhandler_create(
    function: Callback,
    errhandler: *mut MPI_Errhandler,
) -> i32 {
    create(
        "MPI_Errhandler_create",
        HandlerOf::Communicators,
        function,
        errhandler,
    )
}

pub(crate) unsafe fn MPI_Win_create_errhandler(
    function: Callback,
    errhandler: *mut MPI_Errhandler,
) -> i32 {
    create(
        "MPI_Win_create_errhandler",
        HandlerOf::Windows,
        function,
        errhandler,
    )
}

pub(crate) unsafe fn MPI_File_create_errhandler(
    function: Callback,
    errhandler: *mut MPI_Errhandler,
) -> i32 {
    create(
        "MPI_File_create_errhandler",
        HandlerOf::Files,
        function,
        errhandler,
    )
}

pub(crate) unsafe fn MPI_Session_create_errhandler(
    function: Callback,
    errhandler: *mut MPI_Errhandler,
) -> i32 {
    create(
        "MPI_Session_create_errhandler",
        HandlerOf::Sessions,
        function,
        errhandler,
    )
}

pub(crate) fn MPI_Comm_set_errhandler(comm: MPI_Comm, errhandler: MPI_Errhandler) -> i32 {
    set_of_comm("MPI_Comm_set_errhandler", comm, errhandler)
}

pub(crate) fn MPI_Errhandler_set(comm: MPI_Comm, errhandler: MPI_Errhandler) -> i32 {
    set_of_comm("MPI_Errhandler_set", comm, errhandler)
}

fn set_of_comm(call: &'static str, comm: MPI_Comm, errhandler: MPI_Errhandler) -> i32 {
    run(call, comm, || {
        let found = COMMS.find(comm, "comm")?;
        check(errhandler, HandlerOf::Communicators)?;
        let handler = errhandler as u64;
        found.error_handler.store(handler, Ordering::Relaxed);
        if comm == MPI_COMM_SELF {
            set_handler_of_none(handler);
        }
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Comm_get_errhandler(
    comm: MPI_Comm,
    errhandler: *mut MPI_Errhandler,
) -> i32 {
    get_of_comm("MPI_Comm_get_errhandler", comm, errhandler)
}

pub(crate) unsafe fn MPI_Errhandler_get(comm: MPI_Comm, errhandler: *mut MPI_Errhandler) -> i32 {
    get_of_comm("MPI_Errhandler_get", comm, errhandler)
}

fn get_of_comm(call: &'static str, comm: MPI_Comm, errhandler: *mut MPI_Errhandler) -> i32 {
    run(call, comm, || {
        let handle = lend(handler_of(COMMS.find(comm, "comm")?));
        // SAFETY: the result is writable (crate head).
        unsafe { *errhandler = handle };
        Ok(())
    })
}

pub(crate) fn MPI_Comm_call_errhandler(comm: MPI_Comm, errorcode: i32) -> i32 {
    run("MPI_Comm_call_errhandler", comm, || {
        let handle = handler_of(COMMS.find(comm, "comm")?) as usize;
        let error = raised_by_program(errorcode).in_call("MPI_Comm_call_errhandler");
        invoke(handle, comm, &error);
        Ok(())
    })
}

/// The error of a program that calls an error handler.
pub(super) fn raised_by_program(errorcode: i32) -> Error {
    let text = match text_of_added(errorcode) {
        Some(text) if !text.is_empty() => format!("the program raised this error: {text}"),
        _ => "the program raised this error".to_owned(),
    };
    Error::new(ErrorClass(errorcode), text)
}

pub(crate) fn MPI_Win_set_errhandler(win: MPI_Win, errhandler: MPI_Errhandler) -> i32 {
    run_window("MPI_Win_set_errhandler", win, |window| {
        check(errhandler, HandlerOf::Windows)?;
        let handler = errhandler as u64;
        window.error_handler.store(handler, Ordering::Relaxed);
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Win_get_errhandler(win: MPI_Win, errhandler: *mut MPI_Errhandler) -> i32 {
    run_window("MPI_Win_get_errhandler", win, |window| {
        let handle = lend(window.error_handler.load(Ordering::Relaxed));
        // SAFETY: the result is writable (crate head).
        unsafe { *errhandler = handle };
        Ok(())
    })
}

pub(crate) fn MPI_Win_call_errhandler(win: MPI_Win, errorcode: i32) -> i32 {
    run_window("MPI_Win_call_errhandler", win, |window| {
        let handle = window.error_handler.load(Ordering::Relaxed) as usize;
        let error = raised_by_program(errorcode).in_call("MPI_Win_call_errhandler");
        invoke(handle, win, &error);
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Errhandler_free(errhandler: *mut MPI_Errhandler) -> i32 {
    run_any_time("MPI_Errhandler_free", || {
        // SAFETY: the handle is readable and writable (crate head).
        let handle = unsafe { &mut *errhandler };
        let found = find(*handle)?;
        if *handle >= FIRST_DYNAMIC as usize {
            found.take_back();
        }
        *handle = MPI_ERRHANDLER_NULL;
        Ok(())
    })
}
