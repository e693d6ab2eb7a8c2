// SPDX-License-Identifier: MIT OR Apache-2.0
//! Locks and flushes (MPI-5.0, section 12.5.3).

use std::ops::Range;

use fabric::lock::Hold;
use sys::sync::Ordering;

use super::epoch::{LockKind, Stage, access, assertion};
use super::message::{Ending, Kind};
use super::window::{Flavor, Window};
use crate::errors::Result;
use crate::p2p::PROC_NULL;

impl Window {
    /// Takes the lock of a target.
    pub(super) fn take_lock(&self, rank: u32, hold: Hold, call: &'static str) -> Result<()> {
        let target = &self.targets[rank as usize];
        if let Some(channel) = self.channel_to(rank) {
            let kind = match hold {
                Hold::Shared => Kind::LockShared,
                Hold::Exclusive => Kind::LockExclusive,
            };
            channel.lock(self, rank, kind, call)?;
        } else if let Some(view) = &target.view {
            let lock = &view.board().lock;
            let ticket = if let Some(ticket) = lock.try_enter(hold) {
                ticket
            } else {
                let ticket = view.draw(self.bell());
                let awaited = self.awaited(rank);
                let vci = self.comm.vci();
                vci.wait_for(call, awaited, |_| lock.may_enter(ticket, hold))?;
                ticket
            };
            view.enter(ticket, hold, self.process().node());
            target.ticket.store(ticket, Ordering::Relaxed);
        }
        let mark = match hold {
            Hold::Shared => access::SHARED,
            Hold::Exclusive => access::EXCLUSIVE,
        };
        // PAIRS: window.access. The thread that reads the mark accesses the target under the lock that this one has taken.
        target.access.store(mark, Ordering::Release);
        Ok(())
    }

    /// Ends the access epochs to some targets: completes all operations there, and gives back the locks that this member holds.
    fn leave_locks(&self, ranks: Range<u32>, call: &'static str) -> Result<()> {
        let mut by_message = Vec::new();
        for rank in ranks {
            let target = &self.targets[rank as usize];
            let hold = match target.access.swap(access::NONE, Ordering::Relaxed) {
                access::SHARED => Some(Hold::Shared),
                access::EXCLUSIVE => Some(Hold::Exclusive),
                _ => None,
            };
            if self.channel_to(rank).is_some() {
                let ending = hold.map_or(Ending::Flush, |_| Ending::Unlock);
                by_message.push((rank, ending));
            } else if let (Some(view), Some(hold)) = (&target.view, hold) {
                let ticket = target.ticket.load(Ordering::Relaxed);
                view.leave(ticket, hold, self.process().node());
            }
        }
        match &self.channel {
            Some(channel) => channel.conclude(self, &by_message, call),
            None => Ok(()),
        }
    }
}

/// Opens an access epoch to one target (MPI_Win_lock).
///
/// # Errors
/// MPI_ERR_RANK, MPI_ERR_ASSERT; MPI_ERR_RMA_SYNC when an epoch of another kind is open, or one to this target.
pub fn lock(
    window: &Window,
    kind: LockKind,
    rank: i32,
    assertion: i32,
    call: &'static str,
) -> Result<()> {
    window.check_assertion(assertion)?;
    window.check_may_lock()?;
    if window.epochs.stage() != Stage::None {
        return Err(window.out_of_step(window.current_epoch()));
    }
    if rank == PROC_NULL {
        return Ok(());
    }
    let rank = window.member(rank)?;
    let target = &window.targets[rank as usize];
    if target.access.load(Ordering::Relaxed) != access::NONE {
        return Err(window.out_of_step(format!("rank {rank} is locked by this process already")));
    }
    window.leave_fences()?;
    if assertion & assertion::NOCHECK != 0 {
        target.access.store(access::UNCHECKED, Ordering::Relaxed);
    } else {
        window.take_lock(rank, kind.hold(), call)?;
    }
    window.epochs.locks.fetch_add(1, Ordering::Relaxed);
    Ok(())
}

/// Ends the access epoch of [`lock`]: its operations are complete here and at the target (MPI_Win_unlock).
///
/// # Errors
/// MPI_ERR_RANK; MPI_ERR_RMA_SYNC without a lock.
pub fn unlock(window: &Window, rank: i32) -> Result<()> {
    if rank == PROC_NULL {
        return Ok(());
    }
    let rank = window.member(rank)?;
    let target = &window.targets[rank as usize];
    let mark = target.access.load(Ordering::Relaxed);
    if window.epochs.stage() != Stage::None || mark == access::NONE {
        return Err(window.out_of_step(format!("rank {rank} was not locked by MPI_Win_lock")));
    }
    layout::settle();
    window.epochs.locks.fetch_sub(1, Ordering::Relaxed);
    window.leave_locks(rank..rank + 1, "MPI_Win_unlock")
}

