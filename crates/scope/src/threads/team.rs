// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several threads that do the same at the same time.

use std::time::Instant;

use crate::sync::{AtomicU32, AtomicU64, Ordering};
use crate::threads::duo::bind;
use crate::timing::{Plan, Sampled, disturbance, sample};

/// Polls after which a waiting thread gives its core to others: teams may have more threads than there are free cores.
const POLLS: u32 = 2000;

/// Where all threads of a team meet.
struct Barrier {
    arrived: AtomicU32,
    round: AtomicU32,
    members: u32,
}

impl Barrier {
    fn wait(&self) {
        // PAIRS: scope_team.round
        let round = self.round.load(Ordering::Acquire);
        // PAIRS: scope_team.arrived
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.members {
            self.arrived.store(0, Ordering::Relaxed);
            // PAIRS: scope_team.round
            self.round.store(round.wrapping_add(1), Ordering::Release);
            return;
        }
        let mut polls = 0;
        // PAIRS: scope_team.round
        while self.round.load(Ordering::Acquire) == round {
            std::hint::spin_loop();
            polls += 1;
            if polls > POLLS {
                sys::cores::yield_core();
            }
        }
    }
}

/// Samples what threads on these cores do together: `work(index)` gives what thread `index` does with a number of repetitions. The
/// time is that of the slowest thread.
pub(crate) fn team<W: FnMut(u64)>(
    cores: &[u32],
    plan: &Plan,
    work: impl Fn(usize) -> W + Sync,
) -> Result<Sampled, String> {
    let barrier = Barrier {
        arrived: AtomicU32::new(0),
        round: AtomicU32::new(0),
        members: cores.len() as u32,
    };
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
