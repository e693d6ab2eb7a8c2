// SPDX-License-Identifier: MIT OR Apache-2.0
//! What exchanges have done.

use std::time::Duration;

/// Sums over all exchanges of a rank since its domain was made, without those that measured methods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Exchanges.
    pub exchanges: u64,
    /// Messages that were sent.
    pub messages: u64,
    /// Bytes of these.
    pub message_bytes: u64,
    /// Bytes that were read in the memory of other ranks.
    pub shared_bytes: u64,
    /// Bytes that this rank copied from its own box.
    pub direct_bytes: u64,
    /// Time for packing.
    pub pack: Duration,
    /// Time for unpacking.
    pub unpack: Duration,
    /// Time for copies within the node.
    pub copy: Duration,
    /// Time of the kernel during exchanges.
    pub kernel: Duration,
    /// Time of whole exchanges, with that of the kernel.
    pub all: Duration,
}

impl Counters {
    /// Time in which nothing was packed, copied or calculated: of messages, and of waiting for other ranks.
    pub fn wait(&self) -> Duration {
        let busy = self.pack + self.unpack + self.copy + self.kernel;
        self.all.saturating_sub(busy)
    }
}
