// SPDX-License-Identifier: MIT OR Apache-2.0
//! What this run of the tests has, by the variables of its environment.

use crate::settings;

/// Whether ranks share memory in this run. Tests of doorbells, cross-memory attach or the shared collective area end at once where
/// they do not.
pub(crate) fn shares_memory() -> bool {
    settings::simulated_network().is_none() && settings::test_nodes().is_none()
}

/// Ranks that a process has as endpoints in this run; `None` where ranks are processes.
pub(crate) fn endpoints_of_a_process() -> Option<u32> {
    settings::test_endpoints()
}
