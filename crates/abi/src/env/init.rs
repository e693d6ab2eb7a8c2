// SPDX-License-Identifier: MIT OR Apache-2.0
//! Start and end of the World Model, of the engine for all its users, and of the job (MPI-5.0, section 11.2).

use core::ffi::c_char;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, OnceLock, PoisonError};

use engine::comm::{Process, ThreadLevel};
use engine::file::open;
use engine::{Error, ErrorClass};
use mpi_abi_sys::constants::{MPI_COMM_SELF, MPI_COMM_WORLD};
use mpi_abi_sys::types::MPI_Comm;

use crate::datatype::arguments;
use crate::error::{begin_with_handler, fatal, follow_world, handlers, inactive, raise, run, tell};
use crate::handle::{self, COMMS, FILES};
use crate::state::{self, parent, process, require_process};
use crate::sync::AtomicU64;
use crate::{attr, fortran, group, info, kinds, op};

const BEFORE: u64 = 0;
/// One thread is inside MPI_Init or MPI_Finalize, and all others that call either have an error.
const STARTING: u64 = 1;
const ACTIVE: u64 = 2;
const ENDING: u64 = 3;
const FINALIZED: u64 = 4;

/// The state of the World Model.
static WORLD: AtomicU64 = AtomicU64::new(BEFORE);
/// The World Model and the sessions that use the engine.
static USERS: Mutex<u32> = Mutex::new(0);
static MAIN_THREAD: OnceLock<std::thread::ThreadId> = OnceLock::new();

/// Starts the engine for one more user, if it does not run.
pub(crate) fn join_engine(call: &'static str, level: ThreadLevel) -> engine::Result<()> {
    if let Some(parent) = parent() {
        return Err(parent.forked_child().in_call(call));
    }
    let mut users = USERS.lock().unwrap_or_else(PoisonError::into_inner);
    match process() {
        Some(process) => process.resume().map_err(|error| error.in_call(call))?,
        None => start_engine(level).map_err(|error| error.in_call(call))?,
    }
    *users += 1;
    state::begin();
    note_sessions();
    Ok(())
}

/// Whether the World Model is in use.
pub(crate) fn has_world() -> bool {
    [ACTIVE, ENDING].contains(&WORLD.load(Ordering::Relaxed))
}

/// Notes that only sessions use the engine, if that is so.
fn note_sessions() {
    let is_over = [BEFORE, FINALIZED].contains(&WORLD.load(Ordering::Relaxed));
    if let Some(process) = process().filter(|_| is_over) {
        process.note_sessions();
    }
}

/// One user less; the engine rests after the last one. Without the barrier of all ranks that MPI_Finalize has, the last one waits until the
/// receivers have what was sent.
pub(crate) fn leave_engine(call: &'static str, follows_barrier: bool) -> engine::Result<()> {
    let mut users = USERS.lock().unwrap_or_else(PoisonError::into_inner);
    let process = require_process()?;
    if *users == 1 {
        if !follows_barrier {
            process.complete_sends(call)?;
        }
        process.rest(call)?;
        FILES.each(|_, file| open::end(file));
        if let Some(text) = process.write_trace() {
            tell(format_args!("warning: {text}"));
        }
        state::end();
        handle::close();
        process.take_leave().map_err(|error| error.in_call(call))?;
    } else {
        note_sessions();
    }
    *users -= 1;
    Ok(())
}

fn start_engine(level: ThreadLevel) -> engine::Result<()> {
    let (process, warnings) = Process::start(level.min(ThreadLevel::MOST))?;
    if process.rank() == 0 {
        for warning in warnings {
            tell(format_args!("warning: {warning}"));
        }
    }
    MAIN_THREAD.get_or_init(|| std::thread::current().id());
    if !process.is_threaded() {
        handle::expect_one_thread();
    }
    state::set_process(process);
    process.in_children(leave_to_parent);
    handlers::define_predefined();
    arguments::define_predefined();
    fortran::define_types();
    if process.settings().check.types {
        arguments::check_types();
    }
    if process.settings().check.rma {
        crate::exposed::start();
    }
    arguments::expect_devices(engine::device::start(process.settings())?);
    op::define_predefined();
    group::define_predefined();
    info::define_predefined();
    attr::define_predefined(process);
    process.limit_communicators(|| COMMS.has_room());
    Ok(())
}

/// Called in a child that the program forks: there is no process, no handle names an object that the parent shares with other ranks, and
/// programs that ask find that MPI is over.
fn leave_to_parent() {
    state::leave_to_parent();
    handle::close();
    if WORLD.load(Ordering::Relaxed) != BEFORE {
        WORLD.store(FINALIZED, Ordering::Relaxed);
    }
}

