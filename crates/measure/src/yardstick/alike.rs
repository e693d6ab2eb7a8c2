// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which values can be compared: those that were taken while the cores were at the same distance from each other.
//!
//! On a virtual machine the two cores may be moved apart and together again; then everything that goes from core to core
//! takes several times as long, for whichever library runs at that moment. So each value is a [`Sample`] with the distances
//! before and after it, and only values of all libraries within one [`Window`] of distances stand side by side.

/// Distances count as the same up to this factor.
pub const SAME: f64 = 1.25;

/// A value, and the core-to-core times in nanoseconds around it; nothing on one core, or where they do not matter.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The value.
    pub value: f64,
    /// The distances before and after it.
    pub met: Vec<f64>,
}

/// Distances that count as the same: from the shortest to [`SAME`] times as long.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Window(f64);

impl Window {
    /// Whether all of these distances are in it.
    fn holds(self, distances: &[f64]) -> bool {
        let inside = |&distance: &f64| (self.0..=self.0 * SAME).contains(&distance);
        distances.iter().all(inside)
    }

    fn count(self, samples: &[Sample]) -> usize {
        samples.iter().filter(|one| self.holds(&one.met)).count()
    }

    /// Whether so many of a library's values were taken in it. A library that has none is no obstacle.
    fn covers(self, samples: &[Sample], need: usize) -> bool {
        samples.is_empty() || self.count(samples) >= need
    }
}

/// The values of one library that count.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chosen {
    /// The values, in the order in which they were taken.
    pub values: Vec<f64>,
    /// Core-to-core times in nanoseconds around them.
    pub met: Vec<f64>,
    /// Whether these are others than those of the other libraries.
    pub is_apart: bool,
}

/// The window in which the most libraries have `need` values; of several the nearest, moved to where most values are.
/// With a `usual` distance, one around that if there a library has so many.
fn window(libraries: &[Vec<Sample>], need: usize, usual: Option<f64>) -> Option<Window> {
    let starts = libraries.iter().flatten().filter_map(|sample| {
        let nearest = sample.met.iter().copied().min_by(f64::total_cmp);
        nearest.map(Window)
    });
    let mut windows: Vec<Window> = starts.collect();
    windows.sort_by(|a, b| a.0.total_cmp(&b.0));
    let covered = |window: &Window| {
        let covers = |samples: &&Vec<Sample>| !samples.is_empty() && window.covers(samples, need);
        libraries.iter().filter(covers).count()
    };
    if let Some(usual) = usual {
        let there = |window: &Window| window.holds(&[usual]) && covered(window) > 0;
        if windows.iter().any(there) {
            windows.retain(there);
        }
    }
    let nearest = *(windows.iter().rev()).max_by_key(|window| covered(window))?;
    let most = covered(&nearest);
    let same = windows
        .iter()
        .filter(|window| window.0 <= nearest.0 * SAME && covered(window) == most);
    let count = |window: &&Window| {
        libraries
            .iter()
            .map(|samples| window.count(samples))
            .sum::<usize>()
    };
    same.rev().max_by_key(count).copied()
}

/// The values that count: of each library those in the window of most libraries, or all if it has not `need` of them there.
pub fn choose(libraries: &[Vec<Sample>], need: usize) -> Vec<Chosen> {
    let window = window(libraries, need, None);
    let choose = |samples: &Vec<Sample>| {
        let is_apart = window.is_some_and(|window| !window.covers(samples, need));
        let counts = |sample: &&Sample| is_apart || window.is_none_or(|it| it.holds(&sample.met));
        let mut chosen = Chosen {
            is_apart,
            ..Chosen::default()
        };
        for sample in samples.iter().filter(counts) {
            chosen.values.push(sample.value);
            chosen.met.extend(&sample.met);
        }
        chosen
    };
    libraries.iter().map(choose).collect()
}

