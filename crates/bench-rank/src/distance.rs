// SPDX-License-Identifier: MIT OR Apache-2.0
//! The yardstick inside a job: how long one cache line takes between ranks 0 and 1, without the library that is measured.
//!
//! Both map one file of memory, which the command that started the job holds open. Rank 0 measures before and after each repetition,
//! and gives cores that are farther apart than usual a moment to come together: virtual machines often move two busy cores to each
//! other.
//!
//! # Safety
//! The memory is mapped from a file that its maker keeps long enough, is never unmapped, and all its words are atomic.
#![expect(unsafe_code, reason = "maps memory that two processes share")]

use std::cell::{Cell, RefCell};
use std::fs::File;
use std::time::{Duration, Instant};

use measure::threads::CacheLine;
use measure::yardstick::ping_pong::{Batches, Lines, PingPong};
use rustix::mm::{MapFlags, ProtFlags, mmap};

use crate::mpi::Mpi;

const BATCHES: Batches = Batches {
    trips: 50,
    most: 15,
    longest: Duration::from_millis(3),
};
/// Longest time that cores at an unusual distance get to come together before a repetition.
const PATIENCE: Duration = Duration::from_millis(60);

/// The value that rank 0 broadcasts to call rank 1 to the other end of the line.
pub(crate) const PROBE: i64 = -1;

/// What both ranks map.
#[derive(Default)]
#[repr(C)]
struct Page {
    /// Rank 0 leads, and rank 1 answers.
    numbers: PingPong,
    /// Written by rank 1 only: 1 when it has the page.
    joined: CacheLine,
    /// Turns that were passed: even when rank 0 has the turn. Written by the rank that has it.
    turns: CacheLine,
    /// Signals that rank 0 gave. Written by rank 0 only.
    asked: Lines,
    /// Signals that rank 1 gave. Written by rank 1 only.
    replied: Lines,
}

/// One end of the line.
pub(crate) struct DistanceProbe {
    page: &'static Page,
    /// Round trips that both ends have done.
    done: Cell<u64>,
    /// Signals of rank 0 and of rank 1 that this rank has given or awaited.
    asked: Cell<u64>,
    replied: Cell<u64>,
    /// Longest usual distance in nanoseconds.
    limit: f64,
    /// Before and after each repetition since the last report.
    met: RefCell<Vec<f64>>,
}

impl DistanceProbe {
    /// The line between ranks 0 and 1, on both; nothing if either of them cannot have it.
    pub(crate) fn open(mpi: &Mpi, path: &str, limit: f64) -> Option<&'static Self> {
        let page = if mpi.rank < 2 { map(path) } else { None };
        if let (Some(page), 1) = (page, mpi.rank) {
            page.joined.publish(1);
        }
        mpi.barrier();
        let line = Self {
            page: page?,
            done: Cell::new(0),
            asked: Cell::new(0),
            replied: Cell::new(0),
            limit,
            met: RefCell::default(),
        };
        let is_whole = line.page.joined.number() == 1;
        is_whole.then(|| &*Box::leak(Box::new(line)))
    }

    /// Rank 1's end: answers until the last number.
    pub(crate) fn answer(&self) {
        let done = self.page.numbers.answer(self.done.get(), || false);
        self.done.set(done);
    }

    /// Waits for the turn of this rank, which shares its core with the other one.
    pub(crate) fn await_turn(&self, rank: i32) {
        while self.page.turns.number() & 1 != u64::from(rank == 1) {
            std::thread::yield_now();
        }
    }

    /// Gives the turn to the other rank.
    pub(crate) fn pass_turn(&self) {
        self.page.turns.publish(self.page.turns.number() + 1);
    }

    /// Rank 0 gives its next signal.
    pub(crate) fn ask(&self) {
        signal(&self.page.asked, &self.asked);
    }

    /// Rank 1 waits for the next signal of rank 0.
    pub(crate) fn await_ask(&self) {
        await_signal(&self.page.asked, &self.asked);
    }

    /// Rank 1 gives its next signal.
    pub(crate) fn reply(&self) {
        signal(&self.page.replied, &self.replied);
    }

    /// Rank 0 waits for the next signal of rank 1.
    pub(crate) fn await_reply(&self) {
        await_signal(&self.page.replied, &self.replied);
    }

    /// Rank 0's end: nanoseconds from core to core.
    fn measure(&self) -> f64 {
        let (distance, done) = (self.page.numbers).distance(self.done.get(), BATCHES, || false);
        self.done.set(done);
        distance
    }

    /// Rank 0 before a repetition: waits a moment for cores at an unusual distance, and stores the distance.
    pub(crate) fn probe_before(&self, mpi: &Mpi) {
        let begin = Instant::now();
        let mut distance = self.probe(mpi);
        while distance > self.limit && begin.elapsed() < PATIENCE {
            distance = self.probe(mpi);
        }
        self.met.borrow_mut().push(distance);
    }

    /// Rank 0 after a repetition.
    pub(crate) fn probe_after(&self, mpi: &Mpi) {
        let distance = self.probe(mpi);
        self.met.borrow_mut().push(distance);
    }

    /// The distance now, on rank 0; the other ranks wait for its broadcast, and rank 1 answers.
    pub(crate) fn probe(&self, mpi: &Mpi) -> f64 {
        mpi.broadcast(&mut { PROBE });
        self.measure()
    }

    /// All distances since the last report.
    pub(crate) fn all_met(&self) -> Vec<f64> {
        self.met.take()
    }

    /// What each of so many values has met since the last report; values that come of several runs met what each of these
    /// did. Nothing if runs have had fewer values than others.
    pub(crate) fn met(&self, values: usize) -> Vec<Vec<f64>> {
        let met = self.met.take();
        let run = 2 * values;
        if run == 0 || met.is_empty() || !met.len().is_multiple_of(run) {
            return Vec::new();
        }
        let of = |value: usize| {
            met.chunks(run)
                .flat_map(move |run| run[2 * value..][..2].to_vec())
        };
        (0..values).map(|value| of(value).collect()).collect()
    }
}

