// SPDX-License-Identifier: MIT OR Apache-2.0
//! Jobs whose values can be compared: all taken while the cores were at the same distance from each other.
//!
//! On a virtual machine the two cores may be moved apart and together again between two jobs; then everything that goes
//! from core to core takes several times as long, for whichever library runs at that moment. So the distance is taken
//! before and after each job, and a job that met another one than the [`usual`] is done again later.

use std::collections::VecDeque;
use std::time::Duration;

/// Distances count as the same up to this factor.
const SAME: f64 = 1.4;
/// Times that a job is done until it meets the usual distance.
const TRIES: u32 = 4;
/// How often a job waits for that before it is done anyway.
const PATIENCE: u32 = 10;
/// How long it waits each time.
pub(super) const PAUSE: Duration = Duration::from_millis(300);

/// What a job gave.
pub(super) struct Taken<J, V> {
    pub(super) job: J,
    attempt: u32,
    pub(super) values: V,
    /// Core-to-core times before and after, in nanoseconds; nothing on one core.
    pub(super) distances: Vec<f64>,
}

/// A job that is still to do, for the first time or in place of what it gave before.
struct Planned<J> {
    job: J,
    attempt: u32,
    again: Option<usize>,
}

/// The distance that a quarter of all does not reach: the near one where the machine has a near and a far state and is in
/// neither but for a moment, and not what was seen once.
pub(super) fn usual(distances: &[f64]) -> Option<f64> {
    let mut sorted = distances.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 4).copied()
}

/// Whether any of the distances is another one than the usual.
pub(super) fn differ(distances: &[f64], usual: Option<f64>) -> bool {
    let other = |&distance: &f64| {
        usual.is_some_and(|usual| distance.max(usual) > distance.min(usual) * SAME)
    };
    distances.iter().any(other)
}

/// The jobs of a run.
pub(super) trait Jobs {
    /// What a job is.
    type Job: Clone;
    /// What a job gives.
    type Values;

    /// The core-to-core time.
    fn distance(&mut self) -> Option<f64>;

    /// Whether a job is still to be done, for the first time or again.
    fn wanted(&mut self, job: &Self::Job, attempt: u32) -> bool;

    /// Does a job.
    fn work(&mut self, job: &Self::Job) -> Result<Self::Values, String>;

    /// Hears all that was taken so far, of which some may be replaced later.
    fn keep(&mut self, taken: &[Taken<Self::Job, Self::Values>]) -> Result<(), String>;
}

/// What jobs gave.
pub(super) type AllTaken<W> = Vec<Taken<<W as Jobs>::Job, <W as Jobs>::Values>>;

