// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs a test as the parent or as a rank.

use std::process::Termination;

use crate::job::start;
use crate::rank::{is_rank, run_as_rank};
use crate::rank_test::RankTest;

/// The whole of a multi-rank test: starts the ranks, or is one of them and runs `body`.
///
/// # Panics
/// In the parent when a rank fails, the time is up, or the job cannot be started; with a text that tells all.
#[track_caller]
pub fn run<R: Termination>(test: &RankTest, body: impl FnOnce() -> R) {
    if is_rank() {
        return run_as_rank(body);
    }
    match start(test) {
        Ok(passed) => passed.show(),
        #[expect(clippy::panic, reason = "this is how a test fails")]
        Err(failed) => panic!("{failed}"),
    }
}
