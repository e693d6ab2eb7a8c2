// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs a test function on N ranks and asserts on every rank's outcome, under plain `cargo test`.
//!
//! A multi-rank test is an ordinary `#[test]` whose process plays two parts. Started by `cargo test` it is the *parent*:
//! it starts N copies of its own executable as the ranks of a job, asking each for just this test, watches them, and
//! fails with every rank's outcome and output if one of them does, or with the hang report if the time is up. Started as
//! a rank it runs the body. No `mpiexec` need be installed; the launcher is a library.
//!
//! `#[rankpoint::test(ranks = 4)]` writes this for the user:
//!
//! ```
//! # mod tests {
//! #[test]
//! fn sum_of_ranks() {
//!     const TEST: testkit::RankTest = testkit::RankTest::new(concat!(module_path!(), "::sum_of_ranks"), &[1, 4]);
//!     testkit::run(&TEST, || {
//!         // The body: MPI calls and assertions, on each rank.
//!     });
//! }
//! # }
//! ```
//!
//! A body may return `()` or a `Result`. When it fails or panics the rank's process ends at once, without destructors of
//! what the panic left behind on other threads; the launcher ends the other ranks. Multi-rank tests of one executable run
//! one after the other, however many threads `cargo test` uses, because each of them already fills the node.
//!
//! A test can also be debugged by hand: `mpiexec -n 4 target/debug/deps/NAME-HASH --exact tests::sum_of_ranks --nocapture`.
//!
//! [`job`] is the parent's part, [`rank`] the rank's; this crate's own tests are in `tests/`.

#![forbid(unsafe_code)]
#![expect(
    clippy::test_attr_in_doctest,
    reason = "the attribute is what the example shows"
)]

mod job;
mod rank;
mod settings;

use std::process::Termination;
use std::time::Duration;

pub use job::{Failed, Passed, start};
pub use rank::{is_rank, run_as_rank};

/// Time limit of a test that does not set its own.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// A multi-rank test.
#[derive(Clone, Copy, Debug)]
pub struct RankTest {
    /// Path of the test function with its crate: `concat!(module_path!(), "::", "function")`.
    pub path: &'static str,
    /// Numbers of ranks; one job each, one after the other.
    pub ranks: &'static [u32],
    /// Longest time that one job may take; `RANKPOINT_TEST_TIMEOUT_S` overrides it.
    pub timeout: Duration,
    /// Variables that are set for the ranks.
    pub environment: &'static [(&'static str, &'static str)],
}

impl RankTest {
    /// A test with the default time limit.
    pub const fn new(path: &'static str, ranks: &'static [u32]) -> Self {
        Self {
            path,
            ranks,
            timeout: DEFAULT_TIMEOUT,
            environment: &[],
        }
    }

    /// The same with another time limit.
    pub const fn timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// The same with variables that are set for the ranks.
    pub const fn environment(self, environment: &'static [(&'static str, &'static str)]) -> Self {
        Self {
            environment,
            ..self
        }
    }

    /// The name by which the test harness knows the function: its path without the crate.
    pub fn harness_name(&self) -> &'static str {
        self.path
            .split_once("::")
            .map_or(self.path, |(_, name)| name)
    }
}

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
