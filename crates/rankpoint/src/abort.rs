// SPDX-License-Identifier: MIT OR Apache-2.0
//! The end of a program that cannot go on safely.

use engine::Error;
use engine::comm::Comm;

/// Whether an operation in flight may still touch its buffer: not in a forked child, where it is the parent's, in the parent's memory.
#[cold]
pub(crate) fn may_go_on(comm: &Comm) -> bool {
    !comm.process().is_forked_child()
}

/// Ends the program when an operation in flight can neither be completed nor taken back: its buffer must not be touched by
/// the program while the operation might still write it.
#[cold]
#[inline(never)]
#[expect(clippy::print_stderr, reason = "there is nobody left to return it to")]
pub(crate) fn give_up(error: Option<&Error>) -> ! {
    match error {
        Some(error) => eprintln!("Rankpoint: an operation cannot be completed: {error}"),
        None => eprintln!("Rankpoint: a panic left operations that cannot be completed"),
    }
    std::process::abort()
}
