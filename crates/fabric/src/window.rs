// SPDX-License-Identifier: MIT OR Apache-2.0
//! The board of a window: what the other members of a window on one node see of one member.
//!
//! Each member allocates its own board in the node segment, and tells the others its offset. All words are atomics that any rank may have
//! overwritten: names of processes are validated where they are used.

use std::ptr::NonNull;
use std::slice;

use sys::sync::{AtomicU32, AtomicU64, Ordering};

use crate::identity::{PeerIndex, VciIndex};
use crate::lock::{AccumulateGate, Announcement, Hold, Next, RequestCell, WindowLock};
use crate::node::NodeHandle;

/// The fixed part of a board; zeros are its first state.
#[repr(C, align(64))]
pub struct WindowBoard {
    /// The lock of MPI_Win_lock on this member.
    pub lock: WindowLock,
    _lock_line: [u32; 13],
    /// How accumulates into this member's memory exclude each other.
    pub accumulate: AccumulateGate,
    _accumulate_line: [u32; 13],
    /// Calls of MPI_Win_complete towards this member.
    pub completed: AtomicU32,
    _pad: u32,
    /// Of a dynamic window: the offset of the table of attached memory, and its version, odd while it changes.
    pub regions: AtomicU64,
    /// See [`Self::regions`].
    pub regions_version: AtomicU64,
    _regions_line: [u64; 5],
    /// Threads of this member that combine into the memory of some member now. The last word is that of all threads without one of their
    /// own.
    pub announced: [Announcement; ANNOUNCEMENTS],
    /// A put or get of this member's memory, where that is private.
    pub cell: RequestCell,
}

/// Bytes of data behind a board that has a cell.
pub const CELL_BYTES: usize = 8 << 10;

/// Words on which the threads of a member announce accumulates.
pub const ANNOUNCEMENTS: usize = 8;

/// A process's doorbell: its number and a VCI, as a word; 0 names none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bell(u32);

impl Bell {
    const VCI_SHIFT: u32 = 24;

    /// The doorbell of a VCI of a process.
    pub const fn new(process: PeerIndex, vci: VciIndex) -> Self {
        Self((process.get() + 1) | (vci.get() as u32) << Self::VCI_SHIFT)
    }

    /// Wakes who sleeps there; a word that names nobody wakes nobody.
    pub fn ring(self, node: &NodeHandle) {
        let process = (self.0 & ((1 << Self::VCI_SHIFT) - 1)).wrapping_sub(1);
        let vci = VciIndex::new(self.0 >> Self::VCI_SHIFT);
        if let (true, Some(vci)) = (process < node.processes(), vci) {
            node.board(PeerIndex::new(process)).ring(vci, true);
        }
    }
}

/// A member's board and the words behind it, one of each kind for each member.
#[derive(Clone, Copy)]
pub struct WindowView {
    board: NonNull<WindowBoard>,
    members: u32,
    has_cell: bool,
}

// SAFETY: all atomics, and data that belong to the holder of the cell, in a mapping that the segment keeps.
unsafe impl Send for WindowView {}
// SAFETY: as for Send.
unsafe impl Sync for WindowView {}

impl WindowView {
    /// Bytes of a board for windows of so many members; with a cell, its data lie behind the words.
    pub const fn bytes(members: u32, has_cell: bool) -> u64 {
        let data = if has_cell { CELL_BYTES as u64 } else { 0 };
        Self::data_offset(members) + data
    }

    const fn data_offset(members: u32) -> u64 {
        let words = 2 * 4 * members as u64;
        (size_of::<WindowBoard>() as u64 + words).next_multiple_of(align_of::<WindowBoard>() as u64)
    }

    /// The board at an offset, if it can be one.
    ///
    /// The result is used only while the segment is mapped.
    pub fn at(node: &NodeHandle, offset: u64, members: u32, has_cell: bool) -> Option<Self> {
        let is_aligned = offset.is_multiple_of(align_of::<WindowBoard>() as u64);
        let base = node.address(offset, Self::bytes(members, has_cell))?;
        is_aligned.then_some(Self {
            board: base.cast(),
            members,
            has_cell,
        })
    }

    /// The fixed part.
    #[inline(always)]
    pub const fn board(&self) -> &WindowBoard {
        // SAFETY: `at` found memory of the segment that is long enough and aligned; all atomics.
        unsafe { self.board.as_ref() }
    }

    /// Whether the board has a cell, with data.
    #[inline(always)]
    pub const fn has_cell(&self) -> bool {
        self.has_cell
    }

    /// The data of the cell, [`CELL_BYTES`], which belong to its holder; of a board that has one.
    #[inline(always)]
    pub const fn cell_data(&self) -> *mut u8 {
        let start = self.board.as_ptr().cast::<u8>();
        start.wrapping_add(Self::data_offset(self.members) as usize)
    }

    fn words(&self) -> &[AtomicU32] {
        // SAFETY: as above; the words lie behind the fixed part.
        unsafe {
            slice::from_raw_parts(self.board.add(1).cast().as_ptr(), 2 * self.members as usize)
        }
    }

    /// The doorbells of the members that hold or want the lock, by their tickets modulo the number of members: each has one ticket at most.
    fn queue(&self, ticket: u32) -> &AtomicU32 {
        &self.words()[(ticket % self.members) as usize]
    }

    /// How often a member has posted an exposure epoch towards this one.
    pub fn posted(&self, by: u32) -> &AtomicU32 {
        &self.words()[(self.members + by) as usize]
    }

    /// Draws a ticket of the lock, whose owner sleeps on this doorbell.
    pub fn draw(&self, bell: Bell) -> u32 {
        let ticket = self.board().lock.draw();
        // PAIRS: window.bell. SeqCst before the owner looks at the lock again.
        self.queue(ticket).store(bell.0, Ordering::SeqCst);
        ticket
    }

    /// Enters the lock with a ticket that is next.
    pub fn enter(&self, ticket: u32, hold: Hold, node: &NodeHandle) {
        self.wake(self.board().lock.enter(ticket, hold), node);
    }

    /// Leaves the lock.
    pub fn leave(&self, ticket: u32, hold: Hold, node: &NodeHandle) {
        self.wake(self.board().lock.leave(ticket, hold), node);
    }

    fn wake(&self, next: Next, node: &NodeHandle) {
        if let Next(Some(ticket)) = next {
            // PAIRS: window.bell
            Bell(self.queue(ticket).load(Ordering::SeqCst)).ring(node);
        }
    }
}