/// The libraries that lack values in the window of the usual distance, or of most libraries if there is nobody there; with
/// `only_usual` also where all have met one other distance.
pub fn lacking(
    libraries: &[Vec<Sample>],
    need: usize,
    usual: Option<f64>,
    only_usual: bool,
) -> Vec<usize> {
    let (Some(here), Some(target)) = (
        window(libraries, need, None),
        window(libraries, need, usual),
    ) else {
        return Vec::new();
    };
    let lacks = |window: Window| {
        let lacks = |&library: &usize| !window.covers(&libraries[library], need);
        (0..libraries.len()).filter(lacks).collect::<Vec<usize>>()
    };
    if !lacks(here).is_empty() {
        return lacks(target);
    }
    match usual {
        Some(usual) if only_usual && differ(&[here.0 * SAME.sqrt()], Some(usual)) => {
            let is_there = target.holds(&[usual]);
            lacks(if is_there {
                target
            } else {
                Window(usual / SAME.sqrt())
            })
        }
        _ => Vec::new(),
    }
}

/// The distance that a quarter of all does not reach: the near one where the machine has a near and a far state and is in
/// neither but for a moment, and not what was seen once.
pub fn usual(distances: &[f64]) -> Option<f64> {
    let mut sorted = distances.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 4).copied()
}