/// Does all jobs, in their order; those that met another distance than the usual again after all others. The last try of a
/// job counts in any case. `pause` is the time between two looks at cores that are at another distance.
pub(super) fn run<W: Jobs>(
    list: impl IntoIterator<Item = W::Job>,
    pause: Duration,
    jobs: &mut W,
) -> Result<AllTaken<W>, String> {
    let first = |job| Planned {
        job,
        attempt: 1,
        again: None,
    };
    let mut queue: VecDeque<Planned<W::Job>> = list.into_iter().map(first).collect();
    let mut done: AllTaken<W> = Vec::new();
    let mut now = jobs.distance();
    let mut seen: Vec<f64> = now.into_iter().collect();
    while !queue.is_empty() {
        while let Some(Planned {
            job,
            attempt,
            again,
        }) = queue.pop_front()
        {
            if !jobs.wanted(&job, attempt) {
                continue;
            }
            for _ in 0..PATIENCE {
                if !differ(now.as_slice(), usual(&seen)) {
                    break;
                }
                std::thread::sleep(pause);
                now = jobs.distance();
            }
            let before = now;
            let values = jobs.work(&job)?;
            now = jobs.distance();
            let distances: Vec<f64> = before.into_iter().chain(now).collect();
            seen.extend(&distances);
            let taken = Taken {
                job,
                attempt,
                values,
                distances,
            };
            match again {
                Some(index) => done[index] = taken,
                None => done.push(taken),
            }
            jobs.keep(&done)?;
        }
        let usual = usual(&seen);
        for (index, taken) in done.iter().enumerate() {
            if taken.attempt < TRIES && differ(&taken.distances, usual) {
                queue.push_back(Planned {
                    job: taken.job.clone(),
                    attempt: taken.attempt + 1,
                    again: Some(index),
                });
            }
        }
        queue.retain(|planned| jobs.wanted(&planned.job, planned.attempt));
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Jobs a, b and c on a machine of given distances, the last of which stays; each gives the number of its run.
    struct Three<'a> {
        distances: std::slice::Iter<'a, f64>,
        last: Option<f64>,
        runs: u32,
        /// Runs after which no job is wanted.
        most: u32,
        kept: usize,
    }

    impl Jobs for Three<'_> {
        type Job = char;
        type Values = u32;

        fn distance(&mut self) -> Option<f64> {
            self.last = self.distances.next().copied().or(self.last);
            self.last
        }

        fn wanted(&mut self, _: &char, _: u32) -> bool {
            self.runs < self.most
        }

        fn work(&mut self, _: &char) -> Result<u32, String> {
            self.runs += 1;
            Ok(self.runs)
        }

        fn keep(&mut self, taken: &[Taken<char, u32>]) -> Result<(), String> {
            self.kept = taken.len();
            Ok(())
        }
    }

    fn at_most(most: u32, distances: &[f64]) -> Vec<(char, u32, Vec<f64>)> {
        let mut jobs = Three {
            distances: distances.iter(),
            last: None,
            runs: 0,
            most,
            kept: 0,
        };
        let taken = run(['a', 'b', 'c'], Duration::ZERO, &mut jobs).unwrap();
        assert_eq!(jobs.kept, taken.len());
        let mut taken: Vec<_> = taken
            .into_iter()
            .map(|taken| (taken.job, taken.values, taken.distances))
            .collect();
        taken.sort_by_key(|&(job, ..)| job);
        taken
    }

    /// Each job, the number of its run and the distances it met.
    fn three_jobs(distances: &[f64]) -> Vec<(char, u32, Vec<f64>)> {
        at_most(u32::MAX, distances)
    }

    #[test]
    fn a_steady_machine_does_each_job_once() {
        let expected = [
            ('a', 1, vec![55.0, 60.0]),
            ('b', 2, vec![60.0, 58.0]),
            ('c', 3, vec![58.0, 58.0]),
        ];
        assert_eq!(three_jobs(&[55.0, 60.0, 58.0]), expected);
    }

    #[test]
    fn a_job_during_which_the_cores_moved_apart_is_repeated() {
        let near = || vec![55.0; 2];
        let expected = [('a', 4, near()), ('b', 2, near()), ('c', 3, near())];
        assert_eq!(three_jobs(&[55.0, 280.0, 55.0]), expected);
    }

    #[test]
    fn what_was_done_before_the_cores_were_near_is_repeated() {
        let near = || vec![55.0; 2];
        let mut distances = vec![280.0; 3];
        distances.push(55.0);
        let taken = three_jobs(&distances);
        assert!(
            taken.iter().all(|(_, run, met)| *run > 3 && *met == near()),
            "{taken:?}"
        );
    }

    #[test]
    fn a_distance_that_was_seen_once_makes_no_other_one_far() {
        let taken = three_jobs(&[55.0, 55.0, 31.0, 55.0]);
        assert!(
            taken.iter().all(|(_, _, met)| *met == [55.0; 2]),
            "{taken:?}"
        );
    }

    #[test]
    fn a_machine_that_never_holds_still_comes_to_an_end() {
        let moving: Vec<f64> = (0..1000).map(|step| 10.0 * f64::from(step)).collect();
        assert_eq!(three_jobs(&moving).len(), 3);
    }

    #[test]
    fn one_core_has_no_distance() {
        let taken = three_jobs(&[]);
        assert_eq!(
            taken,
            [('a', 1, vec![]), ('b', 2, vec![]), ('c', 3, vec![])]
        );
    }

    #[test]
    fn what_was_taken_stays_when_no_more_is_wanted() {
        let taken = at_most(2, &[55.0, 280.0, 55.0]);
        let seen: Vec<(char, u32)> = taken.iter().map(|&(job, run, _)| (job, run)).collect();
        assert_eq!(seen, [('a', 1), ('b', 2)]);
    }
}
