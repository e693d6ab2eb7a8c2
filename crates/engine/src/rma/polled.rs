// SPDX-License-Identifier: MIT OR Apache-2.0
//! Short puts and gets of private memory, executed by a target that polls: two cache lines instead of a system call.
//!
//! The origin posts the operation in the cell of the target's board ([`fabric::lock::RequestCell`]). A task of the target, which its
//! calls and its progress thread advance, executes what it finds there. An origin that waits in vain takes the operation back and uses
//! the system call, so the target need not call anything; then it does so at once for a while, because the target computes.
#![expect(
    unsafe_code,
    reason = "origin and target are addresses that programs gave"
)]

use std::future::poll_fn;
use std::sync::{Arc, PoisonError};
use std::task::Poll;

use fabric::lock::{Outcome, RequestCell, Taken};
use fabric::window::{CELL_BYTES, WindowView};
use sys::spin;
use sys::sync::{AtomicBool, AtomicU8, Mutex, MutexGuard, Ordering};

use super::target::{Place, Target};
use super::transfer::{Direction, copy_run};
use super::window::Window;
use crate::errors::Result;
use crate::request::{RequestId, Status};
use crate::task::{self, Completion};

/// Windows of a VCI for which its member executes requests: each costs every round of progress a poll. Others use the system call.
pub(super) const MOST_HELPERS: usize = 16;

/// The target's side: the task that executes.
#[derive(Default)]
pub(super) struct Helper {
    /// This member's board, if others may post requests there.
    view: Option<WindowView>,
    task: Mutex<Option<RequestId>>,
    is_stopping: AtomicBool,
}

impl Helper {
    /// That of a member with this board.
    pub(super) fn new(view: Option<WindowView>) -> Self {
        Self {
            view: view.filter(WindowView::has_cell),
            ..Self::default()
        }
    }
}

/// What an origin knows about a target: whether it is worth while to ask.
#[derive(Default)]
pub(super) struct Willingness {
    /// Operations for which it is not asked after the next vain attempt.
    penalty: AtomicU8,
    /// Operations for which it is not asked from now on.
    skips: AtomicU8,
}

impl Willingness {
    /// Whether to ask for the next operation. Threads that race here ask once more or less.
    fn is_asked(&self) -> bool {
        let skips = self.skips.load(Ordering::Relaxed);
        if skips == 0 {
            return true;
        }
        self.skips.store(skips - 1, Ordering::Relaxed);
        false
    }

    fn has_answered(&self) {
        if self.penalty.load(Ordering::Relaxed) != 0 {
            self.penalty.store(0, Ordering::Relaxed);
        }
    }

    fn has_not_answered(&self) {
        let penalty = self.penalty.load(Ordering::Relaxed);
        let penalty = penalty.saturating_mul(2).saturating_add(1);
        self.penalty.store(penalty, Ordering::Relaxed);
        self.skips.store(penalty, Ordering::Relaxed);
    }
}

/// An operation as the second word of a cell holds it.
const fn described(bytes: usize, direction: Direction) -> u64 {
    (bytes as u64) << 1 | matches!(direction, Direction::Get) as u64
}

/// The converse of [`described`]. The length is as another process gave it.
const fn direction_of(word: u64) -> (u64, Direction) {
    let direction = match word & 1 {
        1 => Direction::Get,
        _ => Direction::Put,
    };
    (word >> 1, direction)
}

/// Where the data of so many bytes lie: beside the request or behind the board.
///
/// # Safety
/// This process holds the cell; `memory` is readable and writable for `bytes` bytes, at most [`CELL_BYTES`].
#[inline(always)]
unsafe fn move_data(view: &WindowView, memory: *mut u8, bytes: usize, into_cell: bool) {
    let cell = &view.board().cell;
    // SAFETY: the caller's promise; the data behind the board have room for that many.
    unsafe {
        if bytes > RequestCell::INLINE_BYTES {
            match into_cell {
                true => layout::copy_bytes(memory, view.cell_data(), bytes),
                false => layout::copy_bytes(view.cell_data(), memory, bytes),
            }
        } else if into_cell {
            let mut words = [0u64; RequestCell::INLINE_WORDS];
            copy_run(memory, words.as_mut_ptr().cast(), bytes);
            cell.store_data(words, bytes);
        } else {
            let words = cell.load_data(bytes);
            copy_run(words.as_ptr().cast(), memory, bytes);
        }
    }
}

