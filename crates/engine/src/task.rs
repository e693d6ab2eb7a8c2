// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operations of a communicator that are written as `async fn`: starting them, and the requests that they complete.
//!
//! The tasks themselves, and how progress polls them, are [`crate::progress`]'s.

use std::future::{Future, poll_fn};

use fabric::board::kind as record_kind;

use crate::call::CallName;
use crate::comm::{COLLECTIVE, Comm};
use crate::errors::Result;
use crate::identity::LinkIndex;
use crate::progress::CALL;
use crate::request::{RequestId, Role, Status, flag, stale};

pub use crate::progress::{Begun, Completion, Kept, block_on, complete_request};
pub(crate) use crate::progress::{Waiting, current_call, go_on, park, watch};
pub(crate) use crate::request::Boxed;
pub use crate::request::{FastPlan, Started};

/// A future that says to which call it belongs when it is polled, where ranks compare their calls.
fn named(comm: &Comm, call: CallName, mut future: Boxed) -> Boxed {
    if !comm.process.settings().check.collectives {
        return future;
    }
    let name = call.name().unwrap_or("");
    Box::pin(poll_fn(move |context| {
        let before = CALL.replace(name);
        let outcome = future.as_mut().poll(context);
        CALL.set(before);
        outcome
    }))
}

/// Says in which call an error came up that another call tells.
async fn ended_in(call: CallName, future: impl Future<Output = Result<()>>) -> Result<Status> {
    match (future.await, call.name()) {
        (Ok(()), _) => Ok(Status::EMPTY),
        (Err(error), None) => Err(error),
        (Err(error), Some(name)) => Err(error.in_call(name)),
    }
}

/// Runs a collective to its end on the caller's stack.
///
/// # Errors
/// The collective's error, or MPI_ERR_COMM when another thread is in a collective on the communicator and that is checked.
pub(crate) fn run_collective<T>(
    comm: &Comm,
    call: &'static str,
    future: impl Future<Output = Result<T>>,
) -> Result<T> {
    let _entered = comm.enter_collective(call)?;
    block_on(comm.vci(), call, future)
}

/// The future of a collective whose end another call tells.
pub(crate) fn apart(
    comm: &Comm,
    call: CallName,
    future: impl Future<Output = Result<()>> + 'static,
) -> Boxed {
    named(comm, call, Box::pin(ended_in(call, future)))
}

/// Starts a future as a task of the communicator's VCI and returns the request that it completes.
///
/// # Errors
/// When no operation is free.
pub fn spawn(
    comm: &Comm,
    future: impl Future<Output = Result<Status>> + 'static,
) -> Result<RequestId> {
    let request = new_request(comm, CallName::UNKNOWN)?;
    comm.vci().start_task(request, Box::pin(future));
    Ok(request)
}

/// What starts a persistent collective.
pub(crate) struct Plan {
    /// Its fast path.
    pub(crate) fast: FastPlan,
    /// The same as a future.
    pub(crate) again: Box<dyn Fn() -> Boxed>,
}

/// A persistent request of a collective.
///
/// # Errors
/// When no operation is free.
pub(crate) fn plan_collective(comm: &Comm, call: CallName, plan: Plan) -> Result<RequestId> {
    let request = new_request(comm, call)?;
    let mut guard = comm.vci().enter();
    let index = guard.slab.find(request).ok_or_else(|| stale(request))?;
    guard.slab.record_mut(index).kind = record_kind::INACTIVE;
    let entry = guard.slab.entry_mut(index);
    entry.record.flags |= flag::PERSISTENT;
    let (base, start) = plan.fast.parts();
    entry.base = base;
    entry.task_mut().start = Some(start);
    entry.set(flag::PLANNED);
    let extra = entry.extra.get_or_insert_default();
    (extra.fast, extra.again) = (Some(plan.fast), Some(plan.again));
    Ok(request)
}

/// As [`spawn`] for a collective, which has no status to tell.
///
/// # Errors
/// When no operation is free.
pub fn spawn_collective(
    comm: &Comm,
    call: CallName,
    future: impl Future<Output = Result<()>> + 'static,
) -> Result<RequestId> {
    let request = new_request(comm, call)?;
    comm.vci().start_task(request, apart(comm, call, future));
    Ok(request)
}

/// A request that neither sends nor receives: of a task, of a collective if its call is known, or completed by the user (generalized
/// requests).
///
/// # Errors
/// When no operation is free.
pub fn new_request(comm: &Comm, call: CallName) -> Result<RequestId> {
    let mut guard = comm.vci().enter();
    let kind = match call {
        CallName::UNKNOWN => record_kind::OTHER,
        _ => record_kind::COLLECTIVE,
    };
    let index = guard.slab.take(Role::Task, kind)?;
    let stamp = guard.node.now_ms();
    // SAFETY: the guard of the communicator's VCI is held.
    let owner = unsafe { comm.hold_operation() };
    let entry = guard.slab.entry_mut(index);
    entry.owner = owner;
    (entry.task_mut().call, entry.task_mut().start) = (call.number(), None);
    let record = &mut entry.record;
    record.match_word = (comm.match_base() + COLLECTIVE) | call.number();
    (record.peer, record.bytes, record.stamp_ms) = (LinkIndex::ANY, 0, stamp);
    Ok(guard.slab.id(index))
}
