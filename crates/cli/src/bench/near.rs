// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rows whose values can be compared: every library in turn, and those again that met another distance of the cores.
//!
//! [`alike`](super::alike) says which takes of a row belong together. A row is complete when each library has one of those;
//! until then the libraries that lack one at the distance which the cores have *now* are done again, each [`TRIES`] times at
//! most. At the end, rows that are incomplete or met another distance than the usual one get a second chance as a whole.

use std::time::Duration;

use super::alike::{self, Choice, Take};

/// Times that a library is done in a row.
const TRIES: usize = 4;
/// How often a run waits for cores that are elsewhere to come back; as often again once they have.
const PATIENCE: u32 = 10;
/// How long it waits each time.
pub(super) const PAUSE: Duration = Duration::from_millis(300);

/// A row, with all that each library gave.
pub(super) struct Row<R, V> {
    pub(super) row: R,
    pub(super) libraries: Vec<Vec<Take<V>>>,
}

impl<R, V> Row<R, V> {
    /// What counts of it.
    pub(super) fn choice(&self) -> Choice {
        alike::choose(&self.libraries)
    }
}

/// The rows of a run.
pub(super) trait Rows {
    /// What a row is.
    type Row: Clone;
    /// What a library gives in a row.
    type Values;

    /// How many libraries there are.
    fn libraries(&self) -> usize;

    /// The core-to-core time.
    fn distance(&mut self) -> Option<f64>;

    /// Whether the core-to-core time has a part in the values of a row.
    fn depends_on_distance(&self, row: &Self::Row) -> bool;

    /// Whether a library is still to be done in a row, for the first time or again.
    fn wanted(&mut self, row: &Self::Row, library: usize, again: bool) -> bool;

    /// Does one library in a row; nothing if it gave nothing.
    fn work(&mut self, row: &Self::Row, library: usize) -> Option<Self::Values>;

    /// Hears all that was taken so far, of which some may be replaced later.
    fn keep(&mut self, taken: &[Row<Self::Row, Self::Values>]) -> Result<(), String>;
}

/// What rows gave.
pub(super) type AllTaken<W> = Vec<Row<<W as Rows>::Row, <W as Rows>::Values>>;

/// Does all rows, in their order. `pause` is the time between two looks at cores that are at another distance.
pub(super) fn run<W: Rows>(
    list: impl IntoIterator<Item = W::Row>,
    pause: Duration,
    rows: &mut W,
) -> Result<AllTaken<W>, String> {
    let mut run = Run {
        rows,
        now: None,
        seen: Vec::new(),
        patience: PATIENCE,
        pause,
    };
    let mut done: AllTaken<W> = Vec::new();
    for row in list {
        done.push(run.take(row, false));
        run.rows.keep(&done)?;
    }
    for index in 0..done.len() {
        if !run.is_good(&done[index]) {
            let again = run.take(done[index].row.clone(), true);
            let is_whole = |row: &Row<_, _>| row.libraries.iter().all(|takes| !takes.is_empty());
            if run.is_good(&again) && is_whole(&again) == is_whole(&done[index]) {
                done[index] = again;
                run.rows.keep(&done)?;
            }
        }
    }
    Ok(done)
}

/// What a run knows of the cores.
struct Run<'a, W> {
    rows: &'a mut W,
    now: Option<f64>,
    seen: Vec<f64>,
    patience: u32,
    pause: Duration,
}

