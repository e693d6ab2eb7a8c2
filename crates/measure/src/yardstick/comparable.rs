// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rows whose values can be compared: every library in turn, and those again that met another distance of the cores.
//!
//! [`alike`] says which values of a row count. Until every library has enough of them, those that lack some
//! are done again, what they lack only, each [`TRIES`] times at most. At the end, rows of which that did not succeed, or which met another
//! distance than the usual one, get a second chance.

use super::alike::{self, Sample};

/// Times that a library is done in a row.
const TRIES: usize = 4;
/// As how many distances the one before the first row counts.
const FIRST: usize = 40;

/// One point of a row: for each library the values of all its turns.
pub struct Point<P> {
    /// What tells it from the other points of its row.
    pub key: P,
    /// By library.
    pub libraries: Vec<Vec<Sample>>,
}

/// A row, with all that each library gave.
pub struct Row<R, P> {
    /// The row itself.
    pub row: R,
    /// Its points.
    pub points: Vec<Point<P>>,
}

impl<R, P: Copy + PartialEq> Row<R, P> {
    fn add(&mut self, key: P, library: usize, count: usize, samples: Vec<Sample>) {
        let known = self.points.iter().position(|point| point.key == key);
        let index = known.unwrap_or_else(|| {
            self.points.push(Point {
                key,
                libraries: vec![Vec::new(); count],
            });
            self.points.len() - 1
        });
        self.points[index].libraries[library].extend(samples);
    }

    /// The keys for which a library lacks values that can be compared.
    fn lacks(&self, library: usize, need: usize, usual: Option<f64>, only_usual: bool) -> Vec<P> {
        let lacks = |point: &&Point<P>| {
            alike::lacking(&point.libraries, need, usual, only_usual).contains(&library)
        };
        self.points
            .iter()
            .filter(lacks)
            .map(|point| point.key)
            .collect()
    }
}

/// Values of one turn of a library.
pub type Values<P> = Vec<(P, Vec<Sample>)>;

/// The rows of a run.
pub trait Rows {
    /// Key of a row.
    type Row;
    /// Key of a point of a row.
    type Key: Copy + PartialEq;

    /// How many libraries there are.
    fn libraries(&self) -> usize;

    /// The core-to-core time before anything is measured.
    fn distance(&mut self) -> Option<f64>;

    /// How many values of a library at one distance are enough.
    fn need(&self) -> usize;

    /// Whether a library is still to be done in a row, for the first time or again.
    fn wanted(&mut self, row: &Self::Row, library: usize, again: bool) -> bool;

    /// Does one library in a row, for all keys or for some; `usual` is the usual distance, as far as it is known.
    fn work(
        &mut self,
        row: &Self::Row,
        library: usize,
        keys: Option<&[Self::Key]>,
        usual: Option<f64>,
    ) -> Values<Self::Key>;

    /// Hears all that was taken so far, to which more may be added.
    fn keep(&mut self, taken: &[Row<Self::Row, Self::Key>]) -> Result<(), String>;
}

/// The values of rows.
pub type AllTaken<W> = Vec<Row<<W as Rows>::Row, <W as Rows>::Key>>;

/// Does all rows, in their order.
pub fn run<W: Rows>(
    list: impl IntoIterator<Item = W::Row>,
    rows: &mut W,
) -> Result<AllTaken<W>, String> {
    let first = rows.distance();
    let mut run = Run {
        rows,
        seen: first.into_iter().cycle().take(FIRST).collect(),
    };
    let mut done: AllTaken<W> = Vec::new();
    for row in list {
        let mut taken = Row {
            row,
            points: Vec::new(),
        };
        for library in 0..run.rows.libraries() {
            if run.rows.wanted(&taken.row, library, false) {
                run.work(&mut taken, library, None);
            }
        }
        run.complete(&mut taken, false);
        done.push(taken);
        run.rows.keep(&done)?;
    }
    for index in 0..done.len() {
        if run.complete(&mut done[index], true) {
            run.rows.keep(&done)?;
        }
    }
    Ok(done)
}

/// A run's knowledge of the core distance.
struct Run<'a, W> {
    rows: &'a mut W,
    seen: Vec<f64>,
}

