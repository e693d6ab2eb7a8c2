// SPDX-License-Identifier: MIT OR Apache-2.0
//! A rank's node, as the layers above the transports see it.
//!
//! The engine reads and writes boards, asks which ranks are on this node, and takes memory that its ranks share. How that
//! memory comes about is the business of [`segment`](crate::segment): rings, their directory and cards have no entrance here.

use std::io;
use std::mem::offset_of;
use std::os::fd::OwnedFd;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::board::{BOARD_BYTES, BOARDS_OFFSET, JobHeader, RankBoard, VciBoard, phase};
use crate::identity::{PeerIndex, VciIndex};
use crate::segment::{FetchCards, Job, Segment};
use sys::sync::{AtomicU32, Ordering};

/// The node that this process is on. A clone leads to the same node.
#[derive(Clone)]
pub struct NodeHandle(Arc<Segment>);

impl NodeHandle {
    /// Joins the node whose memory file the launcher made.
    ///
    /// # Errors
    /// As [`Segment::attach`].
    pub fn attach(fd: OwnedFd) -> io::Result<Self> {
        Ok(Self(Arc::new(Segment::attach(fd)?)))
    }

    /// Gives the node's memory back to the system, as [`Reservation::abandon`](sys::reservation::Reservation::abandon) does.
    ///
    /// # Safety
    /// Nobody uses the handle or a clone any more, and none is dropped.
    pub unsafe fn abandon(&self) {
        // SAFETY: the caller's promise.
        unsafe { self.0.memory.abandon() };
    }

    /// Gives this process, a forked child, a copy of header and boards, which its parent goes on using, and in which no shared memory is
    /// left to be taken.
    ///
    /// # Errors
    /// When the kernel refuses it.
    // TIER: setup
    pub fn cut_off(&self) -> io::Result<()> {
        let memory = &self.0.memory;
        memory.make_private(self.job().heap_offset as usize)?;
        let all = memory.len() as u64;
        self.header().heap_top.store(all, Ordering::Relaxed);
        Ok(())
    }

    /// Announces on the board of a process of this node that it aborts the job with `code`, from a child that has a copy of the board.
    ///
    /// # Errors
    /// The kernel's.
    // TIER: setup
    pub fn announce_abort(&self, process: PeerIndex, code: i32) -> io::Result<()> {
        let board = BOARDS_OFFSET + u64::from(process.get()) * BOARD_BYTES as u64;
        // The code comes first: the launcher reads it when it sees the phase.
        for (field, word) in [
            (offset_of!(RankBoard, abort_code), code.cast_unsigned()),
            (offset_of!(RankBoard, phase), phase::ABORTED),
        ] {
            let offset = board + field as u64;
            self.0.memory.write_shared(offset, &word.to_ne_bytes())?;
        }
        Ok(())
    }

    /// The memory behind the node, for transports and for the exchange of cards.
    pub const fn segment(&self) -> &Arc<Segment> {
        &self.0
    }

    /// The job, as its launcher described it.
    #[inline(always)]
    pub fn job(&self) -> &Job {
        self.0.job()
    }

    /// Processes of the job so far: those that it started with, and those that were added.
    pub fn processes(&self) -> u32 {
        self.0.processes()
    }

    /// The words of the job that change while it runs. Any rank may have written anything there.
    #[inline(always)]
    pub fn header(&self) -> &JobHeader {
        self.0.header()
    }

    /// The board of a process, all zero if it is on another node or has not been added.
    ///
    /// # Panics
    /// When the job has no room for such a process.
    // account: caller
    #[inline(always)]
    pub fn board(&self, process: PeerIndex) -> &RankBoard {
        self.0.board(process)
    }

    /// The part of a VCI of a process that other processes see.
    ///
    /// # Panics
    /// As [`Self::board`].
    #[inline(always)]
    pub fn vci_board(&self, process: PeerIndex, vci: VciIndex) -> &VciBoard {
        self.0.vci_board(process, vci)
    }

    /// Whether the job has ranks on other nodes.
    pub fn has_other_nodes(&self) -> bool {
        self.0.has_other_nodes()
    }

    /// The node of a process; 0 in a job of one node.
    pub fn node_of(&self, process: PeerIndex) -> u32 {
        self.0.node_of(process)
    }

    /// Whether a process is on this node.
    #[inline]
    pub fn is_here(&self, process: PeerIndex) -> bool {
        self.0.is_here(process)
    }

    /// Sets where this process gets cards of other nodes from.
    pub fn fetch_cards_by(&self, fetch: Box<FetchCards>) {
        self.0.fetch_cards_by(fetch);
    }

    /// Takes `bytes` of zeroed memory that the node's ranks share, page-aligned; returns its offset.
    ///
    /// # Errors
    /// When no such memory is left.
    pub fn allocate(&self, bytes: u64) -> io::Result<u64> {
        self.0.allocate(bytes)
    }

    /// As [`Self::allocate`], for memory that is not necessary: at least half is left for the rest.
    ///
    /// # Errors
    /// When more than half of the memory would be used.
    pub fn allocate_spare(&self, bytes: u64) -> io::Result<u64> {
        self.0.allocate_spare(bytes)
    }

    /// The address of `bytes` bytes of shared memory at `offset`; `None` when they have not been allocated.
    pub fn address(&self, offset: u64, bytes: u64) -> Option<NonNull<u8>> {
        self.0.address(offset, bytes)
    }

    /// The offset of `address` when the `bytes` bytes there lie in shared memory.
    pub fn offset_of(&self, address: *const u8, bytes: usize) -> Option<u64> {
        self.0.offset_of(address, bytes)
    }

    /// Not 0 when senders must fence before they look at a doorbell, because some rank cannot use membarrier.
    pub fn sender_fences(&self) -> &AtomicU32 {
        self.0.sender_fences()
    }
}
