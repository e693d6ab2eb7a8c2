// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks: operations written as `async fn`, polled by progress.
//!
//! The engine is the only executor. A blocking call polls its future on the caller's stack ([`block_on`]); a nonblocking one
//! is boxed into the VCI's list ([`spawn`]) and completes a request. Futures wait for requests ([`Completion`]) or for
//! words of shared memory, so a poll after each round of progress is all the waking they need.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::ptr::NonNull;
use std::sync::PoisonError;
use std::task::{Context, Poll, Waker};

use fabric::board::kind as record_kind;
use fabric::os;
use fabric::sync::{AtomicUsize, Mutex, MutexGuard, Ordering};

use crate::call::CallName;
use crate::comm::Comm;
use crate::errors::{Error, Result};
use crate::request::{self, Status};
use crate::vci::operations::{Op, RequestId, Role, flag};
use crate::vci::{Vci, Watch};

pub(crate) type Boxed = Pin<Box<dyn Future<Output = Result<Status>>>>;

/// What is left of an operation that only waits for others' data.
pub(crate) trait Waiting {
    /// Whether they are there.
    fn is_ready(&self) -> bool;
    /// Does what is to be done with them.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// What is left of an operation that has been started: behind a thin address, because most often there is nothing.
pub struct Kept<'a>(pub(crate) Box<dyn Waiting + 'a>);

/// A collective that has been started: what is left of it, or nothing if it is complete.
pub type Begun<'a> = Option<Box<Kept<'a>>>;

/// How a persistent collective starts on its straight line: what its starts find, and the function that starts it.
pub struct ShortPlan {
    found: Box<dyn Anything>,
    start: Start,
}

/// Starts the persistent collective of an entry, whose `base` is what its plan has for that.
///
/// # Safety
/// The entry is an active planned one, with a plan of which this is the start. No other thread is inside MPI, and no guard is used.
pub(crate) type Start = unsafe fn(NonNull<Op>) -> Started;

/// What every start gives: MPI_SUCCESS, because the wait tells what went wrong. It is a number, so that the C call ends with a jump to the
/// start.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Started(i32);

impl Started {
    pub(crate) const WELL: Self = Self(0);

    /// What the C call returns.
    #[inline(always)]
    pub const fn code(self) -> i32 {
        self.0
    }
}

/// What only has to be dropped.
trait Anything {}

impl<T> Anything for T {}

impl ShortPlan {
    /// A plan whose starts find `found`.
    pub(crate) fn new<T: 'static>(found: Box<T>, start: Start) -> Self {
        Self { found, start }
    }

    /// What an entry keeps for its starts; valid while the plan lives.
    pub(crate) fn parts(&self) -> (*mut u8, Start) {
        ((&raw const *self.found).cast::<u8>().cast_mut(), self.start)
    }
}

impl Kept<'_> {
    /// The same, to be kept with a request.
    ///
    /// # Safety
    /// The communicator outlives it.
    pub(crate) unsafe fn keep(self) -> Box<dyn Waiting> {
        // SAFETY: lifetimes only; the caller's promise.
        unsafe { std::mem::transmute::<Box<dyn Waiting + '_>, Box<dyn Waiting>>(self.0) }
    }
}

/// Operations among which one that is waited for is looked for.
const FEW: usize = 8;

struct Task {
    future: Boxed,
    request: RequestId,
}

/// Tasks that nobody polls now.
#[derive(Default)]
struct Idle {
    tasks: Vec<Task>,
    /// How many have taken all that there were, to poll them.
    away: u32,
    /// Whether somebody else looked for them meanwhile.
    missed: bool,
}

/// What became of an attempt to poll tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Polled {
    /// All that there are.
    Here,
    /// None: another thread has them, or a call further up in this one.
    Elsewhere,
}

thread_local! {
    /// What the future that this thread polled last waits for besides.
    static WATCH: Cell<Option<Watch>> = const { Cell::new(None) };
}

