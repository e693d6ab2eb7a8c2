// SPDX-License-Identifier: MIT OR Apache-2.0
//! The threads of a process.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A thread for each item, and what they give, in the order of the items.
pub(crate) fn together<I: Send, R: Send>(
    items: impl Iterator<Item = I>,
    run: impl Fn(I) -> rankpoint::Result<R> + Sync,
) -> rankpoint::Result<Vec<R>> {
    let run = &run;
    std::thread::scope(|scope| {
        let all: Vec<_> = items.map(|item| scope.spawn(move || run(item))).collect();
        let ended = all.into_iter().map(|thread| match thread.join() {
            Ok(outcome) => outcome,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        // All threads are waited for, also after an error.
        let ended: Vec<_> = ended.collect();
        ended.into_iter().collect()
    })
}

/// What a mutex holds. A thread that panicked ends the job, so no other one goes on with half a value for long.
pub(crate) fn unpoisoned<V>(mutex: &Mutex<V>) -> MutexGuard<'_, V> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Part `index` of `count` parts of a range, which differ by at most one in length.
pub(crate) const fn part(all: &Range<usize>, index: usize, count: usize) -> Range<usize> {
    let length = all.end - all.start;
    all.start + length * index / count..all.start + length * (index + 1) / count
}

/// Which of `count` parts of so many items has an item: the inverse of [`part`].
pub(crate) const fn part_with(item: usize, length: usize, count: usize) -> usize {
    ((item + 1) * count - 1) / length
}
