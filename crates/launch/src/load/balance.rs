// SPDX-License-Identifier: MIT OR Apache-2.0
//! Oversubscribed ranks are bound to cores while the load is even.
//!
//! Neighbours that run at the same time on two cores answer each other without a context switch, which the kernel's own
//! placement gives up for every short sleep. The price of a fixed place is that a core may idle while two ranks share
//! another one. The launcher compares the cores each time the job's clock advances; the binding should end when that has
//! happened twice in a row.

use std::time::{Duration, Instant};

use super::times::{AllTimes, parts, processor_times};
use crate::processes::is_runnable;

/// Part of the time that a core must have idled, and the most that another one may have.
const IDLE: f64 = 0.25;
const BUSY: f64 = 0.05;
/// Polling interval: loads of shorter times say little.
const PERIOD: Duration = Duration::from_millis(240);
/// Polls in a row that must find the same.
const POLLS: u32 = 2;

/// Watches over ranks that are bound to cores which they share.
pub(super) struct Balance {
    /// The processors of each core that ranks are bound to, and these ranks.
    cores: Vec<(Vec<u32>, Vec<usize>)>,
    before: AllTimes,
    polled: Instant,
    uneven: u32,
}

impl Balance {
    /// For ranks of which each is bound to one of `sets`.
    pub(super) fn new(sets: &[Vec<u32>]) -> Self {
        let mut cores: Vec<(Vec<u32>, Vec<usize>)> = Vec::new();
        for (rank, set) in sets.iter().enumerate() {
            match cores.iter_mut().find(|(known, _)| known == set) {
                Some((_, ranks)) => ranks.push(rank),
                None => cores.push((set.clone(), vec![rank])),
            }
        }
        Self {
            cores,
            before: processor_times(),
            polled: Instant::now(),
            uneven: 0,
        }
    }

    /// Measures the load since the last poll; true when the ranks should no longer be bound. `pids` are those of the ranks
    /// that have not ended.
    pub(super) fn poll(&mut self, pids: &[Option<u32>]) -> bool {
        if self.polled.elapsed() < PERIOD {
            return false;
        }
        self.polled = Instant::now();
        let now = processor_times();
        let idle: Vec<_> = self
            .cores
            .iter()
            .map(|(set, _)| parts(set, &self.before, &now).map(|parts| parts.idle))
            .collect();
        self.before = now;
        let shares = shared_core(&idle).is_some_and(|core| {
            let ranks = &self.cores[core].1;
            let runnable = ranks
                .iter()
                .filter(|&&rank| pids[rank].is_some_and(is_runnable));
            runnable.take(2).count() == 2
        });
        self.uneven = if shares { self.uneven + 1 } else { 0 };
        self.uneven >= POLLS
    }
}

/// The busiest core, if it has no time left while another one has much.
fn shared_core(idle: &[Option<f64>]) -> Option<usize> {
    let known = || {
        idle.iter()
            .enumerate()
            .filter_map(|(core, idle)| Some((core, (*idle)?)))
    };
    let (core, least) = known().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let most = known().map(|(_, idle)| idle).fold(0.0, f64::max);
    (least < BUSY && most > IDLE).then_some(core)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_is_shared_in_vain_when_another_one_idles() {
        assert_eq!(shared_core(&[Some(0.01), Some(0.3)]), Some(0));
        assert_eq!(shared_core(&[Some(0.9), Some(0.3), Some(0.0)]), Some(2));
        assert_eq!(shared_core(&[Some(0.01), Some(0.1)]), None);
        assert_eq!(shared_core(&[Some(0.2), Some(0.9)]), None);
        assert_eq!(shared_core(&[None, Some(0.0)]), None);
        assert_eq!(shared_core(&[]), None);
    }

    #[test]
    fn ranks_are_grouped_by_core() {
        let balance = Balance::new(&[vec![0, 4], vec![1, 5], vec![0, 4]]);
        assert_eq!(balance.cores.len(), 2);
        assert_eq!(balance.cores[0].1, [0, 2]);
    }
}
