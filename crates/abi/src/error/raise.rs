// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hands the engine's errors to the program's error handlers (MPI-5.0, chapter 9).

// account: function-call

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::Write as _;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

use engine::comm::Comm;
use engine::settings::Settings;
use engine::{Error, ErrorClass, Result};
use mpi_abi_sys::constants::{
    MPI_COMM_NULL, MPI_COMM_SELF, MPI_COMM_WORLD, MPI_ERRORS_ABORT, MPI_ERRORS_ARE_FATAL,
    MPI_ERRORS_RETURN,
};
use mpi_abi_sys::types::MPI_Comm;

use super::file::handler_of_file;
use super::handlers::define_predefined;
use crate::handle::{COMMS, FILES, HANDLERS};
use crate::objects::{Action, ErrorHandler};
use crate::state::{end_after_error, is_active, parent, process, was_finalized, was_world_ended};
use crate::sync::{AtomicU8, AtomicU64};

/// MPI_COMM_SELF's handler, which gets errors of calls that belong to no object; 0 before MPI_Init, and where only sessions are used:
/// there it is [`initial_handler`].
static SELF_HANDLER: AtomicU64 = AtomicU64::new(0);

/// Whether errors of calls that belong to no object go to MPI_COMM_WORLD's handler, as in MPI-3.1: 0 from
/// the program's first MPI_Comm_set_errhandler of MPI_COMM_SELF on, and always with `RANKPOINT_ERRORS=strict`.
static FOLLOWS_WORLD: AtomicU8 = AtomicU8::new(0);

/// Has errors of calls that belong to no object follow MPI_COMM_WORLD's handler, once that communicator exists.
pub(crate) fn follow_world() {
    FOLLOWS_WORLD.store(1, Ordering::Relaxed);
}

/// The handler of calls that belong to no object, and the communicator passed to it.
fn handler_of_none() -> (usize, MPI_Comm) {
    let world = || {
        COMMS
            .get(MPI_COMM_WORLD)
            .or_else(|| COMMS.closed(MPI_COMM_WORLD))
    };
    if FOLLOWS_WORLD.load(Ordering::Relaxed) != 0
        && let Some(world) = world()
    {
        return (handler_of(world) as usize, MPI_COMM_WORLD);
    }
    let handler = match SELF_HANDLER.load(Ordering::Relaxed) as usize {
        0 => initial_handler(),
        own => own,
    };
    (handler, MPI_COMM_SELF)
}

/// The handler that the program is started with (MPI-5.0, section 9.3).
#[cold]
fn initial_handler() -> usize {
    define_predefined();
    let choice = match process().or_else(parent) {
        Some(process) => process.settings().initial_errhandler,
        None => Settings::from_environment().0.initial_errhandler,
    };
    match choice {
        1 => MPI_ERRORS_ABORT,
        2 => MPI_ERRORS_RETURN,
        _ => MPI_ERRORS_ARE_FATAL,
    }
}

/// Gives a predefined communicator, and calls that belong to none, the handler that the program was started with.
pub(crate) fn begin_with_handler(comm: &Comm) {
    let handler = initial_handler();
    comm.error_handler.store(handler as u64, Ordering::Relaxed);
    SELF_HANDLER.store(handler as u64, Ordering::Relaxed);
}

/// The program has given MPI_COMM_SELF a handler, which from now on is that of calls that belong to no object.
pub(crate) fn set_handler_of_none(handler: u64) {
    FOLLOWS_WORLD.store(0, Ordering::Relaxed);
    SELF_HANDLER.store(handler, Ordering::Relaxed);
}

/// The handlers of calls that belong to no object, and of communicators that were freed before their requests.
pub(crate) fn handlers_of_none() -> impl Iterator<Item = u64> {
    let all = FREED.lock().unwrap_or_else(PoisonError::into_inner);
    let freed: Vec<u64> = all.iter().map(|freed| freed.handler).collect();
    let own = SELF_HANDLER.load(Ordering::Relaxed);
    freed.into_iter().chain([own])
}

/// Runs a body; an error goes to the handler of `comm` (0: of no communicator).
#[inline(always)]
pub(crate) fn run(call: &'static str, comm: MPI_Comm, body: impl FnOnce() -> Result<()>) -> i32 {
    if !is_active() {
        return inactive(call, comm);
    }
    match body() {
        Ok(()) => 0,
        Err(error) => raise(call, comm, error),
    }
}

