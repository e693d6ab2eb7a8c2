// SPDX-License-Identifier: MIT OR Apache-2.0
//! What exchanges need of an MPI library.

use crate::error::{Error, Result};

/// The ranks that share a grid.
pub(crate) trait Network<'n> {
    /// This rank.
    fn rank(&self) -> usize;

    /// A number of each rank. Called by all.
    fn all_gather(&self, number: u64) -> Result<Vec<u64>>;

    /// For each rank a number that it has in common with the ranks of its node only. Called by all.
    fn nodes(&self) -> Result<Vec<u32>>;

    /// Memory of this rank, zeroed, that the other ranks of its node can map. Called by all.
    fn share(&self, bytes: usize) -> Result<Shared<'n>>;

    /// Lets messages move while the rank waits for something else.
    ///
    /// # Errors
    /// When another rank has died, where the library reports that.
    fn progress(&self) -> Result<()>;

    /// Frees what is kept of messages whose memory will be used for others. Called by all.
    fn forget(&self) {}

    /// Sends and receives all these messages, and calls the functions of `work` on the way.
    ///
    /// # Safety
    /// The memory of the messages is valid until this returns, nobody else uses what is received into, and nobody writes what is sent
    /// after [`Work::pack`] has packed it.
    unsafe fn exchange(
        &self,
        receives: &[Transfer],
        sends: &[Transfer],
        work: &mut dyn Work,
    ) -> Result<()>;
}

/// What a rank made, if all ranks could. Called by all.
///
/// # Errors
/// The error of this rank, or that another one had an error.
pub(crate) fn agreed<'n, T>(network: &dyn Network<'n>, made: Result<T>) -> Result<T> {
    let failures = network.all_gather(u64::from(made.is_err()))?;
    let made = made?;
    match failures.iter().position(|failed| *failed != 0) {
        Some(rank) => Err(Error::OtherRank(rank)),
        None => Ok(made),
    }
}

/// What happens during an exchange.
pub(crate) trait Work {
    /// Makes a part of a message ready, just before it is sent; messages that are not partitioned have a single one.
    fn pack(&mut self, send: usize, part: usize);

    /// Between the sends and the waits.
    fn meanwhile(&mut self) -> Result<()>;

    /// Uses a message that has arrived.
    fn unpack(&mut self, receive: usize);
}

/// Memory of the ranks of a node.
pub(crate) struct Shared<'n> {
    /// Where each rank of the node has its memory, by its number among all ranks.
    pub(crate) of: Vec<(usize, *mut u8)>,
    /// Keeps the memory.
    pub(crate) _owner: Box<dyn Owner + 'n>,
}

/// What keeps memory.
pub(crate) trait Owner {}

impl<T> Owner for T {}

/// A message to or from another rank. There is at most one in each direction, so all have the same tag.
pub(crate) struct Transfer {
    /// The other rank.
    pub(crate) peer: usize,
    /// What is sent, or received into.
    pub(crate) data: Data,
}

/// Memory of a message.
pub(crate) enum Data {
    /// Packed bytes.
    Packed {
        /// The first one.
        start: *mut u8,
        /// How many.
        bytes: usize,
    },
    /// The same in so many parts, which divide the number of bytes.
    Partitioned {
        /// The first one.
        start: *mut u8,
        /// How many.
        bytes: usize,
        /// Parts.
        parts: usize,
    },
    /// Boxes of arrays, which the library packs.
    Boxes(Vec<ArrayBox>),
}

/// A box of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ArrayBox {
    /// Its first byte.
    pub(crate) start: *mut u8,
    /// Planes, rows of a plane, bytes of a row.
    pub(crate) shape: [usize; 3],
    /// Bytes between planes, and between rows.
    pub(crate) strides: [usize; 2],
}
