// SPDX-License-Identifier: MIT OR Apache-2.0
//! An entry of the slab: what all operations have, and a body for each kind of operation.
//!
//! The record's role says which body an entry has. A body is read and written by its role's accessor only. Every combination of bits is a
//! value of each body, so that an entry needs no initialisation when it changes its role; who takes it sets the fields that it uses.
//! A posted receive touches the first cache line of its entry only.

// account: request

use fabric::board::RequestRecord;

use super::owner::Owner;
use super::partitioned::Partitioned;
use super::plan::{Boxed, FastPlan, Start};
use super::slab::{RequestId, RequestIndex};
use super::status::Status;
use crate::datatype::{SentSignature, Types};
use crate::device::Staged;
use crate::errors::Error;
use crate::identity::LinkIndex;
use layout::SharedLayout;

/// The kind of operation of an entry; its progress is the record's kind. Kept in the record's `role`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Role {
    /// A send: [`SendBody`].
    Send = 0,
    /// A receive: [`ReceiveBody`].
    Receive = 1,
    /// A message that arrived before its receive, with its bytes in the entry: [`UnexpectedBody`].
    Injected = 2,
    /// The same with its bytes on the heap.
    Held = 3,
    /// An RTS that arrived before its receive, with its words in the entry.
    Rts = 4,
    /// A request completed by the user or by a task: [`TaskBody`].
    Task = 5,
    /// A partitioned request, whose messages are entries of their own: [`PartitionedBody`].
    Partitioned = 6,
}

/// Bits of the record's `flags`.
pub(crate) mod flag {
    /// MPI_Request_free was called: release at completion.
    pub(crate) const FREED: u16 = 1;
    /// The send completes only when matched.
    pub(crate) const SYNCHRONOUS: u16 = 1 << 1;
    /// The operation was cancelled.
    pub(crate) const CANCELLED: u16 = 1 << 2;
    /// The operation returns to INACTIVE instead of being released.
    pub(crate) const PERSISTENT: u16 = 1 << 3;
    /// Taken by a matched probe.
    pub(crate) const PROBED: u16 = 1 << 4;
    /// A receive posted with a wildcard.
    pub(crate) const WILD: u16 = 1 << 5;
    /// A buffered send: its bytes are a copy that the operation owns.
    pub(crate) const BUFFERED: u16 = 1 << 6;
    /// Its basic types are checked: a signature travels before the message.
    pub(crate) const TYPED: u16 = 1 << 7;
    /// A persistent collective that has a plan and no error: `TaskBody::start` and `base` are the plan.
    pub(crate) const PLANNED: u16 = 1 << 8;
    /// A message of a partitioned request: [`super::Part`].
    pub(crate) const PART: u16 = 1 << 9;
    /// A receive whose message must fill its buffer: the communicator promises that (`mpi_assert_exact_length`), and promises are
    /// checked.
    pub(crate) const EXACT: u16 = 1 << 10;
    /// A message of a collective whose receivers copy alone: one rank has something for many, which then copy at the same time.
    pub(crate) const COPIED_BY_RECEIVER: u16 = 1 << 11;
    /// A receive whose memory is open to the network: `ReceiveBody::open_memory` is its number.
    pub(crate) const OPEN: u16 = 1 << 12;
    /// A message without a request, which its communicator counts.
    pub(crate) const IN_BULK: u16 = 1 << 13;
    /// A receive whose completion is recorded in `VciState::woken`.
    pub(crate) const WATCHED: u16 = 1 << 14;
}

/// An entry. All-zero is a valid value.
#[repr(C, align(64))]
pub(crate) struct RequestEntry {
    /// The fields for matching, which the launcher reads, too. `bytes` is the length of the message, or, until a receive has its
    /// message, the capacity of its buffer.
    pub(crate) record: RequestRecord,
    /// The request id: tag, generation, index.
    pub(super) id: RequestId,
    pub(crate) base: *mut u8,
    /// The communicator's part that its requests need; it lives while it counts this request.
    pub(crate) owner: *const Owner,
    /// Of a receive: how many receives with wildcards had been posted when it was, itself included.
    pub(crate) sequence: u64,

    /// The next free entry.
    pub(super) next_free: *mut RequestEntry,
    pub(crate) extra: Option<Box<Extra>>,
    /// Error class that the operation ended with; 0 in free entries.
    pub(crate) error: i32,
    body: Body,
}

