// SPDX-License-Identifier: MIT OR Apache-2.0
//! One message between two ranks, in virtual time.

use super::program::{Operation, Rank, Thread};
use super::timed::{Outcome, run};
use super::timing::Timing;
use super::world::Behaviour;
use crate::names::{Key, Source};
use crate::sender::Kind;
use crate::variant::Config;

/// The receiver of a transfer.
pub const RECEIVER: Rank = 0;
/// The sender of a transfer.
pub const SENDER: Rank = 1;

/// A message and its receive.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Transfer {
    /// Its length.
    pub bytes: u64,
    /// Bytes that the receive holds.
    pub capacity: u64,
    /// How it travels.
    pub kind: Kind,
    /// When the send is posted.
    pub send_ns: u64,
    /// When the receive is posted.
    pub receive_ns: u64,
    /// The receive takes any source.
    pub any_source: bool,
    /// The receive takes any tag.
    pub any_tag: bool,
    /// Longest message that is eager; a receive that holds no more is not offered.
    pub eager_bytes: u64,
}

impl Transfer {
    /// A long message whose receive names its source and tag and holds just as much.
    pub const fn long(bytes: u64, send_ns: u64, receive_ns: u64) -> Self {
        Self {
            bytes,
            capacity: bytes,
            kind: Kind::Long,
            send_ns,
            receive_ns,
            any_source: false,
            any_tag: false,
            eager_bytes: Behaviour::EAGER_BYTES,
        }
    }

    /// The transfer in the emulator.
    pub fn run(&self, config: Config, timing: Timing) -> Outcome {
        let key = Key::new(1, 7);
        let receive = Operation::Receive {
            source: (!self.any_source).then_some(Source(SENDER)),
            key: if self.any_tag {
                Key::new(1, Key::ANY_TAG)
            } else {
                key
            },
            capacity: self.capacity,
        };
        let send = Operation::Send {
            to: RECEIVER,
            key,
            bytes: self.bytes,
            kind: self.kind,
        };
        let threads = [
            Thread::new(RECEIVER, [receive]).at(self.receive_ns),
            Thread::new(SENDER, [send]).at(self.send_ns),
        ];
        let behaviour = Behaviour {
            eager_bytes: self.eager_bytes,
            ..Behaviour::default()
        };
        run(config, behaviour, timing, &threads)
    }
}
