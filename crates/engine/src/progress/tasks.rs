// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks: operations written as `async fn`, polled by progress.
//!
//! The engine is the only executor. A blocking call polls its future on the caller's stack ([`block_on`]); a nonblocking one
//! is boxed into the VCI's list (`task::spawn`) and completes a request. Futures wait for requests ([`Completion`]) or for
//! words of shared memory, so a poll after each round of progress is all the waking they need.

// account: progress

use std::cell::Cell;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::PoisonError;
use std::task::{Context, Poll, Waker};

use fabric::trace::TraceKind;
use sys::spin;
use sys::sync::{AtomicU32, AtomicUsize, Mutex, MutexGuard, Ordering};

use super::Vci;
use crate::call::CallName;
use crate::errors::{Error, Result};
use crate::identity::LinkIndex;
use crate::request::{Boxed, RequestId, Started, Status, stale};
use crate::vci::Watch;
use crate::vci::finish;
use crate::vci::task::polling;

/// The rest of an operation that only waits for the data of other members.
pub(crate) trait Waiting {
    /// Whether the data are there.
    fn is_ready(&self) -> bool;
    /// A member whose data are not there.
    fn awaited(&self) -> Option<LinkIndex>;
    /// Uses the data and completes the operation.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// The rest of a started operation, boxed because usually there is none.
pub struct Kept<'a>(pub(crate) Box<dyn Waiting + 'a>);

/// A started collective: its rest, or `None` if it is complete.
pub type Begun<'a> = Option<Box<Kept<'a>>>;

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

/// Operations that are searched for the one that a call waits for.
const FEW: usize = 8;

/// A program that tests in a loop has its collectives recorded for the launcher after so many polls.
const RECORD_INTERVAL: u32 = 1 << 12;

struct Task {
    future: Boxed,
    request: RequestId,
    /// The receive without which the last poll found that it cannot go on.
    parks_on: Option<RequestId>,
    /// The peer whose word of shared memory it waited for when it was polled last.
    awaited: Option<LinkIndex>,
}

impl Task {
    fn poll(&mut self) -> Poll<Result<Status>> {
        WATCH.set(None);
        let outcome = polling(|| poll_once(self.future.as_mut()));
        self.parks_on = PARKING.take();
        self.awaited = WATCH.take().map(|watch| watch.peer());
        outcome
    }
}

/// Tasks that no thread polls now.
#[derive(Default)]
struct Idle {
    tasks: Vec<Task>,
    /// Tasks by the receive that each waits for. Rounds of progress do not poll them, so idle services cost a round nothing.
    parked: BTreeMap<u64, Task>,
    /// Number of threads that have taken the tasks, to poll them.
    away: u32,
    /// Whether another thread looked for tasks meanwhile.
    missed: bool,
}

/// The result of an attempt to poll tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TasksPolled {
    /// This call polled all tasks.
    Here,
    /// It polled none: another thread polls them, or a call further up the stack.
    Elsewhere,
}

thread_local! {
    /// The word of shared memory that the future polled last by this thread waits for.
    static WATCH: Cell<Option<Watch>> = const { Cell::new(None) };
}

thread_local! {
    /// The call of the future that this thread polls: its name in C, where known.
    pub(crate) static CALL: Cell<&'static str> = const { Cell::new("") };
}

/// The collective call of the future that is being polled; for tasks known only where ranks compare their calls.
pub(crate) fn current_call() -> CallName {
    CallName::of(CALL.get())
}

thread_local! {
    /// The receive that the task polled last by this thread is to be parked on.
    static PARKING: Cell<Option<RequestId>> = const { Cell::new(None) };
}

/// The task being polled goes on only when this receive is complete: it need not be polled before.
pub(crate) fn park(receive: RequestId) {
    PARKING.set(Some(receive));
}

/// Sets the word that the future being polled waits for.
pub(crate) fn watch(watch: Watch) {
    WATCH.set(Some(watch));
}

/// The tasks of a VCI.
#[derive(Default)]
pub(crate) struct TaskList {
    idle: Mutex<Idle>,
    /// Operations that only wait for the data of other members.
    kept: Mutex<Vec<(RequestId, Box<dyn Waiting>)>>,
    /// Of both kinds.
    count: AtomicUsize,
    /// How often they were polled; threads may lose some.
    polls: AtomicU32,
    /// Tasks that serve other ranks until an object of this rank is freed.
    services: AtomicUsize,
    /// Those of them that poll in every round.
    helpers: AtomicUsize,
    /// Operations of other ranks that they have executed.
    pub(super) helped: AtomicU32,
}

