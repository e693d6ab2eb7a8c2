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
mod rank_test;
mod run;
mod settings;

pub use job::{Failed, Passed, start};
pub use rank::{is_rank, run_as_rank};
pub use rank_test::{DEFAULT_TIMEOUT, RankTest};
pub use run::run;
