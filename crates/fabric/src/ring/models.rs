// SPDX-License-Identifier: MIT OR Apache-2.0
//! Models of the ring: a sender and a receiver on a ring of two or four cells, for several laps.
//!
//! Cells of the model checker shadow the payload area and the blocks, so that the checker sees each
//! access. Mutations that these models catch:
//!
//! | mutation | finding |
//! |---|---|
//! | `Relaxed` for `Release` in `publish`, or for `Acquire` in `peek` | a message with old data, a race on the payload |
//! | `Relaxed` for `consumed` on either side | a race on the payload |
//! | one credit more than there are cells | a message overwritten before it was read |
//! | `Relaxed` for `returned` on either side | a race on a block |
//! | a block both kept and returned | a race on a block |

use std::ptr::NonNull;
use std::sync::Arc;

use loom::cell::UnsafeCell;
use loom::thread;

use super::blocks::{BLOCKS, Block};
use super::{
    Cell, ChunkLocation, INJECT_WORDS, PAYLOAD_LINE, RingReceiver, RingSender, RingShared, RingView,
};
use sys::sync::{AtomicU32, AtomicU64};

const PAYLOAD_LINES: usize = 8;

/// The memory of a ring.
struct Memory {
    shared: RingShared,
    cells: Box<[Cell]>,
    payload: Box<[u128]>,
    pool: Box<[u128]>,
    /// One for each line of the payload area: what the checker watches.
    shadows: Vec<UnsafeCell<u64>>,
    /// One for each block.
    blocks: Vec<UnsafeCell<u64>>,
}

// SAFETY: sender and receiver keep to the ring's protocol, which is what the models check.
unsafe impl Sync for Memory {}
// SAFETY: as above.
unsafe impl Send for Memory {}

impl Memory {
    fn new(cells: usize) -> Arc<Self> {
        let cell = |_| Cell {
            head: AtomicU64::new(0),
            match_word: AtomicU64::new(0),
            words: std::array::from_fn::<_, INJECT_WORDS, _>(|_| AtomicU64::new(0)),
        };
        let bytes = PAYLOAD_LINES * PAYLOAD_LINE as usize;
        Arc::new(Self {
            shared: RingShared {
                consumed: AtomicU64::new(0),
                throttle: AtomicU32::new(0),
                preferences: AtomicU32::new(0),
                returned: AtomicU64::new(0),
            },
            cells: (0..cells).map(cell).collect(),
            payload: vec![0; bytes / size_of::<u128>()].into(),
            pool: vec![0; BLOCKS as usize * 16].into(),
            blocks: (0..BLOCKS).map(|_| UnsafeCell::new(0)).collect(),
            shadows: (0..PAYLOAD_LINES).map(|_| UnsafeCell::new(0)).collect(),
        })
    }

    fn view(&self) -> RingView {
        let first = NonNull::from(&self.cells[0]);
        RingView {
            shared: NonNull::from(&self.shared),
            cells: first,
            payload: NonNull::from(&self.payload[0]).cast(),
            pool: Some(NonNull::from(&self.pool[0]).cast()),
            cell_count: self.cells.len() as u32,
            payload_bytes: (PAYLOAD_LINES as u32) * PAYLOAD_LINE,
        }
    }

    fn shadow(&self, position: u32) -> &UnsafeCell<u64> {
        &self.shadows[(position / PAYLOAD_LINE) as usize % PAYLOAD_LINES]
    }
}

/// Sends `messages` injected messages over a ring of `cells` cells and checks that they arrive whole and in order.
fn injected_messages(cells: usize, messages: u64) {
    let memory = Memory::new(cells);
    let sender = {
        let memory = memory.clone();
        thread::spawn(move || {
            let mut sender = RingSender::new(memory.view());
            for number in 0..messages {
                let words = [number, !number, 0, 0, 0, 0];
                while !sender.put_bytes(1, number + 100, &words, 16) {
                    thread::yield_now();
                }
            }
        })
    };
    let mut receiver = RingReceiver::new(memory.view());
    for number in 0..messages {
        let arrival = loop {
            match receiver.peek() {
                Some(arrival) => break arrival,
                None => thread::yield_now(),
            }
        };
        assert_eq!((arrival.kind(), arrival.bytes()), (1, 16));
        assert_eq!(receiver.match_word(), number + 100);
        assert_eq!((receiver.word(0), receiver.word(1)), (number, !number));
        receiver.advance();
    }
    assert!(receiver.peek().is_none());
    assert_eq!(receiver.consumed(), messages);
    sender.join().unwrap();
}

#[test]
fn model_injected_messages_wrap_around_a_small_ring() {
    loom::model(|| injected_messages(2, 3));
}

#[test]
fn model_credits_return_late_and_in_time() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(|| injected_messages(4, 9));
    loom::model(|| injected_messages(1, 2));
}

#[test]
fn model_payload_is_not_overwritten_before_it_is_read() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(|| payload_messages(7));
    loom::model(|| payload_messages(1));
}

