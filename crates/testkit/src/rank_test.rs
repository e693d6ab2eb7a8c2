// SPDX-License-Identifier: MIT OR Apache-2.0
//! A multi-rank test.

use std::time::Duration;

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
