// SPDX-License-Identifier: MIT OR Apache-2.0
//! Quadratic assignment: which box goes to which place, so that heavy pairs are close.

use placement::shuffle;

/// Places up to which all assignments are tried.
const EXACT: usize = 9;
/// Most starts of the search among more places. There are fewer among many, where each takes long.
const MOST_STARTS: u64 = 100;
/// Squares of the number of places for which so many starts are affordable.
const AFFORDABLE: u64 = 320_000;

/// Weights or distances between all pairs: row by row.
#[derive(Clone, Debug, PartialEq)]
pub struct Square {
    side: usize,
    values: Vec<f64>,
}

impl Square {
    /// Zeros.
    pub fn zeros(side: usize) -> Self {
        Self {
            side,
            values: vec![0.0; side * side],
        }
    }

    /// From rows; `None` when they are not as long as there are rows, or a number is negative or none.
    pub fn from_rows(rows: &[Vec<f64>]) -> Option<Self> {
        let side = rows.len();
        let values: Vec<f64> = rows.iter().flatten().copied().collect();
        let is_square = rows.iter().all(|row| row.len() == side);
        let are_numbers = values
            .iter()
            .all(|value| *value >= 0.0 && value.is_finite());
        (is_square && are_numbers).then_some(Self { side, values })
    }

    /// Rows.
    pub const fn side(&self) -> usize {
        self.side
    }

    /// The number of a pair.
    pub fn of(&self, from: usize, to: usize) -> f64 {
        self.values[from * self.side + to]
    }

    /// Adds to the number of a pair.
    pub fn add(&mut self, from: usize, to: usize, value: f64) {
        self.values[from * self.side + to] += value;
    }
}

/// The sum of weight times distance over all pairs, where box `i` is at place `places[i]`.
pub fn cost(weights: &Square, distances: &Square, places: &[usize]) -> f64 {
    let pairs = places.iter().enumerate();
    pairs
        .map(|(i, &at)| {
            let others = places.iter().enumerate();
            others
                .map(|(j, &other)| weights.of(i, j) * distances.of(at, other))
                .sum::<f64>()
        })
        .sum()
}

/// A place for each box at low cost: the lowest for up to nine boxes, else the best that exchanges of two boxes lead to
/// from several starts. The boxes stay in order where no other assignment is better.
pub fn assign(weights: &Square, distances: &Square) -> Vec<usize> {
    let in_order: Vec<usize> = (0..weights.side()).collect();
    let best = if weights.side() <= EXACT {
        lowest(weights, distances)
    } else {
        by_exchanges(weights, distances)
    };
    let gains = is_less(
        cost(weights, distances, &best),
        cost(weights, distances, &in_order),
    );
    if gains { best } else { in_order }
}

/// The lowest cost of all.
fn lowest(weights: &Square, distances: &Square) -> Vec<usize> {
    let boxes = weights.side();
    let start = improved(weights, distances, (0..boxes).collect());
    let mut search = Exact {
        weights,
        distances,
        places: Vec::with_capacity(boxes),
        is_used: vec![false; boxes],
        lowest: cost(weights, distances, &start),
        best: None,
    };
    search.extend(0.0);
    search.best.unwrap_or(start)
}

/// The lowest cost that exchanges lead to from several starts.
fn by_exchanges(weights: &Square, distances: &Square) -> Vec<usize> {
    let boxes = weights.side();
    let mut best = improved(weights, distances, (0..boxes).collect());
    let starts = AFFORDABLE / (boxes as u64).pow(2).max(1);
    for seed in 1..starts.min(MOST_STARTS) {
        let start = shuffle(boxes as u32, seed);
        let start = start.iter().map(|&place| place as usize).collect();
        let found = improved(weights, distances, start);
        if is_less(
            cost(weights, distances, &found),
            cost(weights, distances, &best),
        ) {
            best = found;
        }
    }
    best
}

/// Whether a cost is lower by more than rounding.
fn is_less(one: f64, other: f64) -> bool {
    one < other * (1.0 - 1e-9)
}

/// Exchanges the two boxes that gain most, until none gain.
fn improved(weights: &Square, distances: &Square, mut places: Vec<usize>) -> Vec<usize> {
    let boxes = places.len();
    let mut present = cost(weights, distances, &places);
    loop {
        let pairs = (0..boxes).flat_map(|a| (a + 1..boxes).map(move |b| (a, b)));
        let gain = |(a, b)| (gain_of(weights, distances, &places, a, b), a, b);
        let best = pairs
            .map(gain)
            .max_by(|one, other| one.0.total_cmp(&other.0));
        let Some((gain, a, b)) = best else {
            return places;
        };
        if !is_less(present - gain, present) {
            return places;
        }
        places.swap(a, b);
        present -= gain;
    }
}

/// What exchanging two boxes saves, from their own rows and columns.
fn gain_of(weights: &Square, distances: &Square, places: &[usize], a: usize, b: usize) -> f64 {
    let (at, other) = (places[a], places[b]);
    let mut gain = (weights.of(a, b) - weights.of(b, a))
        * (distances.of(at, other) - distances.of(other, at))
        + (weights.of(a, a) - weights.of(b, b))
            * (distances.of(at, at) - distances.of(other, other));
    for (third, &place) in places.iter().enumerate() {
        if third != a && third != b {
            gain += (weights.of(a, third) - weights.of(b, third))
                * (distances.of(at, place) - distances.of(other, place))
                + (weights.of(third, a) - weights.of(third, b))
                    * (distances.of(place, at) - distances.of(place, other));
        }
    }
    gain
}

/// All assignments, without those whose first boxes cost too much already.
struct Exact<'m> {
    weights: &'m Square,
    distances: &'m Square,
    places: Vec<usize>,
    is_used: Vec<bool>,
    lowest: f64,
    best: Option<Vec<usize>>,
}

impl Exact<'_> {
    fn extend(&mut self, so_far: f64) {
        let next = self.places.len();
        if next == self.is_used.len() {
            self.lowest = so_far;
            self.best = Some(self.places.clone());
            return;
        }
        for place in 0..self.is_used.len() {
            if self.is_used[place] {
                continue;
            }
            let own = self.weights.of(next, next) * self.distances.of(place, place);
            let before = self.places.iter().enumerate();
            let more: f64 = before
                .map(|(i, &at)| {
                    self.weights.of(next, i) * self.distances.of(place, at)
                        + self.weights.of(i, next) * self.distances.of(at, place)
                })
                .sum();
            let with = so_far + own + more;
            if !is_less(with, self.lowest) {
                continue;
            }
            self.places.push(place);
            self.is_used[place] = true;
            self.extend(with);
            self.is_used[place] = false;
            self.places.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Random numbers from 0 to 1 (splitmix64).
    fn random(state: &mut u64) -> f64 {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = *state;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (word >> 11) as f64 / (1u64 << 53) as f64
    }

    fn square(side: usize, state: &mut u64) -> Square {
        let rows = (0..side).map(|_| (0..side).map(|_| random(state)).collect());
        Square::from_rows(&rows.collect::<Vec<_>>()).expect("a square")
    }

    #[test]
    fn exchanges_come_near_the_lowest_cost() {
        let mut state = 1;
        for case in 0..500 {
            let side = 5 + case % 4;
            let (weights, distances) = (square(side, &mut state), square(side, &mut state));
            let best = cost(&weights, &distances, &lowest(&weights, &distances));
            let found = cost(&weights, &distances, &by_exchanges(&weights, &distances));
            assert!(found <= best * 1.02, "{side} boxes: {found}, best {best}");
        }
    }
}
