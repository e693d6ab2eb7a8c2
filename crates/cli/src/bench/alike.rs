// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which values can be compared: those that were taken while the cores were at the same distance from each other.
//!
//! On a virtual machine the two cores may be moved apart and together again; then everything that goes from core to core
//! takes several times as long, for whichever library runs at that moment. So each job is a [`Take`] with the distances
//! before and after it, a row has takes of every library, and only those within one [`Window`] of distances stand side by side.

/// Distances count as the same up to this factor.
const SAME: f64 = 1.25;

/// What a library gave once.
pub(super) struct Take<V> {
    pub(super) values: V,
    /// Core-to-core times before and after, in nanoseconds; nothing on one core, or where they do not matter.
    pub(super) distances: Vec<f64>,
}

/// Distances that count as the same: from the shortest to [`SAME`] times as long.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Window(f64);

impl Window {
    /// Whether all of these distances are in it.
    pub(super) fn holds(self, distances: &[f64]) -> bool {
        let inside = |&distance: &f64| (self.0..=self.0 * SAME).contains(&distance);
        distances.iter().all(inside)
    }

    /// How far outside the farthest of these distances is, as a factor.
    fn misses_by(self, distances: &[f64]) -> f64 {
        let middle = self.0 * SAME.sqrt();
        let factor = |&distance: &f64| (distance / middle).max(middle / distance);
        distances.iter().map(factor).fold(1.0, f64::max)
    }
}

/// What counts of the takes of a row.
#[derive(Debug, PartialEq)]
pub(super) struct Choice {
    /// The take of each library, and whether it was at the distance of the row; nothing for a library without takes.
    pub(super) takes: Vec<Option<(usize, bool)>>,
    /// The distance that all libraries met in the middle; nothing if they met different ones or distance does not matter.
    pub(super) distance: Option<f64>,
}

impl Choice {
    /// Whether all libraries met the same distance.
    pub(super) fn is_alike(&self) -> bool {
        self.takes.iter().flatten().all(|take| take.1)
    }
}

/// The window at which most of the libraries have a take: among those that hold `now` if it is given, and the nearest of several.
pub(super) fn window<V>(libraries: &[Vec<Take<V>>], now: Option<f64>) -> Option<Window> {
    let all = libraries.iter().flatten().flat_map(|take| &take.distances);
    let mut windows: Vec<Window> = all.copied().map(Window).collect();
    windows.retain(|window| window.holds(now.as_slice()));
    windows.sort_by(|a, b| a.0.total_cmp(&b.0));
    let best = windows.iter().copied().rev();
    best.max_by_key(|&window| covered(libraries, window))
}

/// At how many libraries have a take in a window.
pub(super) fn covered<V>(libraries: &[Vec<Take<V>>], window: Window) -> usize {
    let within = |takes: &&Vec<Take<V>>| takes.iter().any(|take| window.holds(&take.distances));
    libraries.iter().filter(within).count()
}

/// The takes that count: the last one of each library in the window that holds most, else the one that misses it least.
pub(super) fn choose<V>(libraries: &[Vec<Take<V>>]) -> Choice {
    let window = window(libraries, None);
    let mut met = Vec::new();
    let mut choose = |takes: &Vec<Take<V>>| {
        let Some(window) = window else {
            return Some((takes.len().checked_sub(1)?, true));
        };
        let misses = |take: &Take<V>| window.misses_by(&take.distances);
        let within = |take: &Take<V>| window.holds(&take.distances);
        if let Some(index) = takes.iter().rposition(within) {
            met.extend(&takes[index].distances);
            return Some((index, true));
        }
        let least =
            (0..takes.len()).min_by(|&a, &b| misses(&takes[a]).total_cmp(&misses(&takes[b])));
        least.map(|index| (index, false))
    };
    let takes = libraries.iter().map(&mut choose).collect();
    let mut choice = Choice {
        takes,
        distance: None,
    };
    if choice.is_alike() && !met.is_empty() {
        choice.distance = Some(super::results::median(&met));
    }
    choice
}

