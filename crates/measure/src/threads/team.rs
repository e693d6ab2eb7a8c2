// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several threads that do the same at the same time.

use std::time::Instant;

use super::duo::bind;
use super::spin_barrier::SpinBarrier;
use crate::sampling::{Plan, Sampled, disturbance, sample};
use crate::sync::{AtomicU64, Ordering};

/// Samples what threads on these cores do together: `work(index)` gives what thread `index` does with a number of repetitions. The
/// time is that of the slowest thread.
pub fn team<W: FnMut(u64)>(
    cores: &[u32],
    plan: &Plan,
    work: impl Fn(usize) -> W + Sync,
) -> Result<Sampled, String> {
    let barrier = SpinBarrier::new(cores.len() as u64);
    // How many repetitions come next; 0 is the end.
    let wanted = AtomicU64::new(0);
    let (barrier, wanted, work) = (&barrier, &wanted, &work);
    std::thread::scope(|scope| {
        let others = cores.iter().enumerate().skip(1);
        let others: Vec<_> = others
            .map(|(index, &core)| {
                scope.spawn(move || {
                    let bound = bind(core);
                    let mut work = work(index);
                    loop {
                        barrier.wait();
                        let repetitions = wanted.load(Ordering::Relaxed);
                        if repetitions == 0 {
                            return bound;
                        }
                        work(repetitions);
                        barrier.wait();
                    }
                })
            })
            .collect();
        let first = cores[0];
        let leader = scope.spawn(move || {
            let bound = bind(first);
            let mut work = work(0);
            let mut timed = |repetitions: u64| {
                wanted.store(repetitions, Ordering::Relaxed);
                barrier.wait();
                let start = Instant::now();
                work(repetitions);
                barrier.wait();
                start.elapsed().as_nanos() as f64
            };
            let found = sample(plan, &mut timed, &|| disturbance().preemptions);
            wanted.store(0, Ordering::Relaxed);
            barrier.wait();
            bound.map(|()| found)
        });
        let early = || "a measuring thread ended early".to_owned();
        let found = leader.join().map_err(|_| early())?;
        for other in others {
            other.join().map_err(|_| early())??;
        }
        found
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn all_threads_do_all_repetitions() {
        let core = sys::cores::usable_processors()[0];
        let plan = Plan {
            value_ns: 1.0,
            fewest: 3,
            most: 5,
            trial: Duration::ZERO,
            trials: 1,
        };
        let done = [AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0)];
        let found = team(&[core; 3], &plan, |index| {
            let own = &done[index];
            move |repetitions| {
                own.fetch_add(repetitions, Ordering::Relaxed);
            }
        });
        let found = found.unwrap();
        assert!(found.sample.n >= 3 && found.sample.ns > 0.0);
        let done = done.map(|count| count.load(Ordering::Relaxed));
        assert!(
            done[0] > 0 && done[1] == done[0] && done[2] == done[0],
            "{done:?}"
        );
    }
}
