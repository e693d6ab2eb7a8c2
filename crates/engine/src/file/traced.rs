// SPDX-License-Identifier: MIT OR Apache-2.0
//! Accesses in traces (`RANKPOINT_TRACE`): when system calls for them began and ended, on whatever thread.

use std::ops::Range;

use fabric::trace::{TraceEvent, TraceKind};
use sys::clock;

use super::access::Action;
use crate::progress::Vci;

/// What the thread of crate `storage` does: [`TraceEvent::detail`] of an access that a call did not do itself.
const BY_THREAD: u8 = 1;

/// What a trace says of an access.
#[derive(Clone, Copy, Debug)]
pub(super) struct Label {
    pub(super) name: &'static str,
    /// Of the file, from the first byte to behind the last one.
    pub(super) start: u64,
    pub(super) bytes: u64,
}

impl Label {
    /// An access of so many bytes somewhere in a range.
    pub(super) const fn new(action: Action, reach: &Range<u64>, bytes: u64) -> Self {
        Self {
            name: match action {
                Action::Read => "file read",
                Action::Write => "file write",
            },
            start: reach.start,
            bytes,
        }
    }

    /// A lock of a whole file.
    pub(super) const LOCK: Self = Self {
        name: "file lock",
        start: 0,
        bytes: 0,
    };
}

/// A result, and when the work for it began and ended; zeros where nothing is traced.
pub(super) type Timed<T> = (T, [u64; 2]);

/// Does something, and measures when where that is traced.
pub(super) fn timed<T>(is_traced: bool, work: impl FnOnce() -> T) -> Timed<T> {
    let now = || if is_traced { clock::monotonic_ns() } else { 0 };
    let begin = now();
    let result = work();
    (result, [begin, now()])
}

/// Records an access, and returns its result.
pub(super) fn record<T>(vci: &Vci, label: Label, (result, times): Timed<T>, by_thread: bool) -> T {
    if vci.traces() {
        let mut guard = vci.enter();
        for (kind, time_ns) in [TraceKind::FileBegin, TraceKind::FileEnd]
            .into_iter()
            .zip(times)
        {
            let event = TraceEvent {
                time_ns,
                detail: if by_thread { BY_THREAD } else { 0 },
                bytes: label.bytes,
                message: label.start,
                ..TraceEvent::of(kind)
            };
            guard.trace_named(label.name, event);
        }
    }
    result
}

/// Does an access on the calling thread.
pub(super) fn here<T>(vci: &Vci, label: Label, work: impl FnOnce() -> T) -> T {
    let done = timed(vci.traces(), work);
    record(vci, label, done, false)
}