impl<W: Rows> Run<'_, W> {
    /// Does a row.
    fn take(&mut self, row: W::Row, again: bool) -> Row<W::Row, W::Values> {
        let mut taken = Row {
            libraries: (0..self.rows.libraries()).map(|_| Vec::new()).collect(),
            row,
        };
        let depends = self.rows.depends_on_distance(&taken.row);
        if depends {
            self.now = self.rows.distance();
            let usual = alike::usual(&self.seen);
            self.wait_until(|now| !alike::differ(&[now], usual));
        }
        for library in 0..taken.libraries.len() {
            self.work(&mut taken, library, depends, again);
        }
        while depends && !taken.choice().is_alike() {
            let best = alike::window(&taken.libraries, None);
            let Some(best) = best else { break };
            self.wait_until(|now| best.holds(&[now]));
            // The most that can be completed without waiting any longer.
            let here = alike::window(&taken.libraries, self.now).unwrap_or(best);
            let lacks =
                |takes: &Vec<Take<_>>| !takes.iter().any(|take| here.holds(&take.distances));
            let next = (0..taken.libraries.len())
                .filter(|&library| {
                    let takes = &taken.libraries[library];
                    (1..TRIES).contains(&takes.len()) && lacks(takes)
                })
                .min_by_key(|&library| taken.libraries[library].len());
            if !next.is_some_and(|library| self.work(&mut taken, library, depends, true)) {
                break;
            }
        }
        taken
    }

    /// Does one library in a row; whether it gave anything.
    fn work(
        &mut self,
        taken: &mut Row<W::Row, W::Values>,
        library: usize,
        depends: bool,
        again: bool,
    ) -> bool {
        if !self.rows.wanted(&taken.row, library, again) {
            return false;
        }
        let before = self.now;
        let values = self.rows.work(&taken.row, library);
        let mut distances = Vec::new();
        if depends {
            self.now = self.rows.distance();
            distances.extend(before.into_iter().chain(self.now));
            self.seen.extend(&distances);
        }
        let has_values = values.is_some();
        let take = |values| Take { values, distances };
        taken.libraries[library].extend(values.map(take));
        has_values
    }

    /// Waits for cores that are elsewhere, as long as there is patience.
    fn wait_until(&mut self, is_there: impl Fn(f64) -> bool) {
        if self.now.is_none_or(&is_there) {
            self.patience = PATIENCE;
            return;
        }
        while self.patience > 0 {
            self.patience -= 1;
            std::thread::sleep(self.pause);
            self.now = self.rows.distance();
            if self.now.is_none_or(&is_there) {
                break;
            }
        }
    }

    /// Whether all libraries met the same distance, and it was the usual one.
    fn is_good(&self, row: &Row<W::Row, W::Values>) -> bool {
        let choice = row.choice();
        let usual = alike::usual(&self.seen);
        choice.is_alike() && !alike::differ(choice.distance.as_slice(), usual)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of three libraries on a machine of given distances, the last of which stays; each job gives its number.
    struct Three<'a> {
        distances: std::slice::Iter<'a, f64>,
        last: Option<f64>,
        jobs: u32,
        /// The jobs after which nothing is repeated.
        most: u32,
        depends: bool,
        kept: usize,
    }

    impl Rows for Three<'_> {
        type Row = char;
        type Values = u32;

        fn libraries(&self) -> usize {
            3
        }

        fn distance(&mut self) -> Option<f64> {
            self.last = self.distances.next().copied().or(self.last);
            self.last
        }

        fn depends_on_distance(&self, _: &char) -> bool {
            self.depends
        }

        fn wanted(&mut self, _: &char, _: usize, again: bool) -> bool {
            !again || self.jobs < self.most
        }

        fn work(&mut self, _: &char, _: usize) -> Option<u32> {
            self.jobs += 1;
            Some(self.jobs)
        }

        fn keep(&mut self, taken: &[Row<char, u32>]) -> Result<(), String> {
            self.kept = taken.len();
            Ok(())
        }
    }

    fn machine(distances: &[f64]) -> Three<'_> {
        Three {
            distances: distances.iter(),
            last: None,
            jobs: 0,
            most: u32::MAX,
            depends: true,
            kept: 0,
        }
    }

    /// Each row with the jobs that count and the distance they met, and the number of all jobs.
    fn run_on(mut machine: Three<'_>, rows: &[char]) -> (Vec<(Vec<u32>, Option<f64>)>, u32) {
        let taken = run(rows.iter().copied(), Duration::ZERO, &mut machine).unwrap();
        assert_eq!(machine.kept, rows.len());
        let counts = taken.iter().map(|row| {
            let choice = row.choice();
            let chosen = choice.takes.iter().zip(&row.libraries);
            let jobs = chosen.map(|(take, takes)| takes[take.unwrap().0].values);
            (jobs.collect(), choice.distance)
        });
        (counts.collect(), machine.jobs)
    }

    #[test]
    fn a_steady_machine_does_each_library_once() {
        let (rows, jobs) = run_on(machine(&[55.0, 60.0, 58.0]), &['a', 'b']);
        assert_eq!(jobs, 6);
        assert_eq!(rows[0], (vec![1, 2, 3], Some(58.0)));
        assert_eq!(rows[1], (vec![4, 5, 6], Some(58.0)));
    }

    #[test]
    fn a_library_that_met_other_cores_is_repeated() {
        let (rows, jobs) = run_on(machine(&[55.0, 55.0, 280.0, 55.0]), &['a']);
        assert_eq!((rows, jobs), (vec![(vec![1, 4, 5], Some(55.0))], 5));
    }

    #[test]
    fn cores_that_stay_apart_let_the_others_be_repeated() {
        let (rows, jobs) = run_on(machine(&[55.0, 55.0, 55.0, 280.0]), &['a']);
        assert_eq!((rows, jobs), (vec![(vec![4, 5, 6], Some(280.0))], 9));
    }

    #[test]
    fn rows_that_were_done_far_away_are_repeated_near() {
        let mut distances = vec![280.0; 4];
        distances.push(55.0);
        let (rows, jobs) = run_on(machine(&distances), &['a', 'b', 'c']);
        assert!(rows.iter().all(|row| row.1 == Some(55.0)), "{rows:?}");
        assert_eq!((&rows[0].0, jobs), (&vec![10, 11, 12], 12));
    }

    #[test]
    fn a_machine_that_never_holds_still_comes_to_an_end() {
        let moving: Vec<f64> = (0..1000)
            .map(|step| 10.0 * 1.5_f64.powi(step % 9))
            .collect();
        let (rows, jobs) = run_on(machine(&moving), &['a', 'b']);
        assert!(rows.iter().all(|row| row.1.is_none()), "{rows:?}");
        assert!(jobs <= 2 * 2 * 3 * TRIES as u32, "{jobs}");
    }

    #[test]
    fn what_was_taken_stays_when_no_more_is_wanted() {
        let late = Three {
            most: 3,
            ..machine(&[55.0, 55.0, 280.0, 55.0])
        };
        assert_eq!(run_on(late, &['a']), (vec![(vec![1, 2, 3], None)], 3));
    }

    #[test]
    fn rows_that_do_not_depend_on_the_distance_are_done_once() {
        let memory = Three {
            depends: false,
            ..machine(&[55.0, 280.0, 55.0, 280.0])
        };
        assert_eq!(run_on(memory, &['a']), (vec![(vec![1, 2, 3], None)], 3));
        let one_core = machine(&[]);
        assert_eq!(run_on(one_core, &['a']), (vec![(vec![1, 2, 3], None)], 3));
    }
}
