// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether the operation that a thread carries on is a task, whose program may compute until it ends.

use std::cell::Cell;

thread_local! {
    static IS_POLLED: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread polls a task.
pub(crate) fn is_polled() -> bool {
    IS_POLLED.get()
}

/// Polls a task.
pub(crate) fn polling<T>(poll: impl FnOnce() -> T) -> T {
    let outer = IS_POLLED.replace(true);
    let outcome = poll();
    IS_POLLED.set(outer);
    outcome
}
