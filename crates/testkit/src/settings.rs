// SPDX-License-Identifier: MIT OR Apache-2.0
//! Variables that the test kit reads from the environment.

use std::time::Duration;

/// Set by the launcher for each rank.
const JOB_VARIABLE: &str = "RANKPOINT_JOB";
/// Seconds that one job of a test may take, for slow nodes and for debugging.
const TIMEOUT_VARIABLE: &str = "RANKPOINT_TEST_TIMEOUT_S";

/// Whether this process is a rank.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the file that may read the environment"
)]
pub(crate) fn is_rank() -> bool {
    std::env::var_os(JOB_VARIABLE).is_some_and(|value| !value.is_empty())
}

/// The time limit that the environment asks for.
///
/// # Errors
/// With a sentence, when it is no number of seconds.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the file that may read the environment"
)]
pub(crate) fn timeout() -> Result<Option<Duration>, String> {
    let Ok(text) = std::env::var(TIMEOUT_VARIABLE) else {
        return Ok(None);
    };
    let seconds = text.parse().ok().filter(|&seconds| seconds > 0);
    let seconds = seconds
        .ok_or_else(|| format!("{TIMEOUT_VARIABLE} is '{text}', expected a number of seconds"))?;
    Ok(Some(Duration::from_secs(seconds)))
}