/// What depends on the role.
#[derive(Clone, Copy)]
#[repr(C)]
union Body {
    send: SendBody,
    receive: ReceiveBody,
    unexpected: UnexpectedBody,
    task: TaskBody,
    partitioned: PartitionedBody,
}

/// The place of a message in a partitioned request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Part {
    pub(crate) request: RequestIndex,
    pub(crate) number: u32,
}

/// A send.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct SendBody {
    /// Bytes that have left.
    pub(crate) position: usize,
    /// The receive that takes the data, as its process names it, or 0.
    pub(crate) receiver: u64,
    pub(super) part: Part,
    /// The link to the receiver; [`LinkIndex::NONE`] for MPI_PROC_NULL.
    pub(crate) target: LinkIndex,
    /// Parts of the data that the network has not taken out of the memory of the program yet.
    parts_left: u32,
}

/// A receive.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct ReceiveBody {
    /// Bytes that have arrived of a message in chunks.
    pub(crate) position: usize,
    /// Bytes that the receive wants of it.
    pub(crate) wanted: usize,
    pub(super) part: Part,
    /// The send that waits for the end, as its process names it, or 0.
    pub(crate) sender: u64,
    /// The claim word of the offer that the receive is in, or the mark of an offer to another node.
    pub(crate) claim: u64,
    /// Ticks when it was posted, and the capacity of its buffer then: of long receives and of those with [`flag::EXACT`].
    pub(crate) posted_at: u64,
    pub(crate) capacity: u64,
    open_memory: u32,
    /// Whether the state machine of offers knows it while it waits for chunks: 1, else 0.
    offered: u32,
}

/// A message that arrived before its receive.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct UnexpectedBody {
    /// Neighbours in the order of arrival.
    pub(crate) earlier: RequestIndex,
    pub(crate) later: RequestIndex,
    /// The send that waits for its receive, as its process names it, or 0.
    pub(crate) sender: u64,
    /// Data of an injected message, or the words of an RTS.
    pub(crate) words: [u64; 6],
}

/// A request completed by the user or by a task.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct TaskBody {
    /// The number of the call that it belongs to.
    pub(crate) call: u64,
    /// The function that starts a planned collective.
    pub(crate) start: Option<Start>,
}

/// A partitioned request.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct PartitionedBody {
    /// The link to the other side; [`LinkIndex::NONE`] for MPI_PROC_NULL.
    pub(crate) peer: LinkIndex,
}

/// The arguments of a persistent receive.
#[derive(Clone, Copy)]
pub(crate) struct Template {
    /// Context and tag; a tag may be any.
    pub(crate) match_word: u64,
    /// The link of the sender, or any; [`LinkIndex::NONE`] for MPI_PROC_NULL.
    pub(crate) peer: LinkIndex,
    /// Bytes of the buffer.
    pub(crate) capacity: u64,
}

/// Fields that few operations need.
#[derive(Default)]
pub(crate) struct Extra {
    /// Non-contiguous memory: its layout and the number of elements.
    pub(crate) layout: Option<(SharedLayout, usize)>,
    /// Packed bytes of memory of a GPU, between it and the wire.
    pub(crate) staged: Option<Box<Staged>>,
    /// Type signature of a send or a receive, where types are checked.
    pub(crate) types: Option<Types>,
    /// Type signature of an unexpected message, where types are checked.
    pub(crate) signature: Option<Box<SentSignature>>,
    /// Bytes of a held message or of a buffered send.
    pub(crate) held: Vec<u8>,
    /// Arguments of a persistent receive.
    pub(crate) template: Option<Template>,
    /// Bytes to give back to the buffer that a buffered send came from.
    pub(crate) on_release: Option<Box<dyn FnOnce() + Send>>,
    /// Status with which a task or a partitioned request ended.
    pub(crate) status: Option<Status>,
    /// Starts a persistent collective: its fast path, if it has one, and a future.
    pub(crate) fast: Option<FastPlan>,
    pub(crate) again: Option<Box<dyn Fn() -> Boxed>>,
    /// Partitions and messages of a partitioned request.
    pub(crate) partitioned: Option<Box<Partitioned>>,
    /// Text of an error that the operation ended with.
    pub(crate) error_text: String,
}

const _: () = {
    assert!(size_of::<RequestRecord>() == 32);
    assert!(size_of::<RequestEntry>() == 192);
    assert!(std::mem::offset_of!(RequestEntry, next_free) == 64);
    // What a send uses lies in the second cache line.
    assert!(std::mem::offset_of!(RequestEntry, body) + size_of::<SendBody>() <= 128);
};

