// SPDX-License-Identifier: MIT OR Apache-2.0
//! What collective algorithms are made of: send, receive, copy.

use std::sync::Arc;

use layout::Layout;

use crate::comm::Comm;
use crate::errors::Result;
use crate::p2p::{self, Memory};
use crate::task::Completion;

/// An address that a task may carry: whoever started the collective keeps the memory valid until it completes.
#[derive(Clone, Copy)]
pub struct RawMut(pub *mut u8);

/// Elements in memory: a base address, a count, and their layout.
#[derive(Clone)]
pub struct Block {
    /// Base address of the elements.
    pub base: RawMut,
    /// Number of elements.
    pub count: usize,
    /// Layout of one element.
    pub layout: Arc<Layout>,
}

impl Block {
    /// `count` elements of `layout` at `base`.
    pub const fn new(base: *mut u8, count: usize, layout: Arc<Layout>) -> Self {
        Self {
            base: RawMut(base),
            count,
            layout,
        }
    }

    /// Packed length in bytes.
    pub fn bytes(&self) -> usize {
        self.layout.size() * self.count
    }

    /// The `count` elements that start `first` elements after this block's start.
    pub fn part(&self, first: i64, count: usize) -> Self {
        let offset = self.layout.extent() * first;
        Self {
            base: RawMut(self.base.0.wrapping_offset(offset as isize)),
            count,
            layout: self.layout.clone(),
        }
    }

    fn memory(&self) -> Memory<'_> {
        // Counts were checked against the address space when the face built the block.
        Memory::laid_out(self.base.0, self.count, &self.layout)
            .unwrap_or(Memory::contiguous(self.base.0, 0))
    }

    /// The packed bytes of the block.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut packed = vec![0u8; self.bytes()];
        // SAFETY: the block's memory is readable while the collective runs (contract of the collective calls).
        unsafe {
            self.layout
                .pack(self.base.0, 0..packed.len(), packed.as_mut_ptr())
        };
        packed
    }

    /// Stores packed bytes into the block.
    pub fn from_bytes(&self, packed: &[u8]) {
        let bytes = packed.len().min(self.bytes());
        // SAFETY: the block's memory is writable while the collective runs (contract of the collective calls).
        unsafe { self.layout.unpack(self.base.0, 0..bytes, packed.as_ptr()) };
    }

    /// Copies the elements of `source`, whose type signature is the same, into this block.
    pub fn copy_from(&self, source: &Self) {
        if self.base.0 != source.base.0 || self.layout != source.layout {
            self.from_bytes(&source.to_bytes());
        }
    }
}

/// The ranks and the tag of one collective operation.
#[derive(Clone)]
pub(crate) struct Round {
    pub(crate) comm: Arc<Comm>,
    pub(crate) rank: u32,
    pub(crate) size: u32,
    tag: u32,
}

impl Round {
    pub(crate) fn new(comm: Arc<Comm>) -> Self {
        let (rank, size, tag) = (
            comm.rank() as u32,
            comm.size() as u32,
            comm.next_collective(),
        );
        Self {
            comm,
            rank,
            size,
            tag,
        }
    }

    /// Starts a send; the future ends when the block can be used again.
    pub(crate) fn send(&self, block: &Block, to: u32) -> Result<Completion<'static>> {
        // SAFETY: blocks stay valid while the collective runs (contract of the collective calls).
        let request = unsafe { p2p::isend_collective(&self.comm, block.memory(), to, self.tag) }?;
        Ok(Completion::new(self.comm.vci, request))
    }

    /// Starts a receive.
    pub(crate) fn receive(&self, block: &Block, from: u32) -> Result<Completion<'static>> {
        // SAFETY: as in `send`.
        let request = unsafe { p2p::irecv_collective(&self.comm, block.memory(), from, self.tag) }?;
        Ok(Completion::new(self.comm.vci, request))
    }

    /// Sends and receives bytes at once.
    pub(crate) async fn exchange_bytes(
        &self,
        out: &[u8],
        to: u32,
        into: &mut [u8],
        from: u32,
    ) -> Result<()> {
        let source = Memory::contiguous(out.as_ptr().cast_mut(), out.len());
        let target = Memory::contiguous(into.as_mut_ptr(), into.len());
        // SAFETY: both slices outlive this future's awaits.
        let receive = unsafe { p2p::irecv_collective(&self.comm, target, from, self.tag) }?;
        // SAFETY: as above.
        let send = unsafe { p2p::isend_collective(&self.comm, source, to, self.tag) }?;
        Completion::new(self.comm.vci, receive).await?;
        Completion::new(self.comm.vci, send).await.map(drop)
    }
}
