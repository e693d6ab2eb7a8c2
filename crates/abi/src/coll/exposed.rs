// SPDX-License-Identifier: MIT OR Apache-2.0
//! Buffers of collectives, for `RANKPOINT_CHECK=rma`: what a call has decoded is kept until it is known whether the call uses it now.

use std::cell::RefCell;
use std::sync::atomic::Ordering;

use engine::Error;
use engine::comm::Comm;
use engine::p2p::Memory;
use engine::rma::{self, BufferUse};

use super::ending::{Ending, Ends};
use crate::datatype::arguments;
use crate::sync::AtomicU8;

/// Whether buffers are kept; 0 if not.
static WATCHES: AtomicU8 = AtomicU8::new(0);

thread_local! {
    /// Those of the call under way.
    static KEPT: RefCell<Vec<(Memory<'static>, BufferUse)>> = const { RefCell::new(Vec::new()) };
}

/// From now on they are.
pub(crate) fn start() {
    WATCHES.store(1, Ordering::Relaxed);
    arguments::look_closer();
}

/// Keeps a buffer of the call under way.
#[inline]
pub(super) fn keep(memory: &Memory<'static>, used: BufferUse) {
    if WATCHES.load(Ordering::Relaxed) != 0 {
        KEPT.with_borrow_mut(|kept| kept.push((*memory, used)));
    }
}

/// The call has decoded all that it needs: it uses its buffers, unless it only plans to.
#[cold]
pub(super) fn note(comm: &Comm, call: &'static str, ending: Ending) {
    let is_planned = matches!(ending.how(), Ends::Planned(_));
    for (memory, used) in KEPT.take().into_iter().filter(|_| !is_planned) {
        rma::note_buffer(comm, call, &memory, used);
    }
}

/// The call has failed.
#[cold]
pub(crate) fn forget(_: &Error) {
    KEPT.take();
}

/// The call is of this rank alone.
#[inline]
pub(super) fn forget_local() {
    if WATCHES.load(Ordering::Relaxed) != 0 {
        KEPT.take();
    }
}