fn map(path: &str) -> Option<&'static Page> {
    let file = File::options().read(true).write(true).open(path).ok()?;
    let (access, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
    let bytes = size_of::<Page>();
    if file.metadata().ok()?.len() < bytes as u64 {
        return None;
    }
    // SAFETY: a new mapping at a place that the kernel chooses, of bytes that the file has (checked above).
    let start = unsafe { mmap(std::ptr::null_mut(), bytes, access, flags, &file, 0) }.ok()?;
    // SAFETY: mapped above for both kinds of access, page-aligned, never unmapped; any bytes are valid atomic words.
    Some(unsafe { &*start.cast::<Page>() })
}

/// Gives the next signal: signal `n` is the number `n` in the line of `n`.
fn signal(lines: &Lines, given: &Cell<u64>) {
    let number = given.get() + 1;
    given.set(number);
    lines.of(number).publish(number);
}

/// Waits for the next signal, with pauses as the waits of MPI libraries have them.
fn await_signal(lines: &Lines, awaited: &Cell<u64>) {
    let number = awaited.get() + 1;
    awaited.set(number);
    lines.of(number).wait_for(number);
}

#[cfg(test)]
mod tests {
    use measure::yardstick::ping_pong::LINES;

    use super::*;

    fn line(met: &[f64]) -> DistanceProbe {
        DistanceProbe {
            page: Box::leak(Box::default()),
            done: Cell::new(0),
            asked: Cell::new(0),
            replied: Cell::new(0),
            limit: 70.0,
            met: RefCell::new(met.to_vec()),
        }
    }

    #[test]
    fn numbers_go_there_and_back_time_and_again() {
        let here = line(&[]);
        let page = here.page;
        let there = std::thread::spawn(move || {
            let there = DistanceProbe { page, ..line(&[]) };
            there.answer();
            there.answer();
        });
        assert!(here.measure() > 0.0 && here.measure() > 0.0);
        there.join().unwrap();
    }

    #[test]
    fn turns_alternate() {
        let here = line(&[]);
        let page = here.page;
        let log = std::sync::Mutex::new(Vec::new());
        let turns = |line: &DistanceProbe, rank| {
            for _ in 0..3 {
                line.await_turn(rank);
                log.lock().unwrap().push(rank);
                line.pass_turn();
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(|| turns(&DistanceProbe { page, ..line(&[]) }, 1));
            turns(&here, 0);
        });
        assert_eq!(log.into_inner().unwrap(), [0, 1, 0, 1, 0, 1]);
    }

    #[test]
    fn each_signal_is_awaited_once() {
        let here = line(&[]);
        let page = here.page;
        let log = std::sync::Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let there = DistanceProbe { page, ..line(&[]) };
                for _ in 0..=LINES {
                    there.await_ask();
                    log.lock().unwrap().push("asked");
                    there.reply();
                }
            });
            for _ in 0..=LINES {
                here.ask();
                here.await_reply();
                log.lock().unwrap().push("replied");
            }
        });
        assert_eq!(
            log.into_inner().unwrap(),
            ["asked", "replied"].repeat(LINES + 1)
        );
    }

    #[test]
    fn each_value_has_what_it_met_in_each_run() {
        assert_eq!(line(&[1.0, 2.0, 3.0, 4.0]).met(2), [[1.0, 2.0], [3.0, 4.0]]);
        let twice = line(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]).met(2);
        assert_eq!(twice, [[1.0, 2.0, 5.0, 6.0], [3.0, 4.0, 7.0, 8.0]]);
        assert!(line(&[1.0, 2.0]).met(2).is_empty() && line(&[]).met(1).is_empty());
    }
}
