// SPDX-License-Identifier: MIT OR Apache-2.0
//! What messages and receives are called.

/// A send of the process that owns the [`SendSide`](crate::SendSide); its meaning is the driver's.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct SendId(pub u64);

/// A receive of the process that owns the [`ReceiveSide`](crate::ReceiveSide); its meaning is the driver's. A receive that is
/// posted later has another id, as long as one side may still name the first.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ReceiveId(pub u64);

/// A sender as the receiver numbers it: the link of the engine, the rank of the emulator.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Source(pub u32);

/// Communicator and tag: the context id in the high half, the tag or [`Key::ANY_TAG`] in the low half, as in the match word of
/// a cell. The source is no part of it, because each sender has a [`SendSide`](crate::SendSide) for each receiver.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Key(pub u64);

impl Key {
    /// The low half of a receive's key that takes any tag.
    pub const ANY_TAG: u32 = u32::MAX;

    /// The key of a context and a tag.
    pub const fn new(context: u32, tag: u32) -> Self {
        Self((context as u64) << 32 | tag as u64)
    }

    /// The tag, or [`Key::ANY_TAG`].
    pub const fn tag(self) -> u32 {
        self.0 as u32
    }

    /// The context id.
    pub const fn context(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Whether this key of a receive takes a message with the key `message`.
    pub const fn accepts(self, message: Self) -> bool {
        self.0 == message.0 || (self.tag() == Self::ANY_TAG && self.context() == message.context())
    }
}