/// Runs a body that may be called at any time, also before MPI_Init and after MPI_Finalize.
pub(crate) fn run_any_time(call: &'static str, body: impl FnOnce() -> Result<()>) -> i32 {
    match body() {
        Ok(()) => 0,
        Err(error) => {
            let (handler, comm) = handler_of_none();
            raise_to(call, handler, comm, error)
        }
    }
}

/// Hands an error to a handler, with the object passed to the handler.
#[cold]
pub(crate) fn raise_to(call: &'static str, handler: usize, object: usize, error: Error) -> i32 {
    invoke(handler, object, &of_process(error.in_call(call)))
}

/// Adds the process to an error that belongs to no communicator.
fn of_process(error: Error) -> Error {
    match process() {
        Some(process) => error.on(format!("rank {} of the job", process.rank())),
        None => error,
    }
}

/// An MPI call outside MPI_Init ... MPI_Finalize, or in a forked child: there the error goes to the handler of `comm` (0: of none).
#[cold]
#[inline(never)]
pub(crate) fn inactive(call: &'static str, comm: MPI_Comm) -> i32 {
    inactive_on(call, || {
        let found = COMMS.closed(comm)?;
        Some((handler_of(found) as usize, comm))
    })
}

/// As [`inactive`], with what finds the handler and the object passed to it.
#[cold]
pub(crate) fn inactive_on(
    call: &'static str,
    find: impl FnOnce() -> Option<(usize, usize)>,
) -> i32 {
    if let Some(parent) = parent() {
        let (handler, object) = find().unwrap_or_else(handler_of_none);
        return invoke(handler, object, &parent.forked_child().in_call(call));
    }
    let text = match (was_finalized(), was_world_ended()) {
        (false, _) => "called before MPI_Init",
        (true, true) => "called after MPI_Finalize",
        (true, false) => "called after the last session was finalized",
    };
    let error = Error::new(ErrorClass::ERR_OTHER, text).in_call(call);
    invoke(initial_handler(), MPI_COMM_SELF, &error)
}

/// Hands an error to the handler of a communicator and returns what the call returns.
#[cold]
#[inline(never)]
pub(crate) fn raise(call: &'static str, comm: MPI_Comm, error: Error) -> i32 {
    if !is_active() {
        return inactive(call, comm);
    }
    let error = error.in_call(call);
    if let Some(found) = COMMS.get(comm) {
        return invoke(handler_of(found) as usize, comm, &found.annotate(error));
    }
    if let Some(file) = FILES.get(comm) {
        // The request of a file: its communicator has the file's handle.
        return invoke(handler_of_file(file), comm, &file.annotate(error));
    }
    if let Some((handler, context)) = freed(comm) {
        // Its handle is stale, and a handler that used it would fail.
        return invoke(handler as usize, MPI_COMM_NULL, &error.on(context));
    }
    raise_to_none(error)
}

/// Hands an error that belongs to no object to the handler of such calls.
#[cold]
pub(super) fn raise_to_none(error: Error) -> i32 {
    let (handler, comm) = handler_of_none();
    invoke(handler, comm, &of_process(error))
}

/// A communicator that was freed, of which a program may still have requests.
struct Freed {
    handle: MPI_Comm,
    handler: u64,
    /// Description of the communicator in error texts.
    context: String,
}

/// The latest of them.
static FREED: Mutex<VecDeque<Freed>> = Mutex::new(VecDeque::new());
const MOST_FREED: usize = 1024;

/// A communicator with this handle is about to be freed, with requests that can fail later.
pub(crate) fn note_freed(comm: &Comm, handle: MPI_Comm) {
    let mut all = FREED.lock().unwrap_or_else(PoisonError::into_inner);
    if all.len() == MOST_FREED {
        all.pop_front();
    }
    all.push_back(Freed {
        handle,
        handler: handler_of(comm),
        context: format!("{}, which was freed", comm.describe()),
    });
}

/// The error handler and the description of a communicator that was freed.
fn freed(comm: MPI_Comm) -> Option<(u64, String)> {
    let all = FREED.lock().unwrap_or_else(PoisonError::into_inner);
    let found = all.iter().rev().find(|freed| freed.handle == comm)?;
    Some((found.handler, found.context.clone()))
}