/// Sends messages of up to a quarter of the payload area, which goes round.
fn payload_messages(messages: u64) {
    let memory = Memory::new(4);
    let sender = {
        let memory = memory.clone();
        thread::spawn(move || {
            let mut sender = RingSender::new(memory.view());
            for number in 0..messages {
                let position = loop {
                    match sender.reserve(2 * PAYLOAD_LINE, std::ptr::null()) {
                        Some((_, position)) => break position as u32,
                        None => thread::yield_now(),
                    }
                };
                for line in 0..2 {
                    let shadow = memory.shadow(position + line * PAYLOAD_LINE);
                    // SAFETY: reserved for this message; the checker reports it if the receiver still reads.
                    shadow.with_mut(|value| unsafe { *value = number });
                }
                assert!(sender.put_words(2, 0, 0, &[number, u64::from(position)]));
            }
        })
    };
    let mut receiver = RingReceiver::new(memory.view());
    let mut reverse = RingSender::unconnected();
    for number in 0..messages {
        while receiver.peek().is_none() {
            thread::yield_now();
        }
        let position = receiver.word(1) as u32;
        let location = ChunkLocation::from(position);
        let payload = receiver.payload(location, 2 * PAYLOAD_LINE, &reverse);
        assert!(payload.is_some());
        for line in 0..2 {
            let shadow = memory.shadow(position + line * PAYLOAD_LINE);
            // SAFETY: published and not released; the checker reports it if the sender writes.
            assert_eq!(shadow.with(|value| unsafe { *value }), number);
        }
        receiver.release_payload(location, 2 * PAYLOAD_LINE, &mut reverse);
        receiver.advance();
    }
    sender.join().unwrap();
}

/// Bytes of a chunk that fits into a block.
const CHUNK: u32 = PAYLOAD_LINE;

/// One side of a pair of rings whose chunks travel in blocks.
struct Side {
    towards: Arc<Memory>,
    from: Arc<Memory>,
    sender: RingSender,
    receiver: RingReceiver,
}

impl Side {
    fn new(towards: &Arc<Memory>, from: &Arc<Memory>) -> Self {
        Self {
            towards: towards.clone(),
            from: from.clone(),
            sender: RingSender::new(towards.view()),
            receiver: RingReceiver::new(from.view()),
        }
    }

    /// The shadow of a block that one of this side's cells names (`sent`), or one of the peer's.
    fn shadow(&self, location: ChunkLocation, sent: bool) -> &UnsafeCell<u64> {
        let block = Block::arrived(location).unwrap();
        // `own` is the receiver's view.
        let memory = if block.own == sent {
            &self.from
        } else {
            &self.towards
        };
        &memory.blocks[block.index as usize]
    }

    /// Sends `number` in a block; false when there is none.
    fn try_send(&mut self, number: u64) -> bool {
        let Some((_, location)) = self.sender.reserve_block(std::ptr::null()) else {
            return false;
        };
        // SAFETY: reserved for this chunk; the checker reports it if the other side uses it.
        self.shadow(location, true)
            .with_mut(|value| unsafe { *value = number });
        assert!(self.sender.put_words(2, 0, 0, &[number, location]));
        true
    }

    /// Takes a chunk, if one is there, and checks that it is `number`.
    fn try_receive(&mut self, number: u64) -> bool {
        if self.receiver.peek().is_none() {
            return false;
        }
        let (said, location) = (self.receiver.word(0), self.receiver.word(1));
        assert_eq!(said, number);
        assert!(
            self.receiver
                .payload(location, CHUNK, &self.sender)
                .is_some()
        );
        // SAFETY: published and not released.
        let value = self.shadow(location, false).with(|value| unsafe { *value });
        assert_eq!(value, number);
        self.receiver
            .release_payload(location, CHUNK, &mut self.sender);
        self.receiver.advance();
        true
    }

    /// Sends and receives so many chunks, whichever is possible first.
    fn exchange(&mut self, sends: u64, receives: u64) {
        let (mut sent, mut received) = (0, 0);
        while sent < sends || received < receives {
            let mut did = false;
            if received < receives && self.try_receive(received) {
                received += 1;
                did = true;
            }
            if sent < sends && self.try_send(sent) {
                sent += 1;
                did = true;
            }
            if !did {
                thread::yield_now();
            }
        }
    }
}

/// Two sides that exchange chunks in blocks of one pair of rings.
fn block_exchange(first: u64, second: u64) {
    let (there, back) = (Memory::new(4), Memory::new(4));
    let other = {
        let (there, back) = (there.clone(), back.clone());
        thread::spawn(move || Side::new(&back, &there).exchange(second, first))
    };
    Side::new(&there, &back).exchange(first, second);
    other.join().unwrap();
}

#[test]
fn model_blocks_come_home_from_a_rank_that_only_receives() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(|| block_exchange(4, 0));
}

#[test]
fn model_blocks_change_hands_with_the_data() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(|| block_exchange(3, 3));
}
