// SPDX-License-Identifier: MIT OR Apache-2.0
//! Steps of collective algorithms: messages in progress together.
#![expect(unsafe_code, reason = "blocks are addresses that programs gave")]

use super::primitives::{Block, Collective};
use crate::errors::Result;
use crate::p2p::{self, CopiedBy};
use crate::request::RequestId;
use crate::task::Completion;

/// Messages in progress together.
pub(crate) struct Step<'a> {
    coll: &'a mut Collective,
    first: [RequestId; 2],
    started: usize,
    more: Vec<RequestId>,
    copied_by: CopiedBy,
}

impl<'a> Step<'a> {
    /// One without messages yet.
    pub(super) const fn new(coll: &'a mut Collective) -> Self {
        Self {
            coll,
            first: [RequestId::SENT; 2],
            started: 0,
            more: Vec::new(),
            copied_by: CopiedBy::Either,
        }
    }
}

impl Step<'_> {
    /// The same for messages that their receivers copy, if there are several: both sides of a message say so.
    pub(crate) const fn copied_by_receivers(mut self) -> Self {
        if self.coll.size > 2 {
            self.copied_by = CopiedBy::Receiver;
        }
        self
    }

    /// Number of ranks of the collective.
    pub(crate) const fn size(&self) -> u32 {
        self.coll.size
    }

    pub(crate) fn send(&mut self, block: &Block, to: u32) {
        let coll = &*self.coll;
        // SAFETY: the block stays valid while the collective runs (Block::new), and the step is awaited to its end.
        let started = unsafe {
            let (to, memory) = (coll.real(to), block.memory());
            p2p::isend_collective(&coll.comm, memory, to, coll.tag, self.copied_by)
        };
        self.add(started);
    }

    pub(crate) fn receive(&mut self, block: &Block, from: u32) {
        let coll = &*self.coll;
        // SAFETY: as in `send`.
        let started = unsafe {
            let (from, memory) = (coll.real(from), block.memory());
            p2p::irecv_collective(&coll.comm, memory, from, coll.tag, self.copied_by)
        };
        self.add(started);
    }

    fn add(&mut self, started: Result<RequestId>) {
        match started {
            Ok(RequestId::SENT) => {}
            Ok(id) if self.started < self.first.len() => {
                self.first[self.started] = id;
                self.started += 1;
            }
            Ok(id) => self.more.push(id),
            Err(error) => self.coll.note(error),
        }
    }

    /// Waits for all messages of the step.
    pub(crate) async fn finish(self) {
        for &id in self.first[..self.started].iter().chain(&self.more) {
            if let Err(error) = Completion::new(self.coll.comm.vci(), id).await {
                self.coll.note(error);
            }
        }
    }
}
