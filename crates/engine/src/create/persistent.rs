// SPDX-License-Identifier: MIT OR Apache-2.0
//! Persistent collectives: each request has a communicator of its own.

use std::future::Future;
use std::sync::Arc;

use super::members::hidden;
use crate::call::CallName;
use crate::coll::{FastPlan, plan_by_task};
use crate::comm::Comm;
use crate::errors::Result;
use crate::request::RequestId;
use crate::task::{self, Boxed, Plan};

/// A persistent request of a collective, each start of which takes the fast path, where the collective has one and can take it, or
/// runs a future that `again` makes for the communicator that it is given.
///
/// Members may start their requests in any order (MPI-5.0, section 6.13), so each request has a communicator of its own, on
/// which nothing else is started. That one goes with the request.
///
/// # Errors
/// When no operation or no context is free.
pub fn plan<W: Future<Output = Result<()>> + 'static>(
    call: &'static str,
    comm: &Arc<Comm>,
    fast: Option<FastPlan>,
    again: impl Fn(Arc<Comm>) -> W + 'static,
) -> Result<RequestId> {
    let name = CallName::of_collective(call);
    let own = hidden(comm, call)?;
    let home = own.clone();
    let again = move || -> Boxed { task::apart(&home, name, again(home.clone())) };
    let again = Box::new(again);
    let fast = fast.unwrap_or_else(plan_by_task);
    let request = task::plan_collective(&own, name, Plan { fast, again });
    // The request counts as pending on it.
    own.free();
    request
}
