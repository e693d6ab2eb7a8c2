// SPDX-License-Identifier: MIT OR Apache-2.0
//! Epochs: what a member may do in a window now (MPI-5.0, section 12.5).
//!
//! An operation asks one question: is its target open? A target is open by itself (lock, start), or all targets are (fence). After
//! MPI_Win_lock_all a target opens with the first operation on it, which takes the shared lock there.

use std::sync::PoisonError;

use sys::sync::{AtomicBool, AtomicU8, AtomicU32, Mutex, Ordering};

use fabric::lock::Hold;

use super::window::Window;
use crate::comm::CutOff;
use crate::errors::{Error, ErrorClass, Result};

/// The assertions of MPI_Win_fence, MPI_Win_post and others; the numbers are the ABI's.
pub mod assertion {
    /// No conflicting lock is held or attempted; no post is late.
    pub const NOCHECK: i32 = 1024;
    /// No operation was started before this fence.
    pub const NOPRECEDE: i32 = 2048;
    /// No operation writes to this member until the next synchronisation.
    pub const NOPUT: i32 = 4096;
    /// This member has not stored to its memory since the last synchronisation.
    pub const NOSTORE: i32 = 8192;
    /// No operation will be started after this fence.
    pub const NOSUCCEED: i32 = 16384;
    /// All of them.
    pub const ALL: i32 = NOCHECK | NOPRECEDE | NOPUT | NOSTORE | NOSUCCEED;
}

/// The two kinds of locks; the numbers are the ABI's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum LockKind {
    /// One holder.
    Exclusive = 301,
    /// Several holders.
    Shared = 302,
}

impl LockKind {
    /// The kind with this number in the ABI.
    pub const fn from_abi(number: i32) -> Option<Self> {
        match number {
            301 => Some(Self::Exclusive),
            302 => Some(Self::Shared),
            _ => None,
        }
    }

    pub(super) const fn hold(self) -> Hold {
        match self {
            Self::Exclusive => Hold::Exclusive,
            Self::Shared => Hold::Shared,
        }
    }
}

/// What a member may do at one target, as [`super::target::Target::access`] holds it.
pub(super) mod access {
    /// Nothing, unless all targets are open.
    pub(in crate::rma) const NONE: u8 = 0;
    /// It holds the shared lock there.
    pub(in crate::rma) const SHARED: u8 = 1;
    /// It holds the exclusive lock there.
    pub(in crate::rma) const EXCLUSIVE: u8 = 2;
    /// It behaves as if it held a lock there (MPI_MODE_NOCHECK).
    pub(in crate::rma) const UNCHECKED: u8 = 3;
    /// The target is in the group of MPI_Win_start.
    pub(in crate::rma) const STARTED: u8 = 4;
}

/// The epoch of the member as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Stage {
    /// No access epoch, but perhaps locks at single targets.
    None,
    /// Between MPI_Win_start and MPI_Win_complete.
    Started,
    /// Between MPI_Win_lock_all and MPI_Win_unlock_all.
    LockAll,
    /// The same with MPI_MODE_NOCHECK.
    LockAllUnchecked,
}

/// The epochs of a member.
#[derive(Default)]
pub(super) struct Epochs {
    /// Not 0 while all targets are open: from the first operation after a fence.
    open: AtomicU8,
    /// Whether the last fence lets operations follow.
    is_fenced: AtomicBool,
    stage: AtomicU32,
    /// Locks held at single targets.
    pub(super) locks: AtomicU32,
    /// Members of the group of MPI_Win_post; 0 outside an exposure epoch.
    pub(super) exposed_to: AtomicU32,
    /// Not 0 inside an exposure epoch.
    pub(super) is_exposed: AtomicU8,
    /// Held by the thread that takes the lock of a target for the first operation there.
    opening: Mutex<()>,
    /// Calls of MPI_Win_complete that earlier exposure epochs have used up.
    pub(super) completes_seen: AtomicU32,
}

impl Epochs {
    // account: argument-checks
    #[inline(always)]
    pub(super) fn open_to_all(&self) -> u8 {
        self.open.load(Ordering::Relaxed)
    }

    /// After a fence: operations may follow it or not. An epoch begins with the first one.
    pub(super) fn set_fenced(&self, is_fenced: bool) {
        self.is_fenced.store(is_fenced, Ordering::Relaxed);
        self.open.store(0, Ordering::Relaxed);
    }

    /// Whether operations may follow the last fence, or have.
    pub(super) fn is_between_fences(&self) -> bool {
        self.is_fenced.load(Ordering::Relaxed)
    }

    pub(super) fn stage(&self) -> Stage {
        match self.stage.load(Ordering::Relaxed) {
            0 => Stage::None,
            1 => Stage::Started,
            2 => Stage::LockAll,
            _ => Stage::LockAllUnchecked,
        }
    }

    pub(super) fn set_stage(&self, stage: Stage) {
        self.stage.store(stage as u32, Ordering::Relaxed);
    }
}

impl CutOff for Window {
    /// Closes all epochs: no operation reaches a target any more.
    fn cut_off(&self) {
        let epochs = &self.epochs;
        epochs.set_fenced(false);
        epochs.set_stage(Stage::None);
        epochs.locks.store(0, Ordering::Relaxed);
        epochs.is_exposed.store(0, Ordering::Relaxed);
        for target in &self.targets {
            target.access.store(access::NONE, Ordering::Relaxed);
        }
    }
}