/// Opens an access epoch to all targets, with shared locks (MPI_Win_lock_all).
///
/// # Errors
/// MPI_ERR_ASSERT; MPI_ERR_RMA_SYNC inside an access epoch.
pub fn lock_all(window: &Window, assertion: i32, call: &'static str) -> Result<()> {
    window.check_assertion(assertion)?;
    window.check_may_lock()?;
    window.check_no_access()?;
    window.leave_fences()?;
    if assertion & assertion::NOCHECK != 0 {
        window.epochs.set_stage(Stage::LockAllUnchecked);
        return Ok(());
    }
    // Loads and stores of the program need the locks, too.
    if window.flavor() == Flavor::Shared {
        for rank in 0..window.targets.len() as u32 {
            window.take_lock(rank, Hold::Shared, call)?;
        }
    }
    window.epochs.set_stage(Stage::LockAll);
    Ok(())
}

/// Ends the access epoch of [`lock_all`] (MPI_Win_unlock_all).
///
/// # Errors
/// MPI_ERR_RMA_SYNC without one.
pub fn unlock_all(window: &Window) -> Result<()> {
    if !matches!(
        window.epochs.stage(),
        Stage::LockAll | Stage::LockAllUnchecked
    ) {
        return Err(window.out_of_step("MPI_Win_lock_all was not called"));
    }
    layout::settle();
    window.epochs.set_stage(Stage::None);
    window.leave_locks(0..window.targets.len() as u32, "MPI_Win_unlock_all")
}

impl Window {
    /// Compares a lock with the hint no_locks, of which this library makes no use.
    fn check_may_lock(&self) -> Result<()> {
        if !self.hints.no_locks() || !self.comm.vci().checks_hints() {
            return Ok(());
        }
        let text = "the window has the hint no_locks, which promises that it is not locked: RANKPOINT_CHECK=hints";
        Err(self.out_of_step(text))
    }

    fn check_passive(&self, rank: Option<u32>) -> Result<()> {
        let is_all = matches!(
            self.epochs.stage(),
            Stage::LockAll | Stage::LockAllUnchecked
        );
        let is_locked = |rank: u32| {
            let mark = self.targets[rank as usize].access.load(Ordering::Relaxed);
            !matches!(mark, access::NONE | access::STARTED)
        };
        let is_one = match rank {
            Some(rank) => is_locked(rank),
            None => self.epochs.locks.load(Ordering::Relaxed) > 0,
        };
        if is_all || is_one {
            return Ok(());
        }
        Err(self.out_of_step("a flush needs MPI_Win_lock or MPI_Win_lock_all"))
    }
}

/// Completes all operations on a target, here and there (MPI_Win_flush).
///
/// # Errors
/// MPI_ERR_RANK; MPI_ERR_RMA_SYNC outside a passive target epoch.
#[inline]
pub fn flush(window: &Window, rank: i32) -> Result<()> {
    if rank == PROC_NULL {
        return Ok(());
    }
    let rank = window.member(rank)?;
    window.check_passive(Some(rank))?;
    layout::settle();
    match window.channel_to(rank) {
        None => Ok(()),
        Some(channel) => channel.conclude(window, &[(rank, Ending::Flush)], "MPI_Win_flush"),
    }
}

/// As [`flush`], on all targets (MPI_Win_flush_all).
///
/// # Errors
/// MPI_ERR_RMA_SYNC outside a passive target epoch.
pub fn flush_all(window: &Window) -> Result<()> {
    window.check_passive(None)?;
    layout::settle();
    match &window.channel {
        None => Ok(()),
        Some(channel) => channel.flush_all(window, "MPI_Win_flush_all"),
    }
}

/// Completes all operations on a target here (MPI_Win_flush_local).
///
/// # Errors
/// As for [`flush`].
pub fn flush_local(window: &Window, rank: i32) -> Result<()> {
    if rank == PROC_NULL {
        return Ok(());
    }
    let rank = window.member(rank)?;
    window.check_passive(Some(rank))?;
    match window.channel_to(rank) {
        None => Ok(()),
        Some(channel) => channel.flush_locally(window, rank, "MPI_Win_flush_local"),
    }
}

/// As [`flush_local`], on all targets (MPI_Win_flush_local_all).
///
/// # Errors
/// As for [`flush_all`].
pub fn flush_local_all(window: &Window) -> Result<()> {
    window.check_passive(None)?;
    let Some(channel) = &window.channel else {
        return Ok(());
    };
    let settle = |rank| channel.flush_locally(window, rank, "MPI_Win_flush_local_all");
    (0..window.targets.len() as u32).try_for_each(settle)
}
