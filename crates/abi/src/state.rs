// SPDX-License-Identifier: MIT OR Apache-2.0
//! The state of the library: whether the engine runs, its process, and the end of the job.
//!
//! A child that the program forks has no process, so that all calls find none and are refused as they are before MPI_Init.

// account: thread-safety

use std::sync::atomic::Ordering;

use engine::comm::Process;
use engine::progress::Vci;
use engine::{Error, ErrorClass};

use crate::sync::{AtomicPtr, AtomicU8, AtomicU64};

const BEFORE: u64 = 0;
const ACTIVE: u64 = 1;
const FINALIZED: u64 = 2;
const FORKED: u64 = 3;

/// Of the engine, which the World Model and all sessions share.
static STATE: AtomicU64 = AtomicU64::new(BEFORE);
/// Whether the World Model has ended; sessions may go on.
static WORLD_ENDED: AtomicU8 = AtomicU8::new(0);
static PROCESS: AtomicPtr<Process> = AtomicPtr::new(std::ptr::null_mut());

/// In a forked child the process of its parent, else null.
static PARENT: AtomicPtr<Process> = AtomicPtr::new(std::ptr::null_mut());

/// The VCI of a process that is active and in which one thread at a time is inside MPI, else null.
static UNLOCKED: AtomicPtr<Vci> = AtomicPtr::new(std::ptr::null_mut());

/// The VCI between MPI_Init and MPI_Finalize, or inside a session, if one thread at a time is inside MPI.
#[inline(always)]
pub(crate) fn vci_unlocked() -> Option<&'static Vci> {
    // SAFETY: null, or that of the process, which lives until the program ends.
    unsafe { UNLOCKED.load(Ordering::Relaxed).as_ref() }
}

/// The VCI between MPI_Init and MPI_Finalize, or inside a session.
#[inline]
pub(crate) fn active_vci() -> Option<&'static Vci> {
    process().filter(|_| is_active()).map(Process::vci)
}

/// Between MPI_Init and MPI_Finalize, or inside a session.
#[inline(always)]
pub(crate) fn is_active() -> bool {
    STATE.load(Ordering::Relaxed) == ACTIVE
}

/// MPI_Finalize has ended the World Model.
pub(crate) fn note_world_ended() {
    WORLD_ENDED.store(1, Ordering::Relaxed);
}

/// Whether MPI_Finalize has been called.
pub(crate) fn was_world_ended() -> bool {
    WORLD_ENDED.load(Ordering::Relaxed) != 0
}

pub(crate) fn was_finalized() -> bool {
    STATE.load(Ordering::Relaxed) == FINALIZED
}

/// The process, from MPI_Init on.
#[inline(always)]
pub(crate) fn process() -> Option<&'static Process> {
    // SAFETY: null, or the process that MPI_Init stored, which lives until the program ends.
    unsafe { PROCESS.load(Ordering::Relaxed).as_ref() }
}

/// The process, or the error that there is none.
pub(crate) fn require_process() -> engine::Result<&'static Process> {
    process().ok_or_else(no_process)
}

#[cold]
fn no_process() -> Error {
    match parent() {
        Some(parent) => parent.forked_child(),
        None => Error::new(ErrorClass::ERR_OTHER, "called before MPI_Init"),
    }
}

/// In a child that a rank has forked, the process of the rank.
#[cold]
pub(crate) fn parent() -> Option<&'static Process> {
    // SAFETY: null, or the process that MPI_Init stored, which lives until the program ends.
    unsafe { PARENT.load(Ordering::Relaxed).as_ref() }
}

/// The engine has this process from now on.
pub(crate) fn set_process(process: &'static Process) {
    PROCESS.store(std::ptr::from_ref(process).cast_mut(), Ordering::Relaxed);
}

/// The engine runs from now on.
pub(crate) fn begin() {
    STATE.store(ACTIVE, Ordering::Relaxed);
    let vci = process().map(Process::vci).filter(|vci| !vci.is_threaded());
    let vci = vci.map_or(std::ptr::null(), std::ptr::from_ref);
    UNLOCKED.store(vci.cast_mut(), Ordering::Relaxed);
}

/// The engine rests from now on.
pub(crate) fn end() {
    STATE.store(FINALIZED, Ordering::Relaxed);
    UNLOCKED.store(std::ptr::null_mut(), Ordering::Relaxed);
}

/// This is a forked child, from now on: the process is its parent's.
pub(crate) fn leave_to_parent() {
    STATE.store(FORKED, Ordering::Relaxed);
    UNLOCKED.store(std::ptr::null_mut(), Ordering::Relaxed);
    let process = PROCESS.swap(std::ptr::null_mut(), Ordering::Relaxed);
    PARENT.store(process, Ordering::Relaxed);
}

/// Ends this process after an error and, unless it is a forked child, the job through the launcher.
#[expect(clippy::exit, reason = "fatal errors end the program by definition")]
pub(crate) fn end_after_error(code: i32) -> ! {
    match process().or_else(parent) {
        Some(process) => process.end_after_error(code),
        None => std::process::exit(code),
    }
}