impl TaskList {
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Relaxed) == 0
    }

    /// Has no task polled any more, in a forked child.
    pub(super) fn cut_off(&self) {
        self.count.store(0, Ordering::Relaxed);
    }

    fn idle(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Idle {
    /// Takes back the parked tasks whose receives are complete.
    fn unpark(&mut self, vci: &Vci) {
        if self.parked.is_empty() {
            return;
        }
        for receive in std::mem::take(&mut vci.enter().woken) {
            self.tasks.extend(self.parked.remove(&receive.0));
        }
    }

    /// Keeps a task until the receive that it is parked on is complete, or else for the next round.
    fn keep(&mut self, vci: &Vci, task: Task) {
        // `unpark` holds the same mutex, so it finds the task of every receive that is noted.
        let parks_on = task.parks_on;
        match parks_on.filter(|&receive| vci.enter().watch_receive(receive)) {
            Some(receive) => {
                self.parked.insert(receive.0, task);
            }
            None => self.tasks.push(task),
        }
    }
}

impl Vci {
    /// Whether no task is in progress that ends by itself.
    pub(crate) fn has_no_tasks(&self) -> bool {
        let services = self.tasks.services.load(Ordering::Relaxed);
        self.tasks.count.load(Ordering::Relaxed) == services
    }

    /// Number of tasks that each round of progress polls.
    #[cfg(test)]
    pub(crate) fn polled_tasks(&self) -> usize {
        let mut idle = self.tasks.idle();
        idle.unpark(self);
        idle.tasks.len()
    }

    /// Number of tasks that serve other ranks and poll in every round.
    pub(crate) fn helpers(&self) -> usize {
        self.tasks.helpers.load(Ordering::Relaxed)
    }

    /// A task that serves other ranks and polls in every round has been started, or has ended.
    pub(crate) fn count_helper(&self, is_started: bool) {
        self.count_service(is_started);
        if is_started {
            self.tasks.helpers.fetch_add(1, Ordering::Relaxed);
        } else {
            self.tasks.helpers.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// A task that serves other ranks has been started, or has ended.
    pub(crate) fn count_service(&self, is_started: bool) {
        if is_started {
            self.tasks.services.fetch_add(1, Ordering::Relaxed);
        } else {
            self.tasks.services.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Polls every task once. Called without the guard: tasks start operations. A task that is being polled is out of the
    /// list, so that a nested call cannot poll it again.
    #[inline(always)]
    pub(crate) fn poll_tasks(&self) -> TasksPolled {
        if self.tasks.is_empty() {
            return TasksPolled::Here;
        }
        self.poll_all_tasks()
    }

    #[inline(never)]
    fn poll_all_tasks(&self) -> TasksPolled {
        self.poll_kept();
        let polls = self.tasks.polls.load(Ordering::Relaxed).wrapping_add(1);
        self.tasks.polls.store(polls, Ordering::Relaxed);
        if polls.is_multiple_of(RECORD_INTERVAL) {
            self.record_awaited();
        }
        let mut tasks = {
            let mut idle = self.tasks.idle();
            idle.unpark(self);
            if idle.tasks.is_empty() {
                if idle.away > 0 {
                    idle.missed = true;
                    return TasksPolled::Elsewhere;
                }
                // The operations in the list only wait for the data of other members.
                return TasksPolled::Here;
            }
            idle.away += 1;
            std::mem::take(&mut idle.tasks)
        };
        let mut has_parking = false;
        tasks.retain_mut(|task| match task.poll() {
            Poll::Pending => {
                has_parking |= task.parks_on.is_some();
                true
            }
            Poll::Ready(outcome) => {
                self.finish_task(task.request, outcome.map(Some));
                self.tasks.count.fetch_sub(1, Ordering::Relaxed);
                false
            }
        });
        let missed = {
            let mut idle = self.tasks.idle();
            if has_parking {
                for task in tasks.extract_if(.., |task| task.parks_on.is_some()) {
                    idle.keep(self, task);
                }
            }
            tasks.append(&mut idle.tasks);
            idle.tasks = tasks;
            idle.away -= 1;
            std::mem::take(&mut idle.missed)
        };
        if missed && self.is_threaded() {
            // A thread that found no tasks may have gone to sleep.
            self.ring_own_doorbell();
        }
        TasksPolled::Here
    }

    /// Polls a task for the first time, before its start returns, and keeps it if it is not complete then.
    pub(crate) fn start_task(&self, request: RequestId, future: Boxed) {
        if self.traces() {
            self.trace_task(request);
        }
        let mut task = Task {
            future,
            request,
            parks_on: None,
            awaited: None,
        };
        match task.poll() {
            Poll::Ready(outcome) => self.finish_task(request, outcome.map(Some)),
            Poll::Pending => {
                self.tasks.count.fetch_add(1, Ordering::Relaxed);
                if task.awaited.is_some() {
                    self.enter().record_awaited(request, task.awaited);
                }
                self.tasks.idle().keep(self, task);
                self.rouse();
            }
        }
    }

    /// Records that a collective goes on by itself.
    #[cold]
    fn trace_task(&self, request: RequestId) {
        let mut guard = self.enter();
        let index = guard.slab.find(request);
        let call = index.map_or(0, |index| guard.slab.entry(index).task().call);
        if let Some(name) = CallName::from_number(call).name() {
            guard.trace_call(TraceKind::TaskBegin, name, request);
        }
    }

    /// Polls for a moment for the data that the operation of a request needs, if it only waits for the data of other members, and
    /// completes it when they have come: a member that arrives at about the same time is not worth a round of progress. Polls nothing
    /// else meanwhile.
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
        let mut polls = self.short_polls();
        while polls != 0 && !list[index].1.is_ready() {
            polls -= 1;
            spin::cpu_relax();
        }
        if polls != 0 {
            let (_, kept) = list.remove(index);
            drop(list);
            self.tasks.count.fetch_sub(1, Ordering::Relaxed);
            self.finish_task(request, kept.finish().map(|()| None));
        }
    }

    /// Completes the operations whose data have arrived. They are out of the list meanwhile, because reductions may call functions of
    /// the user.
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

    /// Keeps the rest of an operation with its request.
    pub(crate) fn start_waiting(&self, request: RequestId, kept: Box<dyn Waiting>) {
        self.tasks.count.fetch_add(1, Ordering::Relaxed);
        self.enter().record_begun(request, kept.awaited());
        match self.tasks.kept.lock() {
            Ok(mut list) => list.push((request, kept)),
            Err(poisoned) => poisoned.into_inner().push((request, kept)),
        }
    }

    /// Records for the launcher which member each collective in progress waits for. Leaves out what another thread polls.
    #[cold]
    pub(super) fn record_awaited(&self) {
        if self.tasks.is_empty() {
            return;
        }
        let mut found = Vec::new();
        if let Ok(list) = self.tasks.kept.try_lock() {
            found.extend(
                list.iter()
                    .map(|(request, kept)| (*request, kept.awaited())),
            );
        }
        if let Ok(idle) = self.tasks.idle.try_lock() {
            found.extend(idle.tasks.iter().map(|task| (task.request, task.awaited)));
        }
        let mut guard = self.enter();
        for (request, peer) in found {
            guard.record_awaited(request, peer);
        }
    }

    /// Ends the operation of a request, with a status if it has one.
    pub(crate) fn finish_task(&self, request: RequestId, outcome: Result<Option<Status>>) {
        let mut guard = self.enter();
        guard.events += 1;
        if let Some(index) = guard.slab.find(request) {
            let entry = guard.slab.entry_mut(index);
            match outcome {
                Ok(None) => {}
                Ok(status) => entry.extra.get_or_insert_default().status = status,
                Err(error) => entry.fail(&error),
            }
            guard.complete_noted(index);
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
    let mut is_shown = false;
    let outcome = loop {
        let seen = vci.enter().events;
        WATCH.set(None);
        CALL.set(call);
        if let Poll::Ready(outcome) = poll_once(future.as_mut()) {
            break outcome;
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
        is_shown |= vci.is_shown();
        if let Err(error) = waited {
            break Err(error);
        }
    };
    if is_shown {
        vci.end_shown();
    }
    outcome
}

/// Continues a collective whose fast path had this outcome.
#[inline(never)]
pub(crate) fn go_on(vci: &Vci, id: RequestId, begun: Option<Result<Begun<'_>>>) -> Started {
    let mut guard = vci.enter();
    let Some(index) = guard.slab.find(id) else {
        // An active request exists.
        return Started::WELL;
    };
    match begun {
        Some(Ok(None)) => guard.complete(index),
        Some(Err(error)) => {
            guard.slab.entry_mut(index).fail(&error);
            guard.complete(index);
        }
        Some(Ok(Some(shown))) => {
            drop(guard);
            // SAFETY: the request, active until this is done, counts as pending on the communicator.
            vci.start_waiting(id, unsafe { shown.keep() });
        }
        None => {
            let extra = guard.slab.entry_mut(index).extra.get_or_insert_default();
            // No other thread uses it meanwhile.
            let Some(again) = extra.again.take() else {
                return Started::WELL;
            };
            drop(guard);
            // It may call functions of the program, which may free the request.
            vci.start_task(id, again());
            let mut guard = vci.enter();
            if let Some(index) = guard.slab.find(id) {
                let extra = guard.slab.entry_mut(index).extra.get_or_insert_default();
                extra.again = Some(again);
            }
        }
    }
    Started::WELL
}

/// Completes a request made by `task::new_request`.
///
/// # Errors
/// When the request is not one of those.
pub fn complete_request(vci: &Vci, request: RequestId) -> Result<()> {
    let mut guard = vci.of(request).enter();
    let index = guard.slab.find(request).ok_or_else(|| stale(request))?;
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
    /// Waits for `request` of the process of `vci`.
    pub fn new(vci: &'a Vci, request: RequestId) -> Self {
        let vci = vci.of(request);
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
        let (status, text) = finish(&mut guard, &mut request);
        drop(guard);
        Poll::Ready(match status.error {
            0 => Ok(status),
            class => Err(Error::new(crate::ErrorClass(class), text)),
        })
    }
}