impl RequestEntry {
    /// The kind of operation.
    #[inline(always)]
    pub(crate) const fn role(&self) -> Role {
        match self.record.role {
            0 => Role::Send,
            1 => Role::Receive,
            2 => Role::Injected,
            3 => Role::Held,
            4 => Role::Rts,
            5 => Role::Task,
            _ => Role::Partitioned,
        }
    }

    /// The body of a send.
    #[inline(always)]
    pub(crate) const fn send(&self) -> &SendBody {
        debug_assert!(matches!(self.role(), Role::Send));
        // SAFETY: each body accepts all bits, and the slab's memory is initialised.
        unsafe { &self.body.send }
    }

    #[inline(always)]
    pub(crate) const fn send_mut(&mut self) -> &mut SendBody {
        debug_assert!(matches!(self.role(), Role::Send));
        // SAFETY: as in `send`.
        unsafe { &mut self.body.send }
    }

    /// The body of a receive.
    #[inline(always)]
    pub(crate) const fn receive(&self) -> &ReceiveBody {
        debug_assert!(matches!(self.role(), Role::Receive));
        // SAFETY: as in `send`.
        unsafe { &self.body.receive }
    }

    #[inline(always)]
    pub(crate) const fn receive_mut(&mut self) -> &mut ReceiveBody {
        debug_assert!(matches!(self.role(), Role::Receive));
        // SAFETY: as in `send`.
        unsafe { &mut self.body.receive }
    }

    /// The body of a message that arrived before its receive.
    #[inline(always)]
    pub(crate) const fn unexpected(&self) -> &UnexpectedBody {
        debug_assert!(matches!(
            self.role(),
            Role::Injected | Role::Held | Role::Rts
        ));
        // SAFETY: as in `send`.
        unsafe { &self.body.unexpected }
    }

    #[inline(always)]
    pub(crate) const fn unexpected_mut(&mut self) -> &mut UnexpectedBody {
        debug_assert!(matches!(
            self.role(),
            Role::Injected | Role::Held | Role::Rts
        ));
        // SAFETY: as in `send`.
        unsafe { &mut self.body.unexpected }
    }

    /// The body of a request completed by the user or by a task.
    #[inline(always)]
    pub(crate) const fn task(&self) -> &TaskBody {
        debug_assert!(matches!(self.role(), Role::Task));
        // SAFETY: as in `send`.
        unsafe { &self.body.task }
    }

    #[inline(always)]
    pub(crate) const fn task_mut(&mut self) -> &mut TaskBody {
        debug_assert!(matches!(self.role(), Role::Task));
        // SAFETY: as in `send`.
        unsafe { &mut self.body.task }
    }

    /// The body of a partitioned request.
    #[inline(always)]
    pub(crate) const fn partitioned(&self) -> &PartitionedBody {
        debug_assert!(matches!(self.role(), Role::Partitioned));
        // SAFETY: as in `send`.
        unsafe { &self.body.partitioned }
    }

    #[inline(always)]
    pub(crate) const fn partitioned_mut(&mut self) -> &mut PartitionedBody {
        debug_assert!(matches!(self.role(), Role::Partitioned));
        // SAFETY: as in `send`.
        unsafe { &mut self.body.partitioned }
    }

    /// The record's kind, role and flags in one word, for comparing them at once with [`Self::state_of`].
    #[inline(always)]
    pub(crate) const fn state(&self) -> u32 {
        let record = &self.record;
        Self::state_of(record.kind, self.record.role, record.flags)
    }

    /// The state of an operation of this kind and role, and with these flags.
    #[inline(always)]
    pub(crate) const fn state_of(record_kind: u8, role: u8, flags: u16) -> u32 {
        let [low, high] = flags.to_ne_bytes();
        u32::from_ne_bytes([record_kind, role, low, high])
    }

    /// The state of a persistent collective that has a plan and no error.
    pub(crate) const fn planned_state_of(record_kind: u8) -> u32 {
        let flags = flag::PERSISTENT | flag::PLANNED;
        Self::state_of(record_kind, Role::Task as u8, flags)
    }

    /// Whether a bit of [`flag`] is set.
    #[inline(always)]
    pub(crate) const fn has(&self, flag: u16) -> bool {
        self.record.flags & flag != 0
    }

    /// Sets a bit of [`flag`].
    #[inline(always)]
    pub(crate) const fn set(&mut self, flag: u16) {
        self.record.flags |= flag;
    }

    /// Clears a bit of [`flag`].
    #[inline(always)]
    pub(crate) const fn clear(&mut self, flag: u16) {
        self.record.flags &= !flag;
    }