/// A null pointer that an entry point found where the call needs memory. A constant, so that the entry point jumps to
/// [`refuse_null`] and needs no stack.
pub(crate) struct Null {
    pub(crate) call: &'static str,
    pub(crate) argument: &'static str,
    pub(crate) expected: &'static str,
}

impl Null {
    pub(crate) fn error(&self) -> Error {
        Error::argument(ErrorClass::ERR_ARG, self.argument, "null", self.expected)
    }
}

/// The communicator whose handler gets the error of a null pointer: `comm`, or none (0) where `comm` would end the job and
/// errors follow MPI_COMM_WORLD's handler. MPICH finds null pointers before it knows the communicator, and programs for
/// MPI-3.1 rely on that.
fn owner_of_null(comm: MPI_Comm) -> MPI_Comm {
    let follows = FOLLOWS_WORLD.load(Ordering::Relaxed) != 0;
    match COMMS.get(comm) {
        Some(found) if follows => {
            let handler = HANDLERS.get(handler_of(found) as usize);
            match handler.map(ErrorHandler::action) {
                Some(Action::Fatal) => 0,
                _ => comm,
            }
        }
        _ => comm,
    }
}

/// Refuses a null pointer through a communicator's error handler.
#[cold]
#[inline(never)]
pub(crate) fn refuse_null(null: &'static Null, comm: MPI_Comm) -> i32 {
    if is_active() {
        raise(null.call, owner_of_null(comm), null.error())
    } else {
        // Some calls may be made at any time, and the others say the more useful thing first.
        run_any_time(null.call, || Err(null.error()))
    }
}

/// The handler of a communicator.
pub(crate) fn handler_of(comm: &Comm) -> u64 {
    match comm.error_handler.load(Ordering::Relaxed) {
        0 => MPI_ERRORS_ARE_FATAL as u64,
        handle => handle,
    }
}

thread_local! {
    /// The last error of this thread that did not end the job: class and text.
    static LAST: RefCell<Option<(i32, String)>> = const { RefCell::new(None) };
}

/// The text of this thread's last error, if it had this class.
pub(crate) fn last_said(class: i32) -> Option<String> {
    LAST.with_borrow(|last| {
        let found = last.as_ref().filter(|last| last.0 == class);
        found.map(|last| last.1.clone())
    })
}

/// Applies a handler to an error; returns the code that the call returns.
pub(crate) fn invoke(handle: usize, object: MPI_Comm, error: &Error) -> i32 {
    let code = error.class().0;
    LAST.set(Some((code, error.to_string())));
    match HANDLERS.get(handle).map(ErrorHandler::action) {
        Some(Action::Return) => {}
        Some(Action::User(function)) if function != 0 => {
            // The handler may change what the call returns (MPI-5.0, section 9.3.1).
            let (mut object, mut code) = (object, code);
            // SAFETY: the user registered a function of this type (MPI_Comm_create_errhandler).
            let function: unsafe extern "C" fn(*mut MPI_Comm, *mut i32, ...) =
                unsafe { std::mem::transmute(function) };
            // SAFETY: as above; both arguments live through the call. No lock is held.
            unsafe { function(&raw mut object, &raw mut code) };
            return code;
        }
        _ => return fatal(error),
    }
    code
}

/// Prints the error and ends the job; a forked child ends itself alone.
pub(crate) fn fatal(error: &Error) -> i32 {
    tell(error);
    end_after_error(error.class().0.clamp(1, 255))
}

/// Writes a line to standard error at once, because ranks may share it.
pub(crate) fn tell(text: impl std::fmt::Display) {
    let line = format!("Rankpoint: {text}\n");
    // The line is lost if standard error is closed.
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// A function that is not written yet.
#[cold]
#[inline(never)]
pub(crate) fn missing(name: &'static str, comm: MPI_Comm) -> i32 {
    raise(name, comm, missing_error())
}

/// The error of such a function.
pub(super) fn missing_error() -> Error {
    let text = "not implemented yet; `rankpoint info --missing` lists what is not";
    Error::new(ErrorClass::ERR_UNSUPPORTED_OPERATION, text)
}