impl Window {
    /// An error of synchronisation.
    #[cold]
    pub(super) fn out_of_step(&self, text: impl Into<String>) -> Error {
        if self.process().is_forked_child() {
            return self.process().forked_child();
        }
        self.annotate(Error::new(ErrorClass::ERR_RMA_SYNC, text))
    }

    /// What the member is doing, for errors.
    #[cold]
    pub(super) fn current_epoch(&self) -> &'static str {
        match self.epochs.stage() {
            Stage::Started => "MPI_Win_start was called, and MPI_Win_complete was not",
            Stage::LockAll | Stage::LockAllUnchecked => {
                "MPI_Win_lock_all was called, and MPI_Win_unlock_all was not"
            }
            Stage::None if self.epochs.locks.load(Ordering::Relaxed) > 0 => {
                "MPI_Win_lock was called, and MPI_Win_unlock was not"
            }
            Stage::None => "no access epoch is open",
        }
    }

    /// Opens a target to an operation, or tells why that is impossible.
    #[cold]
    #[inline(never)]
    pub(super) fn open(&self, rank: u32) -> Result<()> {
        self.process().refuse_forked_child()?;
        match self.epochs.stage() {
            Stage::LockAll => self.open_with_lock(rank),
            Stage::LockAllUnchecked => {
                let target = &self.targets[rank as usize];
                target.access.store(access::UNCHECKED, Ordering::Relaxed);
                Ok(())
            }
            Stage::Started => Err(self.out_of_step(format!(
                "rank {rank} is not in the group of MPI_Win_start"
            ))),
            Stage::None if self.epochs.is_fenced.load(Ordering::Relaxed) => {
                self.epochs.open.store(1, Ordering::Relaxed);
                Ok(())
            }
            Stage::None => Err(self.out_of_step(format!(
                "no access epoch to rank {rank} is open: call MPI_Win_fence, MPI_Win_start, MPI_Win_lock or MPI_Win_lock_all first"
            ))),
        }
    }

    /// Takes the lock of a target, once for all threads.
    fn open_with_lock(&self, rank: u32) -> Result<()> {
        let opening = self.epochs.opening.lock();
        let _opening = opening.unwrap_or_else(PoisonError::into_inner);
        match self.targets[rank as usize].mark() {
            access::NONE => self.take_lock(rank, Hold::Shared, "an operation on a window"),
            _ => Ok(()),
        }
    }

    /// Refuses assertions that do not exist, and forked children.
    ///
    /// # Errors
    /// MPI_ERR_ASSERT, MPI_ERR_OTHER.
    pub(super) fn check_assertion(&self, assertion: i32) -> Result<()> {
        self.process().refuse_forked_child()?;
        if assertion & !assertion::ALL == 0 {
            return Ok(());
        }
        let expected = "0 or a sum of MPI_MODE_NOCHECK, NOPRECEDE, NOPUT, NOSTORE and NOSUCCEED";
        let error = Error::argument(ErrorClass::ERR_ASSERT, "assert", assertion, expected);
        Err(self.annotate(error))
    }

    /// Begins an epoch of another kind than that of fences.
    ///
    /// # Errors
    /// As for [`Self::check_fences_ended`].
    pub(super) fn leave_fences(&self) -> Result<()> {
        self.check_fences_ended()?;
        self.epochs.set_fenced(false);
        Ok(())
    }

    /// Refuses a call that needs operations after a fence to be complete.
    ///
    /// # Errors
    /// MPI_ERR_RMA_SYNC when operations have begun an epoch of fences, which only a fence ends.
    fn check_fences_ended(&self) -> Result<()> {
        if self.epochs.open_to_all() == 0 {
            return Ok(());
        }
        let text = "operations were started after MPI_Win_fence, and no MPI_Win_fence has ended their epoch";
        Err(self.out_of_step(text))
    }

    /// Refuses a call that needs a window without open access epochs.
    ///
    /// # Errors
    /// MPI_ERR_RMA_SYNC.
    pub(super) fn check_no_access(&self) -> Result<()> {
        let is_none = self.epochs.stage() == Stage::None;
        if is_none && self.epochs.locks.load(Ordering::Relaxed) == 0 {
            return Ok(());
        }
        Err(self.out_of_step(self.current_epoch()))
    }

    /// Refuses a call that needs a window without open epochs.
    ///
    /// # Errors
    /// MPI_ERR_RMA_SYNC.
    pub(super) fn check_quiet(&self) -> Result<()> {
        self.check_no_access()?;
        if self.epochs.is_exposed.load(Ordering::Relaxed) != 0 {
            return Err(self.out_of_step("MPI_Win_post was called, and MPI_Win_wait was not"));
        }
        Ok(())
    }

    /// Refuses to free a window before this member has completed its part in one-sided communication (MPI-5.0, Window Destruction).
    ///
    /// # Errors
    /// MPI_ERR_RMA_SYNC.
    pub fn check_may_free(&self) -> Result<()> {
        self.check_quiet()?;
        self.check_fences_ended()
    }

    /// The rank of a target of synchronisation, which is a member.
    ///
    /// # Errors
    /// MPI_ERR_RANK.
    pub(super) fn member(&self, rank: i32) -> Result<u32> {
        let is_member = (0..self.targets.len() as i64).contains(&i64::from(rank));
        if is_member {
            return Ok(rank as u32);
        }
        let expected = format!("0..{} or MPI_PROC_NULL", self.targets.len() - 1);
        Err(self.annotate(Error::argument(
            ErrorClass::ERR_RANK,
            "rank",
            rank,
            expected,
        )))
    }
}
