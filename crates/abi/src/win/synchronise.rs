// SPDX-License-Identifier: MIT OR Apache-2.0
//! Active target synchronisation: fence, and post-start-complete-wait (MPI-5.0, sections 12.5.1 and 12.5.2).

use engine::rma::{active, fence};
use mpi_abi_sys::types::{MPI_Group, MPI_Win};

use crate::error::run_window;
use crate::handle::GROUPS;

pub(crate) fn MPI_Win_fence(assert: i32, win: MPI_Win) -> i32 {
    let call = "MPI_Win_fence";
    run_window(call, win, |window| fence::fence(window, assert, call))
}

pub(crate) fn MPI_Win_post(group: MPI_Group, assert: i32, win: MPI_Win) -> i32 {
    run_window("MPI_Win_post", win, |window| {
        active::post(window, GROUPS.find(group, "group")?, assert)
    })
}

pub(crate) fn MPI_Win_start(group: MPI_Group, assert: i32, win: MPI_Win) -> i32 {
    let call = "MPI_Win_start";
    run_window(call, win, |window| {
        active::start(window, GROUPS.find(group, "group")?, assert, call)
    })
}

pub(crate) fn MPI_Win_complete(win: MPI_Win) -> i32 {
    run_window("MPI_Win_complete", win, active::complete)
}

pub(crate) fn MPI_Win_wait(win: MPI_Win) -> i32 {
    let call = "MPI_Win_wait";
    run_window(call, win, |window| active::wait(window, call))
}

pub(crate) unsafe fn MPI_Win_test(win: MPI_Win, flag: *mut i32) -> i32 {
    run_window("MPI_Win_test", win, |window| {
        let is_over = active::test(window)?;
        // SAFETY: the result is writable (crate head).
        unsafe { *flag = i32::from(is_over) };
        Ok(())
    })
}

pub(crate) fn MPI_Win_sync(win: MPI_Win) -> i32 {
    run_window("MPI_Win_sync", win, |window| {
        fence::sync(window);
        Ok(())
    })
}
