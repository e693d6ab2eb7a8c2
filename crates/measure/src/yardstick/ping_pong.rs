// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two cores that send rising numbers to each other, through cache lines of which each is written by one of them only.
//!
//! One end leads and the other one answers each number with the same. The lowest bit of a number says that it is the last one.
//! Numbers go through many lines in turn: a processor keeps each line's directory entry in the slice of its last cache that the
//! line's physical address selects, and slices are not equally far from both cores. The time of a single line would be that of its
//! slice, while messages go through many lines.

use std::time::{Duration, Instant};

use machine_profile::statistics::median;

use crate::threads::{CacheLine, Stop};

/// Lines of each direction.
pub const LINES: usize = 128;

/// Lines of one direction, by the number of what goes through them. All zeros are lines that nobody has written.
#[derive(Debug)]
#[repr(C)]
pub struct Lines([CacheLine; LINES]);

/// The lines of both directions. All zeros are lines that nobody has written.
#[derive(Debug, Default)]
#[repr(C)]
pub struct PingPong {
    /// Written by the end that leads.
    to: Lines,
    /// Written by the end that answers.
    from: Lines,
}

/// How a distance is measured: the median of batches of round trips.
#[derive(Clone, Copy, Debug)]
pub struct Batches {
    /// Round trips between two readings of the clock.
    pub trips: u64,
    /// Most batches.
    pub most: usize,
    /// Time after which no more are begun: where other programs want the cores, both ends seldom run at once.
    pub longest: Duration,
}

impl Default for Lines {
    fn default() -> Self {
        Self(std::array::from_fn(|_| CacheLine::default()))
    }
}

impl Lines {
    /// The line of a number.
    pub const fn of(&self, number: u64) -> &CacheLine {
        &self.0[number as usize % LINES]
    }
}

impl PingPong {
    /// Leads so many round trips after those that both ends have done; gives how many they have done then. `is_last` ends the
    /// answers. Where the other end has ended, it gives up.
    pub fn lead(&self, done: u64, trips: u64, is_last: bool, has_ended: impl Fn() -> bool) -> u64 {
        let all = done + trips;
        for trip in done + 1..=all {
            let number = 2 * trip + u64::from(is_last && trip == all);
            self.to.of(trip).publish(number);
            if wait(self.from.of(trip), trip, &has_ended).is_err() {
                return trip - 1;
            }
        }
        all
    }

    /// Answers after the round trips that both ends have done, until the last one; gives how many they have done then. Where the
    /// other end has ended, it gives up.
    pub fn answer(&self, done: u64, has_ended: impl Fn() -> bool) -> u64 {
        let mut trip = done + 1;
        while let Ok(number) = wait(self.to.of(trip), trip, &has_ended) {
            self.from.of(trip).publish(number);
            if number & 1 == 1 {
                return trip;
            }
            trip += 1;
        }
        trip - 1
    }

    /// Leads batches of round trips, the last one of the other end's answers. Gives nanoseconds from core to core, and the round
    /// trips that both ends have done then.
    pub fn distance(
        &self,
        mut done: u64,
        batches: Batches,
        has_ended: impl Fn() -> bool,
    ) -> (f64, u64) {
        let begin = Instant::now();
        let mut times = Vec::with_capacity(batches.most);
        let mut is_last = false;
        while !is_last {
            let start = Instant::now();
            is_last = times.len() + 1 >= batches.most || begin.elapsed() > batches.longest;
            done = self.lead(done, batches.trips, is_last, &has_ended);
            times.push(start.elapsed().as_nanos() as f64 / batches.trips as f64 / 2.0);
        }
        (median(&times), done)
    }
}

/// Polls of a line after which a wait asks whether the other end has ended.
const POLLS: u32 = 1000;

/// Waits for the number of a round trip.
#[inline]
fn wait(line: &CacheLine, trip: u64, has_ended: &impl Fn() -> bool) -> Result<u64, Stop> {
    loop {
        for _ in 0..POLLS {
            let number = line.number();
            if number / 2 == trip {
                return Ok(number);
            }
            std::hint::spin_loop();
        }
        if has_ended() {
            return Err(Stop);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FEW: Batches = Batches {
        trips: 50,
        most: 15,
        longest: Duration::from_millis(3),
    };

    #[test]
    fn numbers_go_there_and_back_time_and_again() {
        let lines = PingPong::default();
        let (there, here) = std::thread::scope(|scope| {
            let there = scope.spawn(|| {
                let done = lines.answer(0, || false);
                lines.answer(done, || false)
            });
            let (first, done) = lines.distance(0, FEW, || false);
            let (second, done) = lines.distance(done, FEW, || false);
            assert!(first > 0.0 && second > 0.0);
            (there.join().unwrap(), done)
        });
        assert_eq!(there, here);
        assert!(here >= 2 * FEW.trips);
    }

    #[test]
    fn nobody_waits_for_an_end_that_has_ended() {
        let lines = PingPong::default();
        assert_eq!(lines.lead(0, 3, false, || true), 0);
        assert_eq!(PingPong::default().answer(0, || true), 0);
    }
}
