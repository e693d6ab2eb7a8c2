// SPDX-License-Identifier: MIT OR Apache-2.0
//! What look-ups in the queues compare, and which message or receive they find.
#![expect(unsafe_code, reason = "a slab needs a board, which is here zeroed")]

use std::ptr::NonNull;

use fabric::board::{VciBoard, kind as record_kind};

use super::chains::compared;
use super::matching::{Key, PostedQueue, in_order_key};
use super::unexpected::UnexpectedQueue;
use crate::identity::{LinkIndex, VciIndex};
use crate::request::{RequestIndex, RequestSlab, Role};

const MANY: u32 = 32_000;
const CONTEXT: u64 = 7 << 33;
const OTHER_CONTEXT: u64 = 8 << 33;
/// Entries that one search may compare: those that are compared one by one, and some that share a bucket.
const FEW: u64 = 64 + 16;

/// Calls a function with an empty slab of a VCI that is not the first.
fn with_slab(use_it: impl FnOnce(&mut RequestSlab)) {
    // SAFETY: all fields are integers and atomics, of which zero is a value.
    let board: Box<VciBoard> = Box::new(unsafe { std::mem::zeroed() });
    let vci = VciIndex::of_bits(3);
    // SAFETY: the board is this slab's, and lives longer.
    let slab = unsafe { RequestSlab::new(NonNull::from(&*board), vci, 2 * MANY) };
    use_it(&mut slab.unwrap());
}

fn key(context: u64, tag: u32, peer: u32) -> Key {
    Key {
        word: context | u64::from(tag),
        peer: LinkIndex::new(peer),
    }
}

fn arrive(slab: &mut RequestSlab, queue: &mut UnexpectedQueue, key: Key) -> RequestIndex {
    let index = slab.take(Role::Injected, record_kind::UNEXPECTED).unwrap();
    queue.push(slab, index, key);
    index
}

fn post(slab: &mut RequestSlab, queue: &mut PostedQueue, key: Key) -> RequestIndex {
    let index = slab
        .take(Role::Receive, record_kind::RECEIVE_POSTED)
        .unwrap();
    queue.post(slab, index, key);
    index
}

/// A message that wildcards accept is found among any number of others, wherever it is.
#[test]
fn wildcards_pass_over_messages_that_they_do_not_accept() {
    let one = key(CONTEXT, MANY + 1, 9);
    for wild in [one.any_peer(), one.any_tag(), one.any_tag().any_peer()] {
        with_slab(|slab| {
            let queue = &mut UnexpectedQueue::new(0);
            let context = match wild == one.any_tag().any_peer() {
                true => OTHER_CONTEXT,
                false => CONTEXT,
            };
            for tag in 0..MANY {
                arrive(slab, queue, key(context, tag, tag % 9));
            }
            let filed = compared::by(|| assert_eq!(queue.peek(slab, wild), None));
            assert!(filed <= u64::from(MANY) + FEW, "{filed} for the first time");
            let absent = compared::by(|| assert_eq!(queue.peek(slab, wild), None));
            assert!(absent <= FEW, "{absent} compared in vain");
            for _ in 0..3 {
                let last = arrive(slab, queue, one);
                let seen = compared::by(|| assert_eq!(queue.peek(slab, wild), Some(last)));
                assert!(seen <= FEW, "{seen} compared by a probe");
                let taken = compared::by(|| assert_eq!(queue.take(slab, wild), Some(last)));
                assert!(taken <= FEW, "{taken} compared by a receive");
                slab.release(last);
            }
        });
    }
}

/// Receives with wildcards that take all messages in the opposite order.
#[test]
fn receives_in_reverse_order_compare_few_messages_each() {
    with_slab(|slab| {
        let queue = &mut UnexpectedQueue::new(0);
        for tag in 0..MANY {
            arrive(slab, queue, key(CONTEXT, tag, 0));
        }
        let all = compared::by(|| {
            for tag in (0..MANY).rev() {
                let wild = key(CONTEXT, tag, 0).any_peer();
                let index = queue.take(slab, wild).unwrap();
                assert_eq!(slab.record(index).match_word as u32, tag);
                slab.release(index);
            }
        });
        assert!(all <= 8 * u64::from(MANY), "{all} for {MANY} receives");
        assert!(queue.is_empty());
    });
}