thread_local! {
    /// The call that the future belongs to that this thread polls: its name in C where it is known.
    static CALL: Cell<&'static str> = const { Cell::new("") };
}

/// The collective call to which the future that is being polled belongs; known of tasks only where ranks compare their calls.
pub(crate) fn current_call() -> CallName {
    CallName::of(CALL.get())
}

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

/// The future of a collective whose end another call tells.
pub(crate) fn apart(
    comm: &Comm,
    call: CallName,
    future: impl Future<Output = Result<()>> + 'static,
) -> Boxed {
    named(comm, call, Box::pin(ended_in(call, future)))
}

/// Says which word the future that is being polled waits for.
pub(crate) fn watch(watch: Watch) {
    WATCH.set(Some(watch));
}

/// The tasks of a VCI.
#[derive(Default)]
pub(crate) struct TaskList {
    idle: Mutex<Idle>,
    /// Operations that only wait for others' data.
    kept: Mutex<Vec<(RequestId, Box<dyn Waiting>)>>,
    /// Of both kinds.
    count: AtomicUsize,
}

impl TaskList {
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Relaxed) == 0
    }

    fn idle(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Vci {
    /// Whether no operation is under way that tasks carry.
    pub(crate) fn has_no_tasks(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Polls every task once. Called without the guard: tasks start operations. A task that is being polled is out of the
    /// list, so that a nested call cannot poll it again.
    #[inline(always)]
    pub(crate) fn poll_tasks(&self) -> Polled {
        if self.tasks.is_empty() {
            return Polled::Here;
        }
        self.poll_all_tasks()
    }

    #[inline(never)]
    fn poll_all_tasks(&self) -> Polled {
        self.poll_kept();
        let mut tasks = {
            let mut idle = self.tasks.idle();
            if idle.tasks.is_empty() {
                if idle.away > 0 {
                    idle.missed = true;
                    return Polled::Elsewhere;
                }
                // What there is only waits for others' data.
                return Polled::Here;
            }
            idle.away += 1;
            std::mem::take(&mut idle.tasks)
        };
        tasks.retain_mut(|task| match poll_once(task.future.as_mut()) {
            Poll::Pending => true,
            Poll::Ready(outcome) => {
                self.finish_task(task.request, outcome.map(Some));
                self.tasks.count.fetch_sub(1, Ordering::Relaxed);
                false
            }
        });
        let missed = {
            let mut idle = self.tasks.idle();
            tasks.append(&mut idle.tasks);
            idle.tasks = tasks;
            idle.away -= 1;
            std::mem::take(&mut idle.missed)
        };
        if missed && self.is_threaded() {
            // Who found none may have gone to sleep.
            self.ring_own_doorbell();
        }
        Polled::Here
    }

    /// Polls a task for the first time, before its start returns, and keeps it if it is not complete then.
    pub(crate) fn start_task(&self, request: RequestId, mut future: Boxed) {
        match poll_once(future.as_mut()) {
            Poll::Ready(outcome) => self.finish_task(request, outcome.map(Some)),
            Poll::Pending => {
                self.tasks.count.fetch_add(1, Ordering::Relaxed);
                self.tasks.idle().tasks.push(Task { future, request });
                self.rouse();
            }
        }
    }

    /// Waits for a moment for the data that the operation of a request needs, if it only waits for others' data, and ends it when they have
    /// come: whoever comes at about the same time is not worth a round of progress. Nothing else is looked at meanwhile.
    #[inline]
    pub(crate) fn expect_kept(&self, request: RequestId) {
        if !self.tasks.is_empty() && !self.is_threaded() {
            self.expect_one_kept(request);
        }
    }

    #[inline(never)]
    fn expect_one_kept(&self, request: RequestId) {
        let Ok(mut list) = self.tasks.kept.try_lock() else {
            return;
        };
        let few = list.iter().take(FEW);
        let Some(index) = few.map(|(id, _)| *id).position(|id| id == request) else {
            return;
        };
        let mut looks = self.short_polls();
        while looks != 0 && !list[index].1.is_ready() {
            looks -= 1;
            os::between_looks();
        }
        if looks != 0 {
            let (_, kept) = list.remove(index);
            drop(list);
            self.tasks.count.fetch_sub(1, Ordering::Relaxed);
            self.finish_task(request, kept.finish().map(|()| None));
        }
    }

    /// Ends the operations whose data have come. Out of the list while they do, because reductions may call
    /// functions of the user.
    fn poll_kept(&self) {
        let Ok(mut list) = self.tasks.kept.try_lock() else {
            return;
        };
        let mut index = 0;
        while let Some((_, kept)) = list.get(index) {
            if !kept.is_ready() {
                index += 1;
                continue;
            }
            let (request, kept) = list.remove(index);
            drop(list);
            self.tasks.count.fetch_sub(1, Ordering::Relaxed);
            self.finish_task(request, kept.finish().map(|()| None));
            let Ok(again) = self.tasks.kept.try_lock() else {
                return;
            };
            list = again;
        }
    }

    /// Keeps what is left of an operation with its request.
    pub(crate) fn start_waiting(&self, request: RequestId, kept: Box<dyn Waiting>) {
        self.tasks.count.fetch_add(1, Ordering::Relaxed);
        match self.tasks.kept.lock() {
            Ok(mut list) => list.push((request, kept)),
            Err(poisoned) => poisoned.into_inner().push((request, kept)),
        }
    }

    /// Ends the operation of a request, with a status if it has one.
    pub(crate) fn finish_task(&self, request: RequestId, outcome: Result<Option<Status>>) {
        let mut guard = self.enter();
        guard.events += 1;
        if let Some(index) = guard.ops.find(request) {
            let op = guard.ops.op_mut(index);
            match outcome {
                Ok(None) => {}
                Ok(status) => op.extra.get_or_insert_default().status = status,
                Err(error) => fail(op, &error),
            }
            guard.complete(index);
        }
        drop(guard);
        if self.is_threaded() {
            self.ring_own_doorbell();
        }
    }
}

fn poll_once<F: Future + ?Sized>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Runs a future to its end on the caller's stack, making progress between polls.
///
/// # Errors
/// The future's error, or a fault of the VCI.
pub fn block_on<T>(
    vci: &Vci,
    call: &'static str,
    future: impl Future<Output = Result<T>>,
) -> Result<T> {
    let mut future = pin!(future);
    loop {
        let seen = vci.enter().events;
        WATCH.set(None);
        CALL.set(call);
        if let Poll::Ready(outcome) = poll_once(future.as_mut()) {
            return outcome;
        }
        let watch = WATCH.take();
        vci.enter().awaited = watch.as_ref().map(Watch::awaited);
        let waited = match watch {
            None => vci.wait_until(call, |state| state.events != seen),
            Some(watch) => vci.wait_until_brought(call, watch.peer(), |state| {
                state.events != seen || watch.has_changed()
            }),
        };
        vci.enter().awaited = None;
        waited?;
    }
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
    comm.vci.start_task(request, Box::pin(future));
    Ok(request)
}

/// What starts a persistent collective.
pub(crate) struct Plan {
    /// Its straight line.
    pub(crate) short: ShortPlan,
    /// The same as a future.
    pub(crate) again: Box<dyn Fn() -> Boxed>,
}

/// What becomes of a collective whose straight line gave this.
#[inline(never)]
pub(crate) fn go_on(vci: &Vci, id: RequestId, begun: Option<Result<Begun<'_>>>) -> Started {
    let mut guard = vci.enter();
    let Some(index) = guard.ops.find(id) else {
        // It lives, because it is active.
        return Started::WELL;
    };
    match begun {
        Some(Ok(None)) => guard.complete(index),
        Some(Err(error)) => {
            fail(guard.ops.op_mut(index), &error);
            guard.complete(index);
        }
        Some(Ok(Some(shown))) => {
            drop(guard);
            // SAFETY: the request, active until this is done, counts as pending on the communicator.
            vci.start_waiting(id, unsafe { shown.keep() });
        }
        None => {
            let extra = guard.ops.op_mut(index).extra.get_or_insert_default();
            // Nobody else needs it meanwhile.
            let Some(again) = extra.again.take() else {
                return Started::WELL;
            };
            drop(guard);
            // It may call functions of the program, which may free the request.
            vci.start_task(id, again());
            let mut guard = vci.enter();
            if let Some(index) = guard.ops.find(id) {
                let extra = guard.ops.op_mut(index).extra.get_or_insert_default();
                extra.again = Some(again);
            }
        }
    }
    Started::WELL
}

/// Notes how an operation went wrong.
#[cold]
pub(crate) fn fail(op: &mut Op, error: &Error) {
    op.error = error.class().0;
    op.set_planned(false);
    let extra = op.extra.get_or_insert_default();
    extra.error_text = error.to_string();
    extra.status = None;
}

/// A persistent request of a collective.
///
/// # Errors
/// When no operation is free.
pub(crate) fn plan_collective(comm: &Comm, call: CallName, plan: Plan) -> Result<RequestId> {
    let request = new_request(comm, call)?;
    let mut guard = comm.vci.enter();
    let index = guard
        .ops
        .find(request)
        .ok_or_else(|| request::stale(request))?;
    guard.ops.record_mut(index).kind = record_kind::INACTIVE;
    let op = guard.ops.op_mut(index);
    op.record.flags |= flag::PERSISTENT;
    let (base, start) = plan.short.parts();
    (op.base, op.start) = (base, Some(start));
    op.set_planned(true);
    let extra = op.extra.get_or_insert_default();
    (extra.short, extra.again) = (Some(plan.short), Some(plan.again));
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
    comm.vci.start_task(request, apart(comm, call, future));
    Ok(request)
}

/// A request that neither sends nor receives: of a task, of a collective if its call is known, or completed by the user (generalized
/// requests).
///
/// # Errors
/// When no operation is free.
pub fn new_request(comm: &Comm, call: CallName) -> Result<RequestId> {
    let mut guard = comm.vci.enter();
    let index = guard.ops.take(Role::Task, record_kind::OTHER)?;
    // SAFETY: the guard of the communicator's VCI is held.
    unsafe { comm.hold_operation() };
    let op = guard.ops.op_mut(index);
    (op.comm, op.remote) = (comm, call.number());
    Ok(guard.ops.id(index))
}

/// Completes a request made by [`new_request`].
///
/// # Errors
/// When the request is not one of those.
pub fn complete_request(vci: &Vci, request: RequestId) -> Result<()> {
    let mut guard = vci.enter();
    let index = guard
        .ops
        .find(request)
        .ok_or_else(|| request::stale(request))?;
    guard.events += 1;
    guard.complete(index);
    Ok(())
}

/// A future that ends when a request is complete, and frees it.
pub struct Completion<'a> {
    vci: &'a Vci,
    request: RequestId,
}

impl<'a> Completion<'a> {
    /// Waits for `request` of `vci`.
    pub const fn new(vci: &'a Vci, request: RequestId) -> Self {
        Self { vci, request }
    }
}

impl Future for Completion<'_> {
    type Output = Result<Status>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        let mut guard = self.vci.enter();
        if !guard.is_complete(self.request) {
            return Poll::Pending;
        }
        let mut request = self.request;
        let (status, text) = request::finish(&mut guard, &mut request);
        drop(guard);
        Poll::Ready(match status.error {
            0 => Ok(status),
            class => Err(Error::new(crate::ErrorClass(class), text)),
        })
    }
}
