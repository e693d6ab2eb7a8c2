// SPDX-License-Identifier: MIT OR Apache-2.0
//! How accumulates into one target exclude each other: by instructions of the processor, element by element, or under a lock.
//!
//! A gate begins in the stage *words*: who combines announces itself on a word of its own, finds the stage, and uses atomic instructions;
//! others may do so at the same time. Long accumulates are faster with plain loads and stores, which need the lock and nobody else at
//! the target. So one of them moves the gate on: under the lock it stores the stage *leaving*, makes every thread of all ranks pass a
//! memory barrier, and looks at all announcements. A thread whose announcement it does not see looks at the stage later than that
//! barrier, and takes the lock. If none is announced, the stage is *kernels* from then on, and all accumulates take the lock and need no
//! atomic instructions. If one is announced, the stage stays *leaving*: accumulates take the lock and use atomic instructions, and the
//! next long one looks again. *Kernels* is never left, and nobody waits for an announced thread.
//!
//! Writers: each announcement by its thread, or by addition where several share it; the stage by the holder of the lock. A process that
//! dies while announced keeps the gate from *kernels*; one that dies with the lock ends the job.

use sys::sync::{AtomicU32, Ordering};

use super::VciLock;

/// The stages of a gate.
mod stage {
    pub(super) const WORDS: u32 = 0;
    pub(super) const LEAVING: u32 = 1;
    pub(super) const KERNELS: u32 = 2;
}

/// The gate of a target; zeros are its first state.
#[repr(C)]
#[derive(Default)]
pub struct AccumulateGate {
    lock: VciLock,
    stage: AtomicU32,
}

/// Not 0 while a thread, or one of several, combines by atomic instructions into the memory of some target.
#[repr(C, align(64))]
#[derive(Default)]
pub struct Announcement(AtomicU32);

/// How the holder of the lock combines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// By atomic instructions: others may do so without the lock.
    Words,
    /// By plain loads and stores.
    Kernels,
}

impl Announcement {
    /// Announces the only thread that uses this word.
    #[inline(always)]
    pub fn announce(&self) {
        self.0.store(1, Ordering::Relaxed);
    }

    /// Takes it back.
    #[inline(always)]
    pub fn withdraw(&self) {
        // PAIRS: gate.announced. What the thread combined is visible to who finds it gone.
        self.0.store(0, Ordering::Release);
    }

    /// Announces one of several threads that use this word.
    #[inline]
    pub fn announce_one(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Takes it back.
    #[inline]
    pub fn withdraw_one(&self) {
        // PAIRS: gate.announced
        self.0.fetch_sub(1, Ordering::Release);
    }

    /// Whether no thread is announced; called under the lock of a gate that is left.
    pub fn is_quiet(&self) -> bool {
        // PAIRS: gate.announced
        self.0.load(Ordering::Acquire) == 0
    }
}

impl AccumulateGate {
    /// Whether a thread that has announced itself may combine by atomic instructions without the lock, until it withdraws.
    #[inline(always)]
    pub fn is_open(&self) -> bool {
        before_looking();
        self.stage.load(Ordering::Relaxed) == stage::WORDS
    }

    /// Takes the lock.
    #[inline]
    pub fn lock(&self) -> Manner {
        self.lock.lock();
        // Written under the lock.
        match self.stage.load(Ordering::Relaxed) {
            stage::KERNELS => Manner::Kernels,
            _ => Manner::Words,
        }
    }

    /// Gives the lock back.
    #[inline]
    pub fn unlock(&self) {
        self.lock.unlock();
    }

    /// Moves the gate on if nobody is announced; only the holder of the lock may. `pass_everywhere` makes every thread of all ranks pass a
    /// memory barrier, and says whether it did; `is_quiet` looks at the announcements of all members.
    #[cold]
    pub fn leave_words(
        &self,
        pass_everywhere: impl FnOnce() -> bool,
        is_quiet: impl FnOnce() -> bool,
    ) -> Manner {
        self.stage.store(stage::LEAVING, Ordering::Relaxed);
        if !pass_everywhere() {
            // Nobody is kept from the instructions in vain.
            self.stage.store(stage::WORDS, Ordering::Relaxed);
            return Manner::Words;
        }
        if !is_quiet() {
            return Manner::Words;
        }
        self.stage.store(stage::KERNELS, Ordering::Relaxed);
        Manner::Kernels
    }
}

/// Keeps the announcement before the load of the stage: the compiler here, the processor by the barrier of who leaves the stage.
#[inline(always)]
fn before_looking() {
    // SeqCst: without it neither side may see the other.
    // PAIRS: gate.stage
    #[cfg(not(loom))]
    sys::sync::compiler_fence(Ordering::SeqCst);
    // A model has no barrier that reaches other threads.
    // PAIRS: gate.stage
    #[cfg(loom)]
    sys::sync::fence(Ordering::SeqCst);
}
