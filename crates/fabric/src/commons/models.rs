// SPDX-License-Identifier: MIT OR Apache-2.0
//! Models of the commons: members take turns, in more of them than there are lines.
//!
//! Data are shadowed by cells of the model checker, so that it sees who touches what when. Mutations that these models
//! catch: `Relaxed` for the stamp, for what a member has left or for the count, on either side, also of a lane; and entering or passing on
//! one turn too early.

use std::ptr::NonNull;
use std::sync::Arc;

use loom::cell::UnsafeCell;
use loom::thread;

use super::{AREAS, Commons, Count, Head, Lane, Left, Line, MOST_LINES as LINES, Place, Turns};
use sys::sync::{AtomicU32, AtomicU64};

struct Memory {
    head: Head,
    left: Vec<Left>,
    counts: Vec<Count>,
    lines: Vec<Line>,
    /// One for each line, or area where these are looked at: what the checker watches.
    shadows: Vec<UnsafeCell<u64>>,
}

// SAFETY: members keep to the rules of turns, which is what the models check.
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

    fn commons(&self) -> Commons {
        Commons {
            head: NonNull::from(&self.head),
            left: NonNull::from(&self.left[0]),
            counts: NonNull::from(&self.counts[0]),
            lines: NonNull::from(&self.lines[0]),
            wides: NonNull::dangling(),
            areas: NonNull::dangling(),
            members: self.left.len() as u32,
            line_mask: LINES as u32 - 1,
            group_bytes: size_of::<Line>() * (self.left.len() + 1),
            area_bytes: 0,
        }
    }

    fn write(&self, place: usize, value: u64) {
        // SAFETY: the writer's by the rules of turns; the checker reports it if somebody reads.
        self.shadows[place].with_mut(|shadow| unsafe { *shadow = value });
    }

    fn read(&self, place: usize) -> u64 {
        // SAFETY: posted and not left; the checker reports it if somebody writes.
        self.shadows[place].with(|shadow| unsafe { *shadow })
    }
}

fn wait(mut until: impl FnMut() -> bool) {
    while !until() {
        thread::yield_now();
    }
}

/// What a member does in each of its turns.
type Work = fn(&Memory, &Commons, &mut Turns, u32, u64);

/// Waits until a member can write its line.
fn enter(commons: &Commons, turns: &mut Turns, turn: u64) {
    wait(|| turns.may_enter(commons, turn, Place::Line));
}

fn run(members: u32, turns: u64, work: Work) {
    run_members(members, move |memory, me| {
        let (commons, mut mine) = (memory.commons(), Turns::new());
        for turn in 1..=turns {
            work(memory, &commons, &mut mine, me, turn);
            mine.leave(&commons, me, turn);
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

/// Everybody shows everybody a number.
fn everyone(memory: &Memory, commons: &Commons, turns: &mut Turns, me: u32, turn: u64) {
    enter(commons, turns, turn);
    memory.write(commons.place(turn % LINES, me), turn);
    commons.post(turns, turn, me, 0);
    let mut learned = u64::MAX;
    for member in 0..commons.members() {
        wait(|| {
            let posted = commons.posted(turn, member);
            learned = learned.min(posted.map_or(u64::MAX, |posted| posted.left_before));
            posted.is_some()
        });
        assert_eq!(memory.read(commons.place(turn % LINES, member)), turn);
    }
    turns.learn(learned);
}

/// Member 0 shows the others a number.
fn from_root(memory: &Memory, commons: &Commons, turns: &mut Turns, me: u32, turn: u64) {
    if me == 0 {
        enter(commons, turns, turn);
        memory.write(commons.place(turn % LINES, 0), turn);
        commons.post(turns, turn, 0, 0);
    } else {
        wait(|| commons.posted(turn, 0).is_some());
        assert_eq!(memory.read(commons.place(turn % LINES, 0)), turn);
    }
}

/// Whoever comes last shows the others a sum.
fn last_for_all(memory: &Memory, commons: &Commons, turns: &mut Turns, me: u32, turn: u64) {
    enter(commons, turns, turn);
    let comes_last = commons.comes_last(turn);
    if !comes_last {
        memory.write(commons.place(turn % LINES, me), turn);
    }
    let members = commons.members();
    let common = commons.place(turn % LINES, members);
    if commons.count_in(turn) {
        let others = (0..members).filter(|&member| !comes_last || member != me);
        let sum: u64 = others
            .map(|member| memory.read(commons.place(turn % LINES, member)))
            .sum();
        memory.write(common, sum + if comes_last { turn } else { 0 });
        commons.post(turns, turn, members, 0);
    } else {
        assert!(!comes_last);
        wait(|| commons.posted(turn, members).is_some());
        assert_eq!(memory.read(common), turn * u64::from(members));
    }
}

/// In one operation of many turns each member adds to what it gets from the one below, and shows the sum to the one above.
fn passed_on(memory: &Memory, commons: &Commons, turns: &mut Turns, me: u32, turn: u64) {
    let last = commons.members() - 1;
    let mut sum = turn;
    if me < last {
        wait(|| match turn {
            ..=AREAS => turns.may_enter(commons, turn, Place::Area),
            _ => turns.may_pass(commons, turn, me + 1),
        });
    }
    if me > 0 {
        wait(|| commons.posted(turn, me - 1).is_some());
        sum += memory.read(commons.place(turn % AREAS, me - 1));
    }
    if me < last {
        memory.write(commons.place(turn % AREAS, me), sum);
        commons.post(turns, turn, me, 0);
    }
    assert_eq!(sum, turn * u64::from(me + 1));
}

/// The same with lines, of which only the reader says when they are free.
fn passed_on_in_lines(memory: &Memory, commons: &Commons, turns: &mut Turns, me: u32, turn: u64) {
    let last = commons.members() - 1;
    let mut sum = turn;
    if me < last {
        wait(|| turns.may_pass_line(commons, turn, (me + 1, 0)));
    }
    if me > 0 {
        wait(|| commons.posted(turn, me - 1).is_some());
        sum += memory.read(commons.place(turn % LINES, me - 1));
    }
    if me < last {
        memory.write(commons.place(turn % LINES, me), sum);
        commons.post(turns, turn, me, 0);
    }
    assert_eq!(sum, turn * u64::from(me + 1));
}

/// Two members go along their lane; both show a number, or only the first one.
fn along_a_lane(both: bool) {
    run_members(2, move |memory, me| {
        let (commons, mut turns) = (memory.commons(), Turns::new());
        let lane = Lane::new(&commons, me).unwrap();
        let (shows, needs) = (both || me == 0, both || me == 1);
        for turn in 1..=LINES + 2 {
            let spot = lane.at(turn);
            if shows {
                wait(|| lane.is_free(&turns, turn) || turns.may_enter(&commons, turn, Place::Line));
                memory.write(commons.place(turn % LINES, me), turn);
                spot.post(0);
            }
            if needs {
                wait(|| spot.is_met(0));
                assert_eq!(memory.read(commons.place(turn % LINES, 1 - me)), turn);
            }
            lane.leave(&mut turns, turn, needs);
        }
    });
}

/// With three members, two that wait could let each other pass for ever: no preemptions then.
fn bounded(preemptions: usize, members: u32, turns: u64, work: Work) {
    check(preemptions, move || run(members, turns, work));
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

#[test]
fn model_two_members_go_along_their_lane() {
    check(3, || along_a_lane(true));
    check(3, || along_a_lane(false));
}