/// Whether any of the distances is another one than the usual.
pub fn differ(distances: &[f64], usual: Option<f64>) -> bool {
    let other = |&distance: &f64| {
        usual.is_some_and(|usual| distance.max(usual) > distance.min(usual) * SAME * SAME)
    };
    distances.iter().any(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAME_COMPLEX: [f64; 2] = [57.0, 60.0];
    const OTHER_COMPLEX: [f64; 2] = [240.0, 250.0];
    const MOVED: [f64; 2] = [58.0, 240.0];

    /// Values 1, 2, 3, ... of each library, by what they met.
    fn libraries(met: &[&[[f64; 2]]]) -> Vec<Vec<Sample>> {
        let sample = |(index, met): (usize, &[f64; 2])| Sample {
            value: index as f64 + 1.0,
            met: met.to_vec(),
        };
        let each = met
            .iter()
            .map(|met| met.iter().enumerate().map(sample).collect());
        each.collect()
    }

    /// The values of each library that count, or what is wrong with them.
    fn chosen(met: &[&[[f64; 2]]]) -> Vec<Result<Vec<f64>, &'static str>> {
        let all = choose(&libraries(met), 2).into_iter();
        all.map(|chosen| {
            if chosen.is_apart {
                Err("apart")
            } else {
                Ok(chosen.values)
            }
        })
        .collect()
    }

    #[test]
    fn values_at_one_distance_count_whichever_it_is() {
        let all = Ok(vec![1.0, 2.0]);
        assert_eq!(
            chosen(&[&[SAME_COMPLEX; 2], &[[60.0, 63.0]; 2]]),
            [all.clone(), all.clone()]
        );
        assert_eq!(
            chosen(&[&[OTHER_COMPLEX; 2], &[OTHER_COMPLEX; 2]]),
            [all.clone(), all]
        );
    }

    #[test]
    fn of_values_at_several_distances_those_count_that_all_have() {
        let found = chosen(&[
            &[OTHER_COMPLEX, OTHER_COMPLEX, SAME_COMPLEX, SAME_COMPLEX],
            &[MOVED, OTHER_COMPLEX, OTHER_COMPLEX],
            &[SAME_COMPLEX, OTHER_COMPLEX, OTHER_COMPLEX, SAME_COMPLEX],
        ]);
        assert_eq!(
            found,
            [Ok(vec![1.0, 2.0]), Ok(vec![2.0, 3.0]), Ok(vec![2.0, 3.0])]
        );
        let found = chosen(&[
            &[OTHER_COMPLEX, OTHER_COMPLEX, SAME_COMPLEX, SAME_COMPLEX],
            &[
                OTHER_COMPLEX,
                OTHER_COMPLEX,
                MOVED,
                SAME_COMPLEX,
                SAME_COMPLEX,
            ],
        ]);
        assert_eq!(found, [Ok(vec![3.0, 4.0]), Ok(vec![4.0, 5.0])]);
    }

    #[test]
    fn a_library_that_met_another_distance_is_apart() {
        let same = Ok(vec![1.0, 2.0]);
        let found = chosen(&[&[SAME_COMPLEX; 2], &[OTHER_COMPLEX; 2], &[SAME_COMPLEX; 2]]);
        assert_eq!(found, [same.clone(), Err("apart"), same.clone()]);
        let found = chosen(&[
            &[SAME_COMPLEX; 2],
            &[SAME_COMPLEX, OTHER_COMPLEX, MOVED],
            &[SAME_COMPLEX; 2],
        ]);
        assert_eq!(found, [same.clone(), Err("apart"), same]);
    }

    #[test]
    fn one_lucky_look_does_not_cut_off_the_others() {
        let found = chosen(&[
            &[[48.0, 57.0], [57.0, 62.0], [57.0, 63.0]],
            &[SAME_COMPLEX, SAME_COMPLEX, [60.0, 66.0]],
        ]);
        assert_eq!(found, [Ok(vec![2.0, 3.0]), Ok(vec![1.0, 2.0, 3.0])]);
    }

    #[test]
    fn a_library_without_values_is_no_obstacle() {
        assert_eq!(
            chosen(&[&[SAME_COMPLEX; 2], &[]]),
            [Ok(vec![1.0, 2.0]), Ok(vec![])]
        );
        assert_eq!(chosen(&[&[], &[]]), [Ok(vec![]), Ok(vec![])]);
    }

    #[test]
    fn where_distance_does_not_matter_all_values_count() {
        let mut all = libraries(&[&[SAME_COMPLEX; 2], &[OTHER_COMPLEX]]);
        all.iter_mut()
            .flatten()
            .for_each(|sample| sample.met.clear());
        let values: Vec<Vec<f64>> = choose(&all, 2).into_iter().map(|one| one.values).collect();
        assert_eq!(values, [vec![1.0, 2.0], vec![1.0]]);
        assert!(lacking(&all, 2, Some(57.0), true).is_empty());
    }

    #[test]
    fn those_are_repeated_that_are_not_where_others_usually_are() {
        let lacking = |met: &[&[[f64; 2]]], usual| lacking(&libraries(met), 2, Some(usual), false);
        let one_same: [&[[f64; 2]]; 3] =
            [&[OTHER_COMPLEX; 2], &[SAME_COMPLEX; 2], &[OTHER_COMPLEX; 2]];
        assert_eq!(lacking(&one_same, 57.0), [0, 2]);
        assert_eq!(lacking(&one_same, 245.0), [1]);
        assert_eq!(lacking(&one_same, 120.0), [1]);
        assert_eq!(
            lacking(&[&[SAME_COMPLEX; 2], &[SAME_COMPLEX, MOVED]], 57.0),
            [1]
        );
        assert!(lacking(&[&[OTHER_COMPLEX; 2], &[OTHER_COMPLEX; 2]], 57.0).is_empty());
    }

    #[test]
    fn a_second_chance_is_for_all_that_met_what_is_not_usual() {
        let lacking = |met: &[&[[f64; 2]]]| lacking(&libraries(met), 2, Some(57.0), true);
        assert_eq!(lacking(&[&[OTHER_COMPLEX; 2], &[OTHER_COMPLEX; 2]]), [0, 1]);
        assert_eq!(lacking(&[&[OTHER_COMPLEX; 2], &[SAME_COMPLEX; 2]]), [0]);
        assert!(lacking(&[&[SAME_COMPLEX; 2], &[SAME_COMPLEX; 2]]).is_empty());
    }

    #[test]
    fn a_distance_that_was_seen_once_is_not_the_usual() {
        assert_eq!(usual(&[31.0, 55.0, 56.0, 57.0, 280.0]), Some(55.0));
        assert!(!differ(&[55.0, 60.0], Some(56.0)));
        assert!(differ(&[55.0, 160.0], Some(56.0)));
        assert!(!differ(&[55.0], None) && !differ(&[], Some(56.0)));
    }
}
