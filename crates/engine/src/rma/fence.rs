// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fence and memory synchronisation (MPI-5.0, sections 12.5.1 and 12.7).

use sys::sync::{Ordering, fence as memory_fence};

use super::epoch::assertion;
use super::window::Window;
use crate::coll;
use crate::errors::Result;
use crate::task::block_on;

/// Ends an access and exposure epoch of all members, and begins another one (MPI_Win_fence).
///
/// # Errors
/// MPI_ERR_RMA_SYNC inside an epoch of another kind; MPI_ERR_ASSERT; those of the messages.
pub fn fence(window: &Window, assertion: i32, call: &'static str) -> Result<()> {
    window.check_assertion(assertion)?;
    window.check_quiet()?;
    layout::settle();
    // What a target refuses must not keep this member from the others.
    let flushed = match &window.channel {
        Some(channel) => channel.end_before_fence(window, assertion, call),
        None => Ok(()),
    };
    let comm = &window.comm;
    match coll::fast::now::barrier(call, comm) {
        Some(outcome) => outcome?,
        None => block_on(comm.vci(), call, coll::barrier(comm.clone()))?,
    }
    window.note_barrier();
    window
        .epochs
        .set_fenced(assertion & assertion::NOSUCCEED == 0);
    let checked = match &window.channel {
        Some(channel) => channel.tell_after_fence(window, call),
        None => Ok(()),
    };
    flushed.and(checked)
}

/// Orders the loads and stores of this process in the window's memory with operations of others (MPI_Win_sync). A program that calls
/// it while it polls its memory sees operations that come by messages.
pub fn sync(window: &Window) {
    if let Some(channel) = &window.channel {
        channel.poll();
    }
    // What others stored may say what they have done.
    window.comm.note_news();
    layout::settle();
    // PAIRS: window.sync. With itself: between two calls lie loads and stores of shared memory by programs, which no ordering of ours names.
    memory_fence(Ordering::SeqCst);
}