fn init(call: &'static str, level: ThreadLevel) -> i32 {
    if parent().is_some() {
        return inactive(call, 0);
    }
    // PAIRS: env.world
    let order = (Ordering::Acquire, Ordering::Acquire);
    if let Err(state) = WORLD.compare_exchange(BEFORE, STARTING, order.0, order.1) {
        return refuse_init(call, state);
    }
    let process = match join_engine(call, level).and_then(|()| require_process()) {
        Ok(process) => process,
        Err(failure) => return fatal(&failure.in_call(call)),
    };
    for (handle, comm) in [
        (MPI_COMM_WORLD, process.world()),
        (MPI_COMM_SELF, process.itself()),
    ] {
        comm.handle.store(handle as u64, Ordering::Relaxed);
        COMMS.define(handle, comm.clone());
        begin_with_handler(comm);
    }
    if !process.settings().strict_errors {
        follow_world();
    }
    kinds::begin_world();
    // PAIRS: env.world
    WORLD.store(ACTIVE, Ordering::Release);
    0
}

/// The error of a second MPI_Init, whose caller may be another thread than that of the first.
#[cold]
fn refuse_init(call: &'static str, state: u64) -> i32 {
    let text = match state {
        STARTING => "called while another thread is inside MPI_Init",
        FINALIZED => "called after MPI_Finalize",
        _ => "called twice",
    };
    // The error handlers exist once the first call has returned, and a failure of that call ends the process.
    // PAIRS: env.world
    while WORLD.load(Ordering::Acquire) == STARTING {
        std::thread::yield_now();
    }
    raise(call, 0, Error::new(ErrorClass::ERR_OTHER, text))
}

pub(crate) unsafe fn MPI_Init(argc: *mut i32, argv: *mut *mut *mut c_char) -> i32 {
    let _ = (argc, argv);
    init("MPI_Init", ThreadLevel::Single)
}

pub(crate) unsafe fn MPI_Init_thread(
    argc: *mut i32,
    argv: *mut *mut *mut c_char,
    required: i32,
    provided: *mut i32,
) -> i32 {
    let _ = (argc, argv);
    let level = ThreadLevel::from_abi(required);
    let code = init("MPI_Init_thread", level);
    if code == 0 {
        // A session may have started the engine with another level.
        let level = process().map_or(level, Process::thread_level);
        // SAFETY: the result is writable (crate head).
        unsafe { *provided = level as i32 };
    }
    code
}

pub(crate) fn MPI_Finalize() -> i32 {
    if parent().is_some() {
        // An exit handler of the rank that has forked may call this in the child.
        return 0;
    }
    run("MPI_Finalize", 0, || {
        let process = require_process()?;
        let order = Ordering::Relaxed;
        if let Err(state) = WORLD.compare_exchange(ACTIVE, ENDING, order, order) {
            let text = match state {
                ENDING => "called while another thread is inside MPI_Finalize",
                _ => "called without MPI_Init, or twice",
            };
            return Err(Error::new(ErrorClass::ERR_OTHER, text));
        }
        let ended = end_world(process);
        let state = if ended.is_ok() { FINALIZED } else { ACTIVE };
        WORLD.store(state, order);
        ended?;
        state::note_world_ended();
        for comm in [MPI_COMM_WORLD, MPI_COMM_SELF] {
            COMMS.close_one(comm);
        }
        leave_engine("MPI_Finalize", true)
    })
}

/// Ends the World Model; the engine may have other users.
fn end_world(process: &'static Process) -> engine::Result<()> {
    // Attributes of MPI_COMM_SELF go first, so that libraries can clean up (MPI-5.0, section 11.2.4).
    process.itself().attributes.clear(MPI_COMM_SELF as u64)?;
    process.world().attributes.clear(MPI_COMM_WORLD as u64)?;
    engine::coll::finish(process)?;
    engine::p2p::check_received(process.world())?;
    process.resume()
}

pub(crate) unsafe fn MPI_Initialized(flag: *mut i32) -> i32 {
    // SAFETY: the result is writable (crate head).
    unsafe { *flag = i32::from(![BEFORE, STARTING].contains(&WORLD.load(Ordering::Relaxed))) };
    0
}

pub(crate) unsafe fn MPI_Finalized(flag: *mut i32) -> i32 {
    // SAFETY: the result is writable (crate head).
    unsafe { *flag = i32::from(WORLD.load(Ordering::Relaxed) == FINALIZED) };
    0
}

pub(crate) unsafe fn MPI_Query_thread(provided: *mut i32) -> i32 {
    run("MPI_Query_thread", 0, || {
        let level = require_process()?.thread_level();
        // SAFETY: the result is writable (crate head).
        unsafe { *provided = level as i32 };
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Is_thread_main(flag: *mut i32) -> i32 {
    let main = MAIN_THREAD
        .get()
        .is_some_and(|id| *id == std::thread::current().id());
    // SAFETY: the result is writable (crate head).
    unsafe { *flag = i32::from(main) };
    0
}

pub(crate) fn MPI_Abort(comm: MPI_Comm, errorcode: i32) -> i32 {
    let _ = comm;
    let who = if parent().is_some() {
        "a forked child of "
    } else {
        ""
    };
    let process = process().or_else(parent);
    let rank = process.map_or(0, Process::rank);
    tell(format_args!(
        "{who}rank {rank} called MPI_Abort with code {errorcode}"
    ));
    match process {
        Some(process) => process.abort(errorcode),
        None => state::end_after_error(errorcode),
    }
}
