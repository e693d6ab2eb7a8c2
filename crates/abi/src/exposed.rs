// SPDX-License-Identifier: MIT OR Apache-2.0
//! Buffers of collectives and of persistent requests, for `RANKPOINT_CHECK=rma`: what a call has decoded is kept until it is known when the
//! call uses it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};

use engine::Error;
use engine::comm::Process;
use engine::p2p::Memory;
use engine::request::RequestId;
use engine::rma::{self, BufferUse};

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
pub(crate) fn keep(memory: &Memory<'static>, used: BufferUse) {
    if WATCHES.load(Ordering::Relaxed) != 0 {
        KEPT.with_borrow_mut(|kept| kept.push((*memory, used)));
    }
}

/// The buffers of a call, which has decoded all that it needs: it uses them at once, or each time its request is started.
#[cold]
pub(crate) fn take() -> Buffers {
    Buffers(KEPT.take())
}

/// The buffers of a call, and whether it reads or writes each.
pub(crate) struct Buffers(Vec<(Memory<'static>, BufferUse)>);

impl Buffers {
    /// They are used now.
    #[cold]
    pub(crate) fn note(&self, process: &Process, call: &'static str) {
        for (memory, used) in &self.0 {
            rma::note_buffer(process, call, memory, *used);
        }
    }
}

/// A message that a persistent request describes.
struct Planned {
    memory: Memory<'static>,
    used: BufferUse,
    call: &'static str,
}

// SAFETY: the buffer's address is only compared with those of windows.
unsafe impl Send for Planned {}

/// Those of requests, by their numbers.
static PLANNED: Mutex<BTreeMap<u64, Planned>> = Mutex::new(BTreeMap::new());

fn planned() -> MutexGuard<'static, BTreeMap<u64, Planned>> {
    PLANNED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps the buffer of a persistent request.
pub(crate) fn plan(id: RequestId, memory: &Memory<'static>, used: BufferUse, call: &'static str) {
    if WATCHES.load(Ordering::Relaxed) != 0 {
        let memory = *memory;
        planned().insert(id.0, Planned { memory, used, call });
    }
}

/// A persistent request is started: its message uses its buffer now.
pub(crate) fn note_started(process: &Process, id: RequestId) {
    if WATCHES.load(Ordering::Relaxed) != 0
        && let Some(planned) = planned().get(&id.0)
    {
        rma::note_buffer(process, planned.call, &planned.memory, planned.used);
    }
}

/// A request is freed.
pub(crate) fn forget_request(id: RequestId) {
    if WATCHES.load(Ordering::Relaxed) != 0 {
        planned().remove(&id.0);
    }
}

/// The call has failed.
#[cold]
pub(crate) fn forget(_: &Error) {
    KEPT.take();
}

/// The call is of this rank alone.
#[inline]
pub(crate) fn forget_local() {
    if WATCHES.load(Ordering::Relaxed) != 0 {
        KEPT.take();
    }
}
