// SPDX-License-Identifier: MIT OR Apache-2.0
//! The yardstick of a command: how long one cache line takes from core to core, without any MPI, between two of its own threads.
//!
//! A virtual machine may move its cores while a job runs; then this core distance changes, and the times of all libraries with it.

use std::time::Duration;

use super::ping_pong::{Batches, PingPong};
use crate::threads::{Spot, duo};

const BATCHES: Batches = Batches {
    trips: 5_000,
    most: 15,
    longest: Duration::from_millis(300),
};

/// Half a round trip in nanoseconds; nothing when this process may use one core only.
pub fn measure() -> Option<f64> {
    let lines = PingPong::default();
    let spots = first_two_cores()?;
    duo(
        spots,
        |[_, end]| lines.distance(0, BATCHES, || end.has_ended()).0,
        |[end, _]| {
            lines.answer(0, || end.has_ended());
        },
    )
    .ok()
}

/// The first two cores that this process may use.
pub(super) fn first_two_cores() -> Option<[Spot; 2]> {
    match sys::cores::usable_processors()[..] {
        [first, second, ..] => Some([first, second].map(|core| Spot { core })),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_takes_time_wherever_there_are_two_cores() {
        let cores = sys::cores::usable_cores();
        assert_eq!(measure().is_some_and(|time| time > 1.0), cores > 1);
    }
}
