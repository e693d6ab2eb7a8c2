// SPDX-License-Identifier: MIT OR Apache-2.0
//! A test as one of its ranks.

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{ExitCode, Termination};

use crate::settings;

/// A rank prints this line when its body has come to its end: proof that the harness found the test and ran it.
pub(crate) const DONE_MARK: &str = "<rankpoint test body is done>";
/// Exit status of a rank whose body failed; the test harness uses the same.
const FAILED: i32 = 101;

/// Whether this process is a rank of a job, and so has to run bodies instead of starting ranks.
pub fn is_rank() -> bool {
    settings::is_rank()
}

/// Runs the body of a test as a rank. When it fails, this process ends at once with status 101, so that the launcher can
/// end the other ranks, which may wait for this one.
pub fn run_as_rank<R: Termination>(body: impl FnOnce() -> R) {
    let body = || body().report() == ExitCode::SUCCESS;
    let passed = catch_unwind(AssertUnwindSafe(body)).unwrap_or(false);
    let mut out = std::io::stdout().lock();
    if passed {
        // Without the mark the parent takes this rank for failed, which it then is.
        let _ = writeln!(out, "{DONE_MARK}").and_then(|()| out.flush());
        return;
    }
    let _ = out.flush();
    #[expect(
        clippy::exit,
        reason = "the harness would go on waiting for threads that wait for other ranks"
    )]
    std::process::exit(FAILED);
}
