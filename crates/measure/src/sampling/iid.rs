// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether values are independent and of one distribution: permutation tests.
//!
//! If they are, their order says nothing, and a statistic of the order is as likely to be anywhere among those of shuffled copies.
//! The statistics are those of NIST SP 800-90B, section 5.1, that see what disturbs a measurement: a trend (excursion), an
//! alternation or a drift (runs and the longest run, of directions and about the median), and clusters of equal values (collisions).

use machine_profile::statistics::median;

/// Shuffled copies that the values are compared with.
const SHUFFLES: usize = 1999;
/// Sides of statistics that can fail.
const SIDES: f64 = 2.0 * Statistics::COUNT as f64;
/// The probability with which independent values fail any of the tests.
const FALSE_ALARMS: f64 = 0.01;

/// Answer of the tests.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Verdict {
    /// Nothing speaks against independence.
    Independent,
    /// The statistic of this name is not that of independent values.
    Dependent(&'static str),
    /// Too few values for any test to fail.
    TooFew,
}

/// Fewer values than this are not judged.
const FEWEST: usize = 12;

/// Statistics of an order.
#[derive(Clone, Copy, Debug)]
struct Statistics([f64; Self::COUNT]);

impl Statistics {
    const COUNT: usize = 6;
    const NAMES: [&'static str; Self::COUNT] = [
        "excursion",
        "directional runs",
        "longest directional run",
        "runs about the median",
        "longest run about the median",
        "collisions",
    ];

    fn of(values: &[f64], mean: f64, middle: f64) -> Self {
        let (mut sum, mut excursion) = (0.0, 0.0_f64);
        for value in values {
            sum += value - mean;
            excursion = excursion.max(sum.abs());
        }
        let directions = runs(values.windows(2).map(|pair| pair[1] >= pair[0]));
        let sides = runs(values.iter().map(|&value| value >= middle));
        Self([
            excursion,
            directions.0,
            directions.1,
            sides.0,
            sides.1,
            collisions(values),
        ])
    }
}

/// How many runs of equal signs there are, and the length of the longest.
fn runs(signs: impl Iterator<Item = bool>) -> (f64, f64) {
    let (mut count, mut longest, mut length, mut last) = (0u32, 0u32, 0u32, None);
    for sign in signs {
        if last == Some(sign) {
            length += 1;
        } else {
            (count, length, last) = (count + 1, 1, Some(sign));
        }
        longest = longest.max(length);
    }
    (f64::from(count), f64::from(longest))
}

/// How many values fall into the same of 16 classes as the one before: clusters have more.
fn collisions(values: &[f64]) -> f64 {
    let class = |value: f64| value as usize;
    let pairs = values.windows(2);
    pairs
        .filter(|pair| class(pair[0]) == class(pair[1]))
        .count() as f64
}

/// Judges values in the order in which they were measured.
pub fn check(values: &[f64]) -> Verdict {
    if values.len() < FEWEST {
        return Verdict::TooFew;
    }
    let ranks = ranks(values);
    let mean = ranks.iter().sum::<f64>() / ranks.len() as f64;
    let middle = median(&ranks);
    let found = Statistics::of(&ranks, mean, middle);
    let (mut above, mut below) = ([1u32; Statistics::COUNT], [1u32; Statistics::COUNT]);
    let mut shuffled = ranks;
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for _ in 0..SHUFFLES {
        random.shuffle(&mut shuffled);
        let other = Statistics::of(&shuffled, mean, middle);
        for index in 0..Statistics::COUNT {
            above[index] += u32::from(other.0[index] >= found.0[index]);
            below[index] += u32::from(other.0[index] <= found.0[index]);
        }
    }
    let is_rare = |count: u32| f64::from(count) / (SHUFFLES + 1) as f64 <= FALSE_ALARMS / SIDES;
    let failed =
        (0..Statistics::COUNT).find(|&index| is_rare(above[index]) || is_rare(below[index]));
    failed.map_or(Verdict::Independent, |index| {
        Verdict::Dependent(Statistics::NAMES[index])
    })
}

/// The place of each value among all, in 16 classes with fractions, so that one outlier counts no more than others. Equal values
/// have equal places.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let scale = 16.0 / values.len() as f64;
    let place = |&value: &f64| {
        let below = sorted.partition_point(|&other| other < value);
        let end = sorted.partition_point(|&other| other <= value);
        f64::midpoint(below as f64, end as f64) * scale
    };
    values.iter().map(place).collect()
}

/// Marsaglia's xorshift of 64 bits: the same shuffles each time, so a verdict can be repeated.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((u128::from(self.0) * limit as u128) >> 64) as usize
    }

    fn shuffle(&mut self, values: &mut [f64]) {
        for index in (1..values.len()).rev() {
            let other = self.below(index + 1);
            values.swap(index, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(seed: u64, count: usize) -> Vec<f64> {
        let mut random = Random(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) | 1);
        (0..count)
            .map(|_| 100.0 + random.below(1000) as f64 / 100.0)
            .collect()
    }

    #[test]
    fn noise_passes_and_false_alarms_are_rare() {
        let runs = 400;
        let alarms = (1..=runs).filter(|&seed| check(&noise(seed, 60)) != Verdict::Independent);
        let alarms = alarms.count() as u64;
        assert!(alarms * 100 <= runs, "{alarms} of {runs}");
    }

    #[test]
    fn trends_alternations_and_bursts_fail() {
        let with = |change: fn(usize) -> f64| -> Vec<f64> {
            let values = noise(7, 100).into_iter().enumerate();
            values.map(|(index, value)| value + change(index)).collect()
        };
        let trend = with(|index| index as f64 / 10.0);
        let alternation = with(|index| if index % 2 == 0 { 8.0 } else { 0.0 });
        let bursts = with(|index| if index % 50 < 12 { 20.0 } else { 0.0 });
        for series in [trend, alternation, bursts] {
            assert!(
                matches!(check(&series), Verdict::Dependent(_)),
                "{series:?}"
            );
        }
    }

    #[test]
    fn equal_values_and_few_values_are_no_alarm() {
        assert_eq!(check(&[5.0; 100]), Verdict::Independent);
        assert_eq!(check(&[1.0, 2.0, 3.0]), Verdict::TooFew);
    }
}
