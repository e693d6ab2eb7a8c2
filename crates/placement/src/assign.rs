// SPDX-License-Identifier: MIT OR Apache-2.0
//! Quadratic assignment: which of equally many places each of some partners gets, when each pair of places has a distance.

use crate::random::Random;

/// A square of numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matrix<T> {
    side: usize,
    values: Vec<T>,
}

impl<T: Copy> Matrix<T> {
    /// A square with the value of each row and column.
    pub fn new(side: usize, value: impl Fn(usize, usize) -> T) -> Self {
        let cell = |index| value(index / side, index % side);
        Self {
            side,
            values: (0..side * side).map(cell).collect(),
        }
    }

    fn at(&self, row: usize, column: usize) -> T {
        self.values[row * self.side + column]
    }
}

/// Partners for whom all assignments are tried.
const MOST_EXACT: usize = 9;

/// Random starts of the search among more partners.
const STARTS: usize = 4;

/// The sum of `weights[i][j] * distances[f(i)][f(j)]` over all pairs, where `places[i]` is f(i).
pub fn cost(weights: &Matrix<u64>, distances: &Matrix<u32>, places: &[usize]) -> i128 {
    let pairs = (0..places.len()).flat_map(|i| (0..places.len()).map(move |j| (i, j)));
    pairs
        .map(|(i, j)| term(weights.at(i, j), distances.at(places[i], places[j])))
        .sum()
}

fn term(weight: u64, distance: u32) -> i128 {
    i128::from(weight) * i128::from(distance)
}

/// The place of each partner, such that the [`cost`] is low: the lowest for up to 9 partners; of equals, the first in lexical order.
/// Among more, the best pairs change places until no pair gains, from their order and from random ones. The result costs
/// no more than the order.
///
/// # Panics
/// If the squares differ in size.
pub fn assign(weights: &Matrix<u64>, distances: &Matrix<u32>) -> Vec<usize> {
    assert_eq!(weights.side, distances.side, "a place for each partner");
    let count = weights.side;
    let order: Vec<usize> = (0..count).collect();
    if count <= MOST_EXACT {
        let mut search = Search {
            weights,
            distances,
            lowest: cost(weights, distances, &order) + 1,
            best: order,
            places: Vec::with_capacity(count),
        };
        search.extend(0);
        return search.best;
    }
    let mut random = Random::new(0);
    let mut best = order.clone();
    let mut lowest = improve(weights, distances, &mut best);
    for _ in 0..STARTS {
        let mut places = order.clone();
        random.shuffle(&mut places);
        let found = improve(weights, distances, &mut places);
        if found < lowest {
            (lowest, best) = (found, places);
        }
    }
    best
}

/// Branch and bound over all assignments: what is placed costs at least what it costs so far.
struct Search<'a> {
    weights: &'a Matrix<u64>,
    distances: &'a Matrix<u32>,
    lowest: i128,
    best: Vec<usize>,
    places: Vec<usize>,
}

impl Search<'_> {
    fn extend(&mut self, so_far: i128) {
        if so_far >= self.lowest {
            return;
        }
        let next = self.places.len();
        if next == self.weights.side {
            self.lowest = so_far;
            self.best.clone_from(&self.places);
            return;
        }
        for place in 0..self.weights.side {
            if self.places.contains(&place) {
                continue;
            }
            let (w, d) = (self.weights, self.distances);
            let both = |(i, &there): (usize, &usize)| {
                term(w.at(i, next), d.at(there, place)) + term(w.at(next, i), d.at(place, there))
            };
            let added: i128 = self.places.iter().enumerate().map(both).sum();
            let own = term(w.at(next, next), d.at(place, place));
            self.places.push(place);
            self.extend(so_far + added + own);
            self.places.pop();
        }
    }
}

/// Lets the pair that gains most change places, until none does; returns the cost.
fn improve(weights: &Matrix<u64>, distances: &Matrix<u32>, places: &mut [usize]) -> i128 {
    let mut now = cost(weights, distances, places);
    loop {
        let pairs = (0..places.len()).flat_map(|s| (0..s).map(move |r| (r, s)));
        let change = |(r, s)| (change(weights, distances, places, r, s), r, s);
        match pairs.map(change).min() {
            Some((gain, r, s)) if gain < 0 => {
                places.swap(r, s);
                now += gain;
            }
            _ => return now,
        }
    }
}

