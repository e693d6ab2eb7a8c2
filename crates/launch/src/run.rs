// SPDX-License-Identifier: MIT OR Apache-2.0
//! A job from its plan to its outcome.

use crate::outcome::JobOutcome;
use crate::output::Role;
use crate::plan::JobPlan;
use crate::{LaunchError, cluster, supervise};

/// Runs a job to its end. The calling thread supervises it, and the ranks are killed if that thread ends.
///
/// # Errors
/// When a host cannot be reached, a program cannot be started, or the system refuses what a job needs. A rank's failure is no
/// error but an outcome.
pub fn run(plan: &JobPlan) -> Result<JobOutcome, LaunchError> {
    run_as(plan, Role::Library)
}

pub(crate) fn run_as(plan: &JobPlan, role: Role) -> Result<JobOutcome, LaunchError> {
    match &plan.hosts {
        Some(hosts) => cluster::run(plan, hosts, role),
        None => supervise::run(plan, role),
    }
}
