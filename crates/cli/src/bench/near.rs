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
    pub(super) values: V,
    /// Core-to-core times before and after, in nanoseconds; nothing on one core.
    pub(super) distances: Vec<f64>,
}

/// A job that is still to do.
struct Planned<J> {
    job: J,
    attempt: u32,
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

/// Does all jobs, in their order; those that met another distance than the usual again after all others. The last try of a
/// job counts in any case.
///
/// `distance` gives the core-to-core time, `work` does a job, `again` hears that one will be repeated, `pause` is the time
/// between two looks at cores that are at another distance.
pub(super) fn run<J, V>(
    jobs: impl IntoIterator<Item = J>,
    pause: Duration,
    mut distance: impl FnMut() -> Option<f64>,
    mut work: impl FnMut(&J) -> Result<V, String>,
    mut again: impl FnMut(&J),
) -> Result<Vec<Taken<J, V>>, String> {
    let first = |job| Planned { job, attempt: 1 };
    let mut queue: VecDeque<Planned<J>> = jobs.into_iter().map(first).collect();
    let mut done: Vec<(u32, Taken<J, V>)> = Vec::new();
    let mut now = distance();
    let mut seen: Vec<f64> = now.into_iter().collect();
    while !queue.is_empty() {
        while let Some(Planned { job, attempt }) = queue.pop_front() {
            for _ in 0..PATIENCE {
                if !differ(now.as_slice(), usual(&seen)) {
                    break;
                }
                std::thread::sleep(pause);
                now = distance();
            }
            let before = now;
            let values = work(&job)?;
            now = distance();
            let distances: Vec<f64> = before.into_iter().chain(now).collect();
            seen.extend(&distances);
            done.push((
                attempt,
                Taken {
                    job,
                    values,
                    distances,
                },
            ));
        }
        let usual = usual(&seen);
        let repeat = |(attempt, taken): &mut (u32, Taken<J, V>)| {
            *attempt < TRIES && differ(&taken.distances, usual)
        };
        for (attempt, Taken { job, .. }) in done.extract_if(.., repeat) {
            again(&job);
            let attempt = attempt + 1;
            queue.push_back(Planned { job, attempt });
        }
    }
    Ok(done.into_iter().map(|(_, taken)| taken).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs three jobs on a machine of given distances, the last of which stays; answers each job, the number of its run and
    /// the distances it met.
    fn three_jobs(distances: &[f64]) -> Vec<(char, u32, Vec<f64>)> {
        let mut distances = distances.iter();
        let mut last = None;
        let mut runs = 0;
        let work = |_: &char| {
            runs += 1;
            Ok(runs)
        };
        let distance = || {
            last = distances.next().copied().or(last);
            last
        };
        let mut taken: Vec<_> = run(['a', 'b', 'c'], Duration::ZERO, distance, work, |_| {})
            .unwrap()
            .into_iter()
            .map(|taken| (taken.job, taken.values, taken.distances))
            .collect();
        taken.sort_by_key(|&(job, ..)| job);
        taken
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
        let again = |_: &_| panic!("repeated");
        let taken = run(['a'], Duration::ZERO, || None, |_| Ok(1), again).unwrap();
        assert!(taken.len() == 1 && taken[0].distances.is_empty());
    }
}
