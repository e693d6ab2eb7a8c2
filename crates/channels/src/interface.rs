// SPDX-License-Identifier: MIT OR Apache-2.0
//! What threads use of a network interface, whichever it is: Verbs on a device ([`crate::verbs`]), or the emulation in memory
//! ([`crate::emulated::wall`]).

use std::sync::Arc;

use crate::error::Error;

/// What a thread domain shares with others.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Page {
    /// A UAR page of its own.
    Own,
    /// A page with the next thread domain.
    Shared,
}

/// Who polls a completion queue.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Pollers {
    /// Any thread; each poll takes a lock.
    Many,
    /// One thread, without a lock (`IBV_CREATE_CQ_ATTR_SINGLE_THREADED`).
    One,
}

/// A network interface that makes objects. Each object keeps what it belongs to.
pub trait Interface: 'static {
    /// A device context.
    type Context: Send + Sync;
    /// Promises that one thread posts.
    type ThreadDomain: Send + Sync;
    /// A protection domain.
    type ProtectionDomain: Send + Sync;
    /// Registered memory.
    type Region: Region;
    /// A completion queue.
    type Completions: Completions;
    /// A queue pair that is connected to itself.
    type Pair: Pair<Region = Self::Region>;

    /// Its name.
    fn name(&self) -> &str;

    /// Opens it.
    ///
    /// # Errors
    /// The interface's, as for all the following.
    fn context(&self) -> Result<Arc<Self::Context>, Error>;

    /// A thread domain.
    ///
    /// # Errors
    /// Also where the interface has none.
    fn thread_domain(
        &self,
        context: &Arc<Self::Context>,
        page: Page,
    ) -> Result<Arc<Self::ThreadDomain>, Error>;

    /// A protection domain.
    ///
    /// # Errors
    /// As above.
    fn protection_domain(
        &self,
        context: &Arc<Self::Context>,
    ) -> Result<Arc<Self::ProtectionDomain>, Error>;

    /// Memory of so many words of 8 bytes, zeroed.
    ///
    /// # Errors
    /// As above.
    fn region(
        &self,
        domain: &Arc<Self::ProtectionDomain>,
        words: usize,
    ) -> Result<Arc<Self::Region>, Error>;

    /// A completion queue with room for so many entries.
    ///
    /// # Errors
    /// As above.
    fn completions(
        &self,
        context: &Arc<Self::Context>,
        entries: usize,
        pollers: Pollers,
    ) -> Result<Arc<Self::Completions>, Error>;

    /// A queue pair of so many writes, without or with a thread domain.
    ///
    /// # Errors
    /// As above.
    fn pair(
        &self,
        domain: &Arc<Self::ProtectionDomain>,
        completions: &Arc<Self::Completions>,
        thread: Option<&Arc<Self::ThreadDomain>>,
        depth: usize,
    ) -> Result<Self::Pair, Error>;
}

/// Registered memory: words of 8 bytes.
pub trait Region: Send + Sync {
    /// Writes a word.
    fn set(&self, word: usize, value: u64);

    /// Reads a word, after the completion of what wrote it.
    fn get(&self, word: usize) -> u64;
}

/// A completion queue.
pub trait Completions: Send + Sync {
    /// The number of the write that completed first, if one did.
    ///
    /// # Errors
    /// When a write failed.
    fn poll(&self) -> Result<Option<u64>, Error>;
}

/// A queue pair.
pub trait Pair: Send + Sync {
    /// The memory that it writes.
    type Region;

    /// Posts a write of a word of `from` to a word of `to`, with a completion of this number; false when the queue is full.
    ///
    /// # Errors
    /// The interface's.
    fn post(
        &self,
        number: u64,
        from: (&Self::Region, usize),
        to: (&Self::Region, usize),
    ) -> Result<bool, Error>;
}
