// SPDX-License-Identifier: MIT OR Apache-2.0
//! A command for a proxy: 64 bytes.

/// Operations of a proxy. It executes them by nonblocking calls, except Create, and Split once all members have come and it is their turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Operation {
    /// Makes communicator `comm` of the world ranks listed at `offset`, `count` of them; `tag` is that of the creation.
    Create = 1,
    /// Frees communicator `comm`.
    Free = 2,
    /// Sends `count` bytes at `offset` to `peer`.
    Send = 3,
    /// The same, and completes when the receiver has started.
    SynchronousSend = 4,
    /// Receives at most `count` bytes from `peer` to `second`.
    Receive = 5,
    /// Waits for a message from `peer`.
    Probe = 6,
    /// Looks for a message from `peer`.
    ProbeNow = 7,
    /// Waits for all members.
    Barrier = 8,
    /// Broadcasts `count` bytes, which are at `offset` of `peer`, to `second` of the others.
    Broadcast = 9,
    /// Reduces `count` elements at `offset` to `second` at `peer`.
    Reduce = 10,
    /// Reduces `count` elements at `offset` to `second` everywhere.
    ReduceAll = 11,
    /// Gathers `count` bytes at `offset` of each member to `second` everywhere.
    GatherAll = 12,
    /// Exchanges `count` bytes between each two members, from `offset` to `second`.
    Exchange = 13,
    /// Duplicates communicator `comm` as `new`.
    Duplicate = 14,
    /// Splits communicator `comm` by color `peer` and key `tag` into `new`.
    Split = 15,
    /// Compares communicators `comm` and `new`.
    Compare = 16,
    /// Gathers `count` bytes at `offset` of each member to the blocks of the table at `second` of `peer`.
    Gather = 17,
    /// Scatters the blocks of the table at `offset` of `peer`: `count` bytes to `second` of each member.
    Scatter = 18,
    /// Gathers `count` bytes at `offset` of each member to the blocks of the table at `second` everywhere.
    GatherAllBlocks = 19,
    /// Exchanges blocks between each two members, from the table at `offset` to the one at `second`.
    ExchangeBlocks = 20,
    /// Reduces `count` elements at `offset` of the members up to this one to `second`.
    Scan = 21,
    /// The same without this one.
    ScanBefore = 22,
    /// Waits for a message from `peer` and takes it out of the matching; the slot of this command names it.
    Take = 23,
    /// The same, if there is one.
    TakeNow = 24,
    /// Receives at most `count` bytes to `second`, of the message that slot `new` names.
    ReceiveTaken = 25,
}

/// A table has two integers of 64 bits for each member: first the bytes of all blocks, then their places behind the table.
pub const TABLE_BYTES: u64 = 16;

impl Operation {
    const ALL: [Self; 25] = [
        Self::Create,
        Self::Free,
        Self::Send,
        Self::SynchronousSend,
        Self::Receive,
        Self::Probe,
        Self::ProbeNow,
        Self::Barrier,
        Self::Broadcast,
        Self::Reduce,
        Self::ReduceAll,
        Self::GatherAll,
        Self::Exchange,
        Self::Duplicate,
        Self::Split,
        Self::Compare,
        Self::Gather,
        Self::Scatter,
        Self::GatherAllBlocks,
        Self::ExchangeBlocks,
        Self::Scan,
        Self::ScanBefore,
        Self::Take,
        Self::TakeNow,
        Self::ReceiveTaken,
    ];

    /// The operation of a number that came through shared memory.
    pub fn of(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|&it| it as u32 == number)
    }
}

/// A command. What a field means depends on the operation; the others are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// Number of the operation.
    pub operation: u32,
    /// Where the end of the operation is reported.
    pub slot: u32,
    /// Communicator, as the program's side numbers those of an endpoint.
    pub comm: u32,
    /// Number of the communicator that is made.
    pub new: u32,
    /// Rank, color or root.
    pub peer: i32,
    /// Tag or key.
    pub tag: i32,
    /// Predefined datatype of a reduction.
    pub datatype: u32,
    /// Predefined operation of a reduction.
    pub op: u32,
    /// Bytes or elements.
    pub count: u64,
    /// Where data are, from the beginning of the heap.
    pub offset: u64,
    /// Where results are, the same way.
    pub second: u64,
}

/// Words of a command.
pub const WORDS: usize = 8;

/// Two halves as a word.
fn joined(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

/// The low half and the high half of a word.
fn halves(word: u64) -> (u32, u32) {
    (word as u32, (word >> 32) as u32)
}

impl Command {
    /// The command as it lies in a queue.
    pub fn words(&self) -> [u64; WORDS] {
        [
            joined(self.operation, self.slot),
            joined(self.comm, self.new),
            joined(self.peer.cast_unsigned(), self.tag.cast_unsigned()),
            joined(self.datatype, self.op),
            self.count,
            self.offset,
            self.second,
            0,
        ]
    }

    /// The command in these words.
    pub fn of(words: [u64; WORDS]) -> Self {
        let (operation, slot) = halves(words[0]);
        let (comm, new) = halves(words[1]);
        let (peer, tag) = halves(words[2]);
        let (datatype, op) = halves(words[3]);
        Self {
            operation,
            slot,
            comm,
            new,
            peer: peer.cast_signed(),
            tag: tag.cast_signed(),
            datatype,
            op,
            count: words[4],
            offset: words[5],
            second: words[6],
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn commands_come_back_from_their_words() {
        let command = Command {
            operation: Operation::Split as u32,
            slot: 7,
            comm: 3,
            new: 4,
            peer: -1,
            tag: i32::MIN,
            datatype: 0x204,
            op: 0x21,
            count: u64::MAX,
            offset: 64,
            second: 1 << 33,
        };
        assert_eq!(Command::of(command.words()), command);
    }

    #[test]
    fn numbers_of_operations_are_checked() {
        for operation in Operation::ALL {
            assert_eq!(Operation::of(operation as u32), Some(operation));
        }
        assert_eq!(Operation::of(0), None);
        assert_eq!(Operation::of(26), None);
    }
}