/// How the cost changes if partners `r` and `s` change places.
fn change(
    weights: &Matrix<u64>,
    distances: &Matrix<u32>,
    places: &[usize],
    r: usize,
    s: usize,
) -> i128 {
    let (w, d) = (weights, distances);
    let (from, to) = (places[r], places[s]);
    let weight = |i, j| i128::from(w.at(i, j));
    let distance = |i, j| i128::from(d.at(i, j));
    let others = (0..places.len()).filter(|&k| k != r && k != s);
    let sum: i128 = others
        .map(|k| {
            let there = places[k];
            (weight(k, r) - weight(k, s)) * (distance(there, to) - distance(there, from))
                + (weight(r, k) - weight(s, k)) * (distance(to, there) - distance(from, there))
        })
        .sum();
    sum + (weight(r, r) - weight(s, s)) * (distance(to, to) - distance(from, from))
        + (weight(r, s) - weight(s, r)) * (distance(to, from) - distance(from, to))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random_problem(random: &mut Random, count: usize) -> (Matrix<u64>, Matrix<u32>) {
        let numbers: Vec<usize> = (0..2 * count * count).map(|_| random.below(50)).collect();
        let weights = Matrix::new(count, |i, j| numbers[i * count + j] as u64);
        let distances = Matrix::new(count, |i, j| numbers[(count + i) * count + j] as u32);
        (weights, distances)
    }

    #[test]
    fn a_change_of_places_costs_what_was_calculated() {
        let mut random = Random::new(1);
        let (weights, distances) = random_problem(&mut random, 7);
        let mut places: Vec<usize> = (0..7).collect();
        random.shuffle(&mut places);
        let before = cost(&weights, &distances, &places);
        for (r, s) in [(0, 1), (2, 6), (5, 3)] {
            let expected = before + change(&weights, &distances, &places, r, s);
            places.swap(r, s);
            assert_eq!(cost(&weights, &distances, &places), expected);
            places.swap(r, s);
        }
    }

    #[test]
    fn few_partners_get_the_best_places() {
        // A ring of six on two groups of three, in a bad order.
        let weights = Matrix::new(6, |i, j| u64::from((i + 1) % 6 == j || (j + 1) % 6 == i));
        let distances = Matrix::new(6, |i, j| {
            if i == j {
                0
            } else {
                1 + 4 * u32::from(i % 2 != j % 2)
            }
        });
        let places = assign(&weights, &distances);
        // Two of the six edges, in both directions, lead to the other group.
        assert_eq!(cost(&weights, &distances, &places), 2 * (4 + 2 * 5));
    }

    #[test]
    fn exchanges_of_pairs_find_nearly_the_best() {
        let mut random = Random::new(2);
        for _ in 0..20 {
            let (weights, distances) = random_problem(&mut random, 7);
            let best = cost(&weights, &distances, &assign(&weights, &distances));
            let mut places: Vec<usize> = (0..7).collect();
            let found = improve(&weights, &distances, &mut places);
            assert!(
                best <= found && 100 * found <= 120 * best,
                "{found} instead of {best}"
            );
        }
    }

    #[test]
    fn many_partners_are_not_worse_off_than_in_order() {
        let mut random = Random::new(4);
        let (weights, distances) = random_problem(&mut random, 40);
        let mut places = assign(&weights, &distances);
        let order: Vec<usize> = (0..40).collect();
        assert!(cost(&weights, &distances, &places) < cost(&weights, &distances, &order));
        places.sort_unstable();
        assert_eq!(places, order);
    }

    #[test]
    fn extremes_do_not_overflow() {
        for count in [0, 1, 2, 12] {
            let weights = Matrix::new(count, |_, _| u64::MAX);
            let distances = Matrix::new(count, |_, _| u32::MAX);
            assert_eq!(assign(&weights, &distances), (0..count).collect::<Vec<_>>());
        }
    }
}
