// SPDX-License-Identifier: MIT OR Apache-2.0
//! Passive target synchronisation: locks and flushes (MPI-5.0, sections 12.5.3 and 12.5.4).

use engine::rma::{LockKind, passive};
use engine::{Error, ErrorClass};
use mpi_abi_sys::types::MPI_Win;

use crate::error::run_window;
use crate::handle::WINS;

pub(crate) fn MPI_Win_lock(lock_type: i32, rank: i32, assert: i32, win: MPI_Win) -> i32 {
    let call = "MPI_Win_lock";
    run_window(call, win, |window| {
        let kind = LockKind::from_abi(lock_type).ok_or_else(|| {
            let expected = "MPI_LOCK_SHARED or MPI_LOCK_EXCLUSIVE";
            Error::argument(ErrorClass::ERR_LOCKTYPE, "lock_type", lock_type, expected)
        })?;
        passive::lock(window, kind, rank, assert, call)
    })
}

pub(crate) fn MPI_Win_unlock(rank: i32, win: MPI_Win) -> i32 {
    run_window("MPI_Win_unlock", win, |window| {
        passive::unlock(window, rank)
    })
}

pub(crate) fn MPI_Win_lock_all(assert: i32, win: MPI_Win) -> i32 {
    let call = "MPI_Win_lock_all";
    run_window(call, win, |window| passive::lock_all(window, assert, call))
}

pub(crate) fn MPI_Win_unlock_all(win: MPI_Win) -> i32 {
    run_window("MPI_Win_unlock_all", win, passive::unlock_all)
}

#[inline(always)]
pub(crate) fn MPI_Win_flush(rank: i32, win: MPI_Win) -> i32 {
    if let Some(window) = WINS.get_trusted(win)
        && window.flush_now(rank)
    {
        return 0;
    }
    flush_any(rank, win)
}

#[inline(never)]
extern "C" fn flush_any(rank: i32, win: MPI_Win) -> i32 {
    run_window("MPI_Win_flush", win, |window| passive::flush(window, rank))
}

pub(crate) fn MPI_Win_flush_all(win: MPI_Win) -> i32 {
    run_window("MPI_Win_flush_all", win, passive::flush_all)
}

pub(crate) fn MPI_Win_flush_local(rank: i32, win: MPI_Win) -> i32 {
    run_window("MPI_Win_flush_local", win, |window| {
        passive::flush_local(window, rank)
    })
}

pub(crate) fn MPI_Win_flush_local_all(win: MPI_Win) -> i32 {
    run_window("MPI_Win_flush_local_all", win, passive::flush_local_all)
}
