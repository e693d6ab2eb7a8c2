// SPDX-License-Identifier: MIT OR Apache-2.0
//! Models of the area: members take rounds, in more of them than there are lines.
//!
//! Data are shadowed by cells of the model checker, so that it sees each access and its order. Mutations that these models
//! catch: `Relaxed` for the stamp, for what a member has left or for the count, on either side; and entering or passing on
//! one round too early.

use std::ptr::NonNull;
use std::sync::Arc;

use loom::cell::UnsafeCell;
use loom::thread;

use super::memory::{Count, Head, Left, Line, MOST_LINES as LINES};
use super::{BUFFERS, SharedArea, Slot, Tracker};
use sys::sync::{AtomicU32, AtomicU64};

struct Memory {
    head: Head,
    left: Vec<Left>,
    counts: Vec<Count>,
    lines: Vec<Line>,
    /// One for each line, or buffer where these are looked at: what the checker watches.
    shadows: Vec<UnsafeCell<u64>>,
}

// SAFETY: members keep to the rules of rounds, which is what the models check.
unsafe impl Sync for Memory {}
// SAFETY: as above.
unsafe impl Send for Memory {}

impl Memory {
    fn new(members: usize) -> Arc<Self> {
        let lines = LINES as usize * (members + 1);
        let line = |_| Line {
            stamp: AtomicU64::new(0),
            purpose: AtomicU64::new(0),
            data: std::array::from_fn(|_| AtomicU64::new(0)),
        };
        let left = |_| Left {
            before: AtomicU64::new(0),
        };
        let count = |_| Count {
            members: AtomicU64::new(0),
        };
        Arc::new(Self {
            head: Head {
                awaited: AtomicU32::new(0),
            },
            left: (0..members).map(left).collect(),
            counts: (0..LINES).map(count).collect(),
            lines: (0..lines).map(line).collect(),
            shadows: (0..lines).map(|_| UnsafeCell::new(0)).collect(),
        })
    }

    fn area(&self) -> SharedArea {
        SharedArea {
            head: NonNull::from(&self.head),
            left: NonNull::from(&self.left[0]),
            counts: NonNull::from(&self.counts[0]),
            lines: NonNull::from(&self.lines[0]),
            wides: NonNull::dangling(),
            buffers: NonNull::dangling(),
            members: self.left.len() as u32,
            line_mask: LINES as u32 - 1,
            group_bytes: size_of::<Line>() * (self.left.len() + 1),
            buffer_bytes: 0,
        }
    }

    fn write(&self, index: usize, value: u64) {
        // SAFETY: the writer's by the rules of rounds; the checker reports it if somebody reads.
        self.shadows[index].with_mut(|shadow| unsafe { *shadow = value });
    }

    fn read(&self, index: usize) -> u64 {
        // SAFETY: published and not left; the checker reports it if somebody writes.
        self.shadows[index].with(|shadow| unsafe { *shadow })
    }
}

fn wait(mut until: impl FnMut() -> bool) {
    while !until() {
        thread::yield_now();
    }
}

/// The actions of a member in each of its rounds.
type Work = fn(&Memory, &SharedArea, &mut Tracker, u32, u64);

/// Waits until a member can write its line.
fn enter(area: &SharedArea, rounds: &mut Tracker, round: u64) {
    wait(|| rounds.may_enter(area, round, Slot::Line));
}

fn run(members: u32, rounds: u64, work: Work) {
    run_members(members, move |memory, me| {
        let (area, mut mine) = (memory.area(), Tracker::new());
        for round in 1..=rounds {
            work(memory, &area, &mut mine, me, round);
            mine.leave(&area, me, round);
        }
    });
}

fn run_members(members: u32, member: impl Fn(&Memory, u32) + Copy + Send + 'static) {
    let memory = Memory::new(members as usize);
    let others: Vec<_> = (1..members)
        .map(|me| {
            let memory = memory.clone();
            thread::spawn(move || member(&memory, me))
        })
        .collect();
    member(&memory, 0);
    for other in others {
        other.join().unwrap();
    }
}

/// Everybody publishes everybody a number.
fn everyone(memory: &Memory, area: &SharedArea, rounds: &mut Tracker, me: u32, round: u64) {
    enter(area, rounds, round);
    memory.write(area.slot_index(round % LINES, me), round);
    area.publish(rounds, round, me, 0);
    let mut learned = u64::MAX;
    for member in 0..area.members() {
        wait(|| {
            let published = area.published(round, member);
            learned = learned.min(published.map_or(u64::MAX, |published| published.left_before));
            published.is_some()
        });
        assert_eq!(memory.read(area.slot_index(round % LINES, member)), round);
    }
    rounds.learn(learned);
}