    /// Makes this the message with a number of a partitioned request: it is complete when it is freed, and the entry stays.
    pub(crate) const fn set_part(&mut self, part: Part) {
        self.set(flag::FREED | flag::PART);
        match self.role() {
            Role::Send => self.send_mut().part = part,
            _ => self.receive_mut().part = part,
        }
    }

    /// The place of this message in a partitioned request, if it is one of those.
    pub(crate) const fn part(&self) -> Option<Part> {
        if !self.has(flag::PART) {
            return None;
        }
        Some(match self.role() {
            Role::Send => self.send().part,
            _ => self.receive().part,
        })
    }

    /// Whether this is a send to a peer.
    pub(crate) fn sends_to(&self, peer: LinkIndex) -> bool {
        self.role() == Role::Send && self.send().target == peer
    }

    /// Records how the operation went wrong.
    #[cold]
    pub(crate) fn fail(&mut self, error: &Error) {
        self.error = error.class().0;
        self.clear(flag::PLANNED);
        let extra = self.extra.get_or_insert_default();
        extra.error_text = error.to_string();
        extra.status = None;
    }

    /// Lets the message of this receive have exactly the length of its buffer. The receive then ends on the slow path, which compares
    /// both.
    pub(crate) const fn set_exact(&mut self) {
        self.set(flag::EXACT);
        self.receive_mut().capacity = self.record.bytes;
    }

    /// The bytes that the message of this receive must have, if that is promised.
    pub(crate) fn exact_bytes(&self) -> Option<u64> {
        self.has(flag::EXACT).then(|| self.receive().capacity)
    }

    /// Records the number under which the memory of this receive is open. The receive then ends on the slow path, which closes it.
    pub(crate) const fn set_open(&mut self, number: u32) {
        self.set(flag::OPEN);
        self.receive_mut().open_memory = number;
    }

    /// The number of the open memory, if there is one, which the caller closes.
    pub(crate) const fn take_open(&mut self) -> Option<u32> {
        if !self.has(flag::OPEN) {
            return None;
        }
        self.clear(flag::OPEN);
        Some(self.receive().open_memory)
    }

    /// Index of this entry.
    #[inline(always)]
    pub(crate) const fn index(&self) -> RequestIndex {
        RequestIndex(self.id.0 as u32)
    }

    /// Id of this entry.
    #[inline(always)]
    pub(crate) const fn id(&self) -> RequestId {
        self.id
    }
}

impl SendBody {
    /// The data leave in so many parts.
    pub(crate) const fn leaves_in(&mut self, parts: u32) {
        self.parts_left = parts;
    }

    /// A part has left; whether it was the last.
    pub(crate) const fn part_left(&mut self) -> bool {
        self.parts_left = self.parts_left.saturating_sub(1);
        self.parts_left == 0
    }
}

impl ReceiveBody {
    /// Prepares for a message in chunks, of which the receiver wants so many bytes; whether the state machine of offers knows the receive.
    pub(crate) const fn await_chunks(&mut self, wanted: usize, sender: u64, is_offered: bool) {
        (self.position, self.wanted, self.sender) = (0, wanted, sender);
        self.offered = is_offered as u32;
    }

    /// Whether the state machine of offers knows this receive, which waits for chunks.
    pub(crate) const fn is_offered(&self) -> bool {
        self.offered == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_was_not_opened_is_not_closed() {
        // SAFETY: all-zero is a valid value of an entry.
        let mut entry: RequestEntry = unsafe { std::mem::zeroed() };
        entry.record.role = Role::Receive as u8;
        entry.receive_mut().open_memory = 7;
        assert_eq!(entry.take_open(), None);
        entry.set_open(3);
        assert_eq!(entry.take_open(), Some(3));
        assert_eq!(entry.take_open(), None);
    }

    #[test]
    fn each_flag_has_a_bit_of_its_own() {
        let flags = [
            flag::FREED,
            flag::SYNCHRONOUS,
            flag::CANCELLED,
            flag::PERSISTENT,
            flag::PROBED,
            flag::WILD,
            flag::BUFFERED,
            flag::TYPED,
            flag::PLANNED,
            flag::PART,
            flag::EXACT,
            flag::COPIED_BY_RECEIVER,
            flag::OPEN,
            flag::IN_BULK,
            flag::WATCHED,
        ];
        let all = flags.iter().fold(0u16, |all, flag| all | flag);
        assert_eq!(all.count_ones() as usize, flags.len());
    }
}