/// Has a polling target execute an operation; false, and nothing done, if it does not.
///
/// # Safety
/// `here` is readable for a put and writable for a get of the place, whose elements are one run of bytes at `there`.
pub(super) unsafe fn transfer(
    window: &Window,
    here: *mut u8,
    (there, place): (*mut u8, &Place<'_>),
    direction: Direction,
) -> Result<bool> {
    let (target, bytes) = (place.target, place.bytes);
    let Some(view) = target.view.as_ref().filter(|view| view.has_cell()) else {
        return Ok(false);
    };
    let polls = window.comm.vci().direct_polls();
    if bytes > CELL_BYTES || polls == 0 || !target.willingness.is_asked() {
        return Ok(false);
    }
    let cell = &view.board().cell;
    let Some(taken) = cell.take() else {
        return Ok(false);
    };
    if direction == Direction::Put {
        // SAFETY: the caller's promise; the cell is this process's.
        unsafe { move_data(view, here, bytes, true) };
    }
    let offset = there as u64 - target.base as u64;
    cell.fill([offset, described(bytes, direction)]);
    cell.post(taken);
    let Some(outcome) = window.await_answer(target, cell, taken, polls, place.rank)? else {
        cell.free(taken);
        return Ok(false);
    };
    if outcome == Outcome::Answered {
        // SAFETY: as above; the answered cell is this process's again.
        unsafe { move_data(view, here, bytes, false) };
        cell.free(taken);
    }
    Ok(true)
}

impl Window {
    /// Waits until a target has executed a posted request; `None` when the request was taken back instead.
    fn await_answer(
        &self,
        target: &Target,
        cell: &RequestCell,
        taken: Taken,
        polls: u32,
        rank: u32,
    ) -> Result<Option<Outcome>> {
        for _ in 0..polls {
            let outcome = cell.outcome(taken);
            if outcome != Outcome::Pending {
                target.willingness.has_answered();
                return Ok(Some(outcome));
            }
            // The target may wait for this member in the same manner.
            self.help();
            spin::cpu_relax();
        }
        if cell.take_back(taken) {
            target.willingness.has_not_answered();
            return Ok(None);
        }
        // The target executes it now.
        let mut outcome = cell.outcome(taken);
        let (vci, awaited) = (self.comm.vci(), self.awaited(rank));
        vci.wait_for("an operation on a window", awaited, |_| {
            outcome = cell.outcome(taken);
            outcome != Outcome::Pending
        })?;
        Ok(Some(outcome))
    }

    /// Executes the request that an origin has posted to this member, if there is one.
    #[inline]
    fn help(&self) {
        if let Some(view) = &self.helper.view
            && let Some(taken) = view.board().cell.claim()
        {
            self.execute(view, taken);
        }
    }

    fn execute(&self, view: &WindowView, taken: Taken) {
        self.comm.vci().note_help();
        let cell = &view.board().cell;
        let [offset, described] = cell.asked();
        let (bytes, direction) = direction_of(described);
        let end = offset.checked_add(bytes);
        let is_inside = end.is_some_and(|end| end <= self.own().bytes);
        if !is_inside || bytes > CELL_BYTES as u64 {
            // Written by nobody who follows the protocol: an origin checks its operation.
            cell.free(taken);
            return;
        }
        let (there, bytes) = (self.base.wrapping_add(offset as usize), bytes as usize);
        let is_get = direction == Direction::Get;
        // SAFETY: inside the window, as checked here; this process has claimed the cell.
        unsafe { move_data(view, there, bytes, is_get) };
        if is_get {
            cell.answer(taken);
        } else {
            cell.free(taken);
        }
    }

    /// Starts the task that executes requests, if there can be any.
    ///
    /// # Errors
    /// When no request is free.
    pub(super) fn start_helping(self: &Arc<Self>) -> Result<()> {
        if self.helper.view.is_none() {
            return Ok(());
        }
        let window = self.clone();
        let task = poll_fn(move |_| {
            if window.helper.is_stopping.load(Ordering::Relaxed) {
                return Poll::Ready(Ok(Status::EMPTY));
            }
            window.help();
            Poll::Pending
        });
        let request = task::spawn(&self.comm, task)?;
        self.comm.vci().count_helper(true);
        *self.helper_task() = Some(request);
        Ok(())
    }

    /// Ends that task; all members have done with the window.
    pub(super) async fn stop_helping(&self) -> Result<()> {
        let request = self.helper_task().take();
        let Some(request) = request else {
            return Ok(());
        };
        self.helper.is_stopping.store(true, Ordering::Relaxed);
        let outcome = Completion::new(self.comm.vci(), request).await;
        self.comm.vci().count_helper(false);
        outcome.map(|_| ())
    }

    fn helper_task(&self) -> MutexGuard<'_, Option<RequestId>> {
        let task = self.helper.task.lock();
        task.unwrap_or_else(PoisonError::into_inner)
    }
}