/// Member 0 publishes the others a number.
fn from_root(memory: &Memory, area: &SharedArea, rounds: &mut Tracker, me: u32, round: u64) {
    if me == 0 {
        enter(area, rounds, round);
        memory.write(area.slot_index(round % LINES, 0), round);
        area.publish(rounds, round, 0, 0);
    } else {
        wait(|| area.published(round, 0).is_some());
        assert_eq!(memory.read(area.slot_index(round % LINES, 0)), round);
    }
}

/// The last member to arrive publishes a sum for the others.
fn last_for_all(memory: &Memory, area: &SharedArea, rounds: &mut Tracker, me: u32, round: u64) {
    enter(area, rounds, round);
    let comes_last = area.comes_last(round);
    if !comes_last {
        memory.write(area.slot_index(round % LINES, me), round);
    }
    let members = area.members();
    let common = area.slot_index(round % LINES, members);
    if area.count_in(round) {
        let others = (0..members).filter(|&member| !comes_last || member != me);
        let sum: u64 = others
            .map(|member| memory.read(area.slot_index(round % LINES, member)))
            .sum();
        memory.write(common, sum + if comes_last { round } else { 0 });
        area.publish(rounds, round, members, 0);
    } else {
        assert!(!comes_last);
        wait(|| area.published(round, members).is_some());
        assert_eq!(memory.read(common), round * u64::from(members));
    }
}

/// In one operation of many rounds each member adds to what it gets from the one below, and publishes the sum to the one above.
fn passed_on(memory: &Memory, area: &SharedArea, rounds: &mut Tracker, me: u32, round: u64) {
    let last = area.members() - 1;
    let mut sum = round;
    if me < last {
        wait(|| match round {
            ..=BUFFERS => rounds.may_enter(area, round, Slot::Buffer),
            _ => rounds.may_pass(area, round, me + 1),
        });
    }
    if me > 0 {
        wait(|| area.published(round, me - 1).is_some());
        sum += memory.read(area.slot_index(round % BUFFERS, me - 1));
    }
    if me < last {
        memory.write(area.slot_index(round % BUFFERS, me), sum);
        area.publish(rounds, round, me, 0);
    }
    assert_eq!(sum, round * u64::from(me + 1));
}

/// The same with lines, of which only the reader says when they are free.
fn passed_on_in_lines(
    memory: &Memory,
    area: &SharedArea,
    rounds: &mut Tracker,
    me: u32,
    round: u64,
) {
    let last = area.members() - 1;
    let mut sum = round;
    if me < last {
        wait(|| rounds.may_pass_line(area, round, (me + 1, 0)));
    }
    if me > 0 {
        wait(|| area.published(round, me - 1).is_some());
        sum += memory.read(area.slot_index(round % LINES, me - 1));
    }
    if me < last {
        memory.write(area.slot_index(round % LINES, me), sum);
        area.publish(rounds, round, me, 0);
    }
    assert_eq!(sum, round * u64::from(me + 1));
}

/// With three members, two that wait could let each other pass for ever: no preemptions then.
fn bounded(preemptions: usize, members: u32, rounds: u64, work: Work) {
    check(preemptions, move || run(members, rounds, work));
}

fn check(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 10_000;
    builder.check(model);
}

#[test]
fn model_everyone_sees_everyone() {
    bounded(3, 2, LINES + 2, everyone);
    bounded(0, 3, LINES + 1, everyone);
}

#[test]
fn model_a_root_does_not_overtake_its_readers() {
    bounded(3, 2, LINES + 2, from_root);
    bounded(0, 3, LINES + 1, from_root);
}

#[test]
fn model_the_last_one_works_for_all() {
    bounded(3, 2, LINES + 2, last_for_all);
    bounded(0, 3, LINES + 1, last_for_all);
}

#[test]
fn model_what_is_passed_on_waits_for_its_reader() {
    bounded(3, 2, LINES + 2, passed_on);
    bounded(0, 3, LINES + 2, passed_on);
}

#[test]
fn model_lines_that_are_passed_on_wait_for_their_reader() {
    bounded(3, 2, LINES + 2, passed_on_in_lines);
    bounded(0, 3, LINES + 2, passed_on_in_lines);
}
