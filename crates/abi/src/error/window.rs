// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors of windows: those of calls on a window go to its handler, which at first is MPI_ERRORS_ARE_FATAL; those of making one
//! go to the handler of the communicator (MPI-5.0, section 12.6).

use std::sync::atomic::Ordering;

use engine::rma::Window;
use engine::{Error, Result};
use mpi_abi_sys::types::MPI_Win;

use super::raise::{Null, inactive_on, invoke, raise_to_none};
use crate::handle::WINS;
use crate::state::is_active;

/// Runs a body on a window; an error goes to the window's handler.
#[inline(always)]
pub(crate) fn run_window(
    call: &'static str,
    win: MPI_Win,
    body: impl FnOnce(&'static Window) -> Result<()>,
) -> i32 {
    if !is_active() {
        return inactive(call, win);
    }
    match WINS.find(win, "win").and_then(body) {
        Ok(()) => 0,
        Err(error) => raise_window(call, win, error),
    }
}

/// A call on a window outside MPI_Init ... MPI_Finalize, or in a forked child.
#[cold]
#[inline(never)]
fn inactive(call: &'static str, win: MPI_Win) -> i32 {
    inactive_on(call, || {
        let handler = WINS.closed(win)?.error_handler.load(Ordering::Relaxed);
        Some((handler as usize, win))
    })
}

/// Hands an error to the handler of a window and returns what the call returns.
#[cold]
#[inline(never)]
pub(crate) fn raise_window(call: &'static str, win: MPI_Win, error: Error) -> i32 {
    let error = error.in_call(call);
    match WINS.get(win) {
        Some(window) => {
            let handler = window.error_handler.load(Ordering::Relaxed);
            invoke(handler as usize, win, &window.annotate(error))
        }
        None => raise_to_none(error),
    }
}

/// Refuses a null pointer through a window's error handler.
#[cold]
#[inline(never)]
pub(crate) fn refuse_null(null: &'static Null, win: MPI_Win) -> i32 {
    if !is_active() {
        return inactive(null.call, win);
    }
    raise_window(null.call, win, null.error())
}