/// An arrival among receives with wildcards compares few of them, whatever their tags and peers are.
#[test]
fn arrivals_pass_over_receives_that_do_not_accept_them() {
    with_slab(|slab| {
        let queue = &mut PostedQueue::new(0);
        for number in 0..MANY {
            let one = key(CONTEXT, number, number);
            let wild = match number % 3 {
                0 => one.any_peer(),
                1 => one.any_tag(),
                _ => one,
            };
            post(slab, queue, wild);
        }
        let absent = key(CONTEXT, MANY, MANY);
        let in_vain = compared::by(|| assert_eq!(queue.take(slab, absent), None));
        assert!(in_vain <= FEW, "{in_vain} compared in vain");
        let last = post(slab, queue, absent.any_tag().any_peer());
        let for_last = compared::by(|| assert_eq!(queue.take(slab, absent), Some(last)));
        assert!(for_last <= FEW, "{for_last} compared for the last");
        let all = compared::by(|| {
            for number in (0..MANY).rev() {
                assert!(queue.take(slab, key(CONTEXT, number, number)).is_some());
            }
        });
        assert!(all <= 16 * u64::from(MANY), "{all} for {MANY} arrivals");
    });
}

/// A generator of numbers (xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    /// The key of a message, sometimes of one without a tag.
    fn message(&mut self) -> Key {
        let context = [CONTEXT, OTHER_CONTEXT][self.below(2) as usize];
        let (tag, peer) = (self.below(12) as u32, self.below(6) as u32);
        match self.below(16) {
            0 => Key {
                peer: LinkIndex::new(peer),
                ..in_order_key(context)
            },
            _ => key(context, tag, peer),
        }
    }

    /// A key of a receive.
    fn receive(&mut self) -> Key {
        let one = self.message();
        if one.word == in_order_key(CONTEXT).word || one.word == in_order_key(OTHER_CONTEXT).word {
            return one.any_peer();
        }
        match self.below(4) {
            0 => one,
            1 => one.any_peer(),
            2 => one.any_tag(),
            _ => one.any_tag().any_peer(),
        }
    }
}

/// Random arrivals, receives, probes and recalls do what a plain list does.
#[test]
fn the_unexpected_queue_matches_as_a_list_does() {
    for seed in 1..=24 {
        with_slab(|slab| {
            let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15 ^ seed);
            let queue = &mut UnexpectedQueue::new(0);
            let mut list: Vec<(RequestIndex, Key)> = Vec::new();
            for step in 0..4_000 {
                // The queue becomes long, then short, again and again.
                let arrivals = if step % 1_000 < 500 { 7 } else { 2 };
                let choice = numbers.below(10);
                if choice < arrivals {
                    let message = numbers.message();
                    list.push((arrive(slab, queue, message), message));
                    continue;
                }
                if choice == 9 && !list.is_empty() {
                    let at = numbers.below(list.len() as u64) as usize;
                    let (index, _) = list.remove(at);
                    queue.remove(slab, index);
                    slab.release(index);
                    continue;
                }
                let receive = numbers.receive();
                let at = list.iter().position(|&(_, it)| receive.accepts(it));
                let expected = at.map(|at| list[at].0);
                if numbers.below(2) == 0 {
                    assert_eq!(queue.peek(slab, receive), expected, "seed {seed}, {step}");
                    continue;
                }
                assert_eq!(queue.take(slab, receive), expected, "seed {seed}, {step}");
                if let Some(at) = at {
                    slab.release(list.remove(at).0);
                }
                assert_eq!(queue.is_empty(), list.is_empty());
            }
        });
    }
}

/// Random posts, arrivals and cancellations do what a plain list does.
#[test]
fn the_posted_queue_matches_as_a_list_does() {
    for seed in 1..=24 {
        with_slab(|slab| {
            let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15 ^ seed);
            let queue = &mut PostedQueue::new(0);
            let mut list: Vec<(RequestIndex, Key)> = Vec::new();
            for step in 0..4_000 {
                let posts = if step % 1_000 < 500 { 6 } else { 2 };
                let choice = numbers.below(10);
                if choice < posts {
                    let receive = numbers.receive();
                    list.push((post(slab, queue, receive), receive));
                    continue;
                }
                if choice == 9 && !list.is_empty() {
                    let at = numbers.below(list.len() as u64) as usize;
                    let (index, _) = list.remove(at);
                    assert!(queue.remove(slab, index));
                    slab.release(index);
                    continue;
                }
                let message = numbers.message();
                let at = list.iter().position(|&(_, it)| it.accepts(message));
                let expected = at.map(|at| list[at].0);
                assert_eq!(queue.take(slab, message), expected, "seed {seed}, {step}");
                if let Some(at) = at {
                    slab.release(list.remove(at).0);
                }
            }
        });
    }
}
