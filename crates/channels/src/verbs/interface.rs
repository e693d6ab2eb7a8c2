// SPDX-License-Identifier: MIT OR Apache-2.0
//! A device as a network interface like any other.

use std::sync::Arc;

use super::library::Device;
use super::objects::{CompletionQueue, Context, MemoryRegion, ProtectionDomain, QueuePair};
use crate::error::Error;
use crate::interface::{Completions, Interface, Page, Pair, Pollers, Region};

/// Thread domains of Verbs: a queue pair needs a parent domain for one, which is not made yet.
#[derive(Debug)]
pub enum NoThreadDomain {}

impl Interface for Device {
    type Context = Context;
    type ThreadDomain = NoThreadDomain;
    type ProtectionDomain = ProtectionDomain;
    type Region = MemoryRegion;
    type Completions = CompletionQueue;
    type Pair = QueuePair;

    fn name(&self) -> &str {
        &self.name
    }

    fn context(&self) -> Result<Arc<Context>, Error> {
        Context::open(self)
    }

    fn thread_domain(
        &self,
        context: &Arc<Context>,
        _page: Page,
    ) -> Result<Arc<NoThreadDomain>, Error> {
        context.try_thread_domain()?;
        Err(Error::Device {
            call: "ibv_alloc_parent_domain",
            reason: "the device has thread domains, but queue pairs are made without them"
                .to_owned(),
        })
    }

    fn protection_domain(&self, context: &Arc<Context>) -> Result<Arc<ProtectionDomain>, Error> {
        ProtectionDomain::new(context)
    }

    fn region(
        &self,
        domain: &Arc<ProtectionDomain>,
        words: usize,
    ) -> Result<Arc<MemoryRegion>, Error> {
        MemoryRegion::new(domain, words)
    }

    fn completions(
        &self,
        context: &Arc<Context>,
        entries: usize,
        _pollers: Pollers,
    ) -> Result<Arc<CompletionQueue>, Error> {
        let entries = i32::try_from(entries).map_err(|_| Error::Device {
            call: "ibv_create_cq",
            reason: format!("{entries} entries, expected at most {}", i32::MAX),
        })?;
        CompletionQueue::new(context, entries)
    }

    fn pair(
        &self,
        domain: &Arc<ProtectionDomain>,
        completions: &Arc<CompletionQueue>,
        _thread: Option<&Arc<NoThreadDomain>>,
        depth: usize,
    ) -> Result<QueuePair, Error> {
        let depth = u32::try_from(depth).map_err(|_| Error::Device {
            call: "ibv_create_qp",
            reason: format!("{depth} writes, expected at most {}", u32::MAX),
        })?;
        QueuePair::new(domain, completions, depth)
    }
}

impl Region for MemoryRegion {
    fn set(&self, word: usize, value: u64) {
        Self::set(self, word, value);
    }

    fn get(&self, word: usize) -> u64 {
        Self::get(self, word)
    }
}

impl Completions for CompletionQueue {
    fn poll(&self) -> Result<Option<u64>, Error> {
        Self::poll(self)
    }
}

impl Pair for QueuePair {
    type Region = MemoryRegion;

    fn post(
        &self,
        number: u64,
        from: (&MemoryRegion, usize),
        to: (&MemoryRegion, usize),
    ) -> Result<bool, Error> {
        Self::post(self, number, from, to)
    }
}