impl<W: Rows> Run<'_, W> {
    /// Does one library in a row.
    fn work(&mut self, taken: &mut Row<W::Row, W::Key>, library: usize, keys: Option<&[W::Key]>) {
        let usual = alike::usual(&self.seen);
        let count = self.rows.libraries();
        for (key, samples) in self.rows.work(&taken.row, library, keys, usual) {
            self.seen
                .extend(samples.iter().flat_map(|sample| &sample.met));
            taken.add(key, library, count, samples);
        }
    }

    /// Does libraries again that lack values which can be compared; whether any was done.
    fn complete(&mut self, taken: &mut Row<W::Row, W::Key>, only_usual: bool) -> bool {
        let mut has_worked = false;
        for _ in 1..TRIES {
            let mut has_more = false;
            for library in 0..self.rows.libraries() {
                let usual = alike::usual(&self.seen);
                let keys = taken.lacks(library, self.rows.need(), usual, only_usual);
                if !keys.is_empty() && self.rows.wanted(&taken.row, library, true) {
                    self.work(taken, library, Some(&keys));
                    has_more = true;
                }
            }
            if !has_more {
                break;
            }
            has_worked = true;
        }
        has_worked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of three libraries and two keys on a machine of given distances, the last of which stays: each turn of a
    /// library meets the next one, with two values at each key.
    struct Three<'a> {
        distances: std::slice::Iter<'a, f64>,
        last: Option<f64>,
        /// Library and number of places of each turn.
        turns: Vec<(usize, usize)>,
        /// The turns after which nothing is repeated.
        most: usize,
        kept: usize,
    }

    impl Rows for Three<'_> {
        type Row = char;
        type Key = u32;

        fn libraries(&self) -> usize {
            3
        }

        fn distance(&mut self) -> Option<f64> {
            None
        }

        fn need(&self) -> usize {
            2
        }

        fn wanted(&mut self, _: &char, _: usize, again: bool) -> bool {
            !again || self.turns.len() < self.most
        }

        fn work(
            &mut self,
            _: &char,
            library: usize,
            keys: Option<&[u32]>,
            _: Option<f64>,
        ) -> Values<u32> {
            let keys = keys.unwrap_or(&[1, 2]);
            self.turns.push((library, keys.len()));
            self.last = self.distances.next().copied().or(self.last);
            let sample = Sample {
                value: self.turns.len() as f64,
                met: self.last.into_iter().collect(),
            };
            let values = |&key: &u32| (key, vec![sample.clone(); 2]);
            keys.iter().map(values).collect()
        }

        fn keep(&mut self, taken: &[Row<char, u32>]) -> Result<(), String> {
            self.kept = taken.len();
            Ok(())
        }
    }

    /// The distances that count in each row, for the first key; nothing if libraries are apart. And all turns.
    fn run_on(
        distances: &[f64],
        rows: &[char],
        most: usize,
    ) -> (Vec<Option<f64>>, Vec<(usize, usize)>) {
        let mut machine = Three {
            distances: distances.iter(),
            last: None,
            turns: Vec::new(),
            most,
            kept: 0,
        };
        let taken = run(rows.iter().copied(), &mut machine).unwrap();
        assert_eq!(machine.kept, rows.len());
        let distance = |row: &Row<char, u32>| {
            let chosen = alike::choose(&row.points[0].libraries, 2);
            let is_whole = chosen.iter().all(|one| !one.is_apart);
            is_whole.then(|| chosen[0].met.first().copied()).flatten()
        };
        (taken.iter().map(distance).collect(), machine.turns)
    }

    #[test]
    fn a_steady_machine_does_each_library_once() {
        let (met, turns) = run_on(&[55.0, 60.0, 58.0], &['a', 'b'], usize::MAX);
        assert_eq!(met, [Some(55.0), Some(58.0)]);
        assert_eq!(turns, [(0, 2), (1, 2), (2, 2), (0, 2), (1, 2), (2, 2)]);
    }

    #[test]
    fn a_library_that_met_other_cores_is_repeated() {
        let (met, turns) = run_on(&[55.0, 280.0, 55.0], &['a'], usize::MAX);
        assert_eq!((met, turns[3..].to_vec()), (vec![Some(55.0)], vec![(1, 2)]));
    }

    #[test]
    fn rows_at_an_unusual_distance_are_repeated() {
        let mut distances = vec![280.0; 3];
        distances.push(55.0);
        let (met, turns) = run_on(&distances, &['a', 'b', 'c'], usize::MAX);
        assert_eq!((met, turns.len()), (vec![Some(55.0); 3], 12));
    }

    #[test]
    fn a_machine_that_never_holds_still_comes_to_an_end() {
        let moving: Vec<f64> = (0..1000)
            .map(|step| 10.0 * 1.5_f64.powi(step % 7))
            .collect();
        let (met, turns) = run_on(&moving, &['a', 'b'], usize::MAX);
        assert!(
            met.len() == 2 && turns.len() <= 2 * 3 * (2 * TRIES - 1),
            "{turns:?}"
        );
    }

    #[test]
    fn what_was_taken_stays_when_no_more_is_wanted() {
        assert_eq!(
            run_on(&[55.0, 280.0, 55.0], &['a'], 3),
            (vec![None], vec![(0, 2), (1, 2), (2, 2)])
        );
    }

    #[test]
    fn without_distances_each_library_is_done_once() {
        assert_eq!(run_on(&[], &['a'], usize::MAX).1.len(), 3);
    }
}