/// Of several rounds of a row, those that count together: the most that met one distance, the nearest of several such; all
/// of them when in none all libraries were alike.
pub(super) fn rounds(choices: &[Choice]) -> Vec<usize> {
    let alike = |index: &usize| choices[*index].is_alike();
    let alike: Vec<usize> = (0..choices.len()).filter(alike).collect();
    if alike.is_empty() {
        return (0..choices.len()).collect();
    }
    let within = |window: Window| {
        let met = |index: &usize| window.holds(choices[*index].distance.as_slice());
        alike.iter().copied().filter(met).collect::<Vec<usize>>()
    };
    let mut seen: Vec<f64> = alike
        .iter()
        .filter_map(|&index| choices[index].distance)
        .collect();
    seen.sort_by(f64::total_cmp);
    let groups = seen.iter().rev().map(|&from| within(Window(from)));
    groups.max_by_key(Vec::len).unwrap_or(alike)
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
        usual.is_some_and(|usual| distance.max(usual) > distance.min(usual) * SAME * SAME)
    };
    distances.iter().any(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes of libraries by their distances before and after.
    fn libraries(distances: &[&[[f64; 2]]]) -> Vec<Vec<Take<()>>> {
        let take = |both: &[f64; 2]| Take {
            values: (),
            distances: both.to_vec(),
        };
        let takes = distances
            .iter()
            .map(|takes| takes.iter().map(take).collect());
        takes.collect()
    }

    fn chosen(distances: &[&[[f64; 2]]]) -> (Vec<Option<(usize, bool)>>, Option<f64>) {
        let choice = choose(&libraries(distances));
        (choice.takes, choice.distance)
    }

    const NEAR: [f64; 2] = [55.0, 57.0];
    const FAR: [f64; 2] = [160.0, 164.0];

    #[test]
    fn libraries_at_one_distance_are_alike() {
        let expected = (vec![Some((0, true)); 3], Some(57.0));
        assert_eq!(chosen(&[&[NEAR], &[[57.0, 60.0]], &[NEAR]]), expected);
        let expected = (vec![Some((0, true)); 2], Some(162.0));
        assert_eq!(chosen(&[&[FAR], &[FAR]]), expected);
    }

    #[test]
    fn one_that_met_another_distance_is_not() {
        let expected = vec![Some((0, true)), Some((0, false)), Some((0, true))];
        assert_eq!(
            chosen(&[&[NEAR], &[FAR], &[NEAR]]),
            (expected.clone(), None)
        );
        assert_eq!(
            chosen(&[&[NEAR], &[[55.0, 160.0]], &[NEAR]]),
            (expected, None)
        );
    }

    #[test]
    fn takes_that_were_repeated_count_where_all_have_one() {
        let expected = (
            vec![Some((0, true)), Some((1, true)), Some((1, true))],
            Some(162.0),
        );
        let moved = [55.0, 160.0];
        assert_eq!(
            chosen(&[&[FAR, NEAR], &[moved, FAR], &[NEAR, FAR]]),
            expected
        );
        let last = (vec![Some((1, true)), Some((0, true))], Some(56.0));
        assert_eq!(chosen(&[&[NEAR, NEAR], &[NEAR]]), last);
    }

    #[test]
    fn of_takes_that_are_all_elsewhere_the_nearest_counts() {
        let expected = vec![Some((0, true)), Some((0, true)), Some((1, false))];
        let farthest = [280.0, 280.0];
        assert_eq!(
            chosen(&[&[NEAR], &[NEAR], &[farthest, FAR, farthest]]),
            (expected, None)
        );
    }

    #[test]
    fn a_library_that_gave_nothing_is_no_obstacle() {
        let expected = (vec![Some((0, true)), None], Some(56.0));
        assert_eq!(chosen(&[&[NEAR], &[]]), expected);
    }

    #[test]
    fn where_distance_does_not_matter_the_last_take_counts() {
        let none = || Take {
            values: (),
            distances: Vec::new(),
        };
        let choice = choose(&[vec![none(), none()], vec![none()], vec![]]);
        assert_eq!(choice.takes, [Some((1, true)), Some((0, true)), None]);
        assert_eq!(choice.distance, None);
    }

    #[test]
    fn the_window_of_now_is_the_one_that_can_be_completed() {
        let takes = libraries(&[&[NEAR], &[NEAR], &[FAR]]);
        let now = window(&takes, Some(164.0)).unwrap();
        assert!(now.holds(&FAR) && covered(&takes, now) == 1);
        let best = window(&takes, None).unwrap();
        assert!(best.holds(&NEAR) && covered(&takes, best) == 2);
    }

    #[test]
    fn rounds_at_the_distance_of_most_count() {
        let choice = |distance: Option<f64>| Choice {
            takes: vec![Some((0, true)), Some((0, distance.is_some()))],
            distance,
        };
        let which = |distances: &[Option<f64>]| {
            let choices: Vec<Choice> = distances.iter().copied().map(choice).collect();
            rounds(&choices)
        };
        let (near, far, apart) = (Some(56.0), Some(160.0), None);
        assert_eq!(which(&[near, near, near]), [0, 1, 2]);
        assert_eq!(which(&[far, near, far]), [0, 2]);
        assert_eq!(which(&[far, near]), [1]);
        assert_eq!(which(&[apart, far, apart]), [1]);
        assert_eq!(which(&[apart, apart]), [0, 1]);
    }

    #[test]
    fn a_distance_that_was_seen_once_is_not_the_usual() {
        assert_eq!(usual(&[31.0, 55.0, 56.0, 57.0, 280.0]), Some(55.0));
        assert!(!differ(&[55.0, 60.0], Some(56.0)));
        assert!(differ(&[55.0, 160.0], Some(56.0)));
        assert!(!differ(&[55.0], None) && !differ(&[], Some(56.0)));
    }
}
