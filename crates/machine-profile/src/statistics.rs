// SPDX-License-Identifier: MIT OR Apache-2.0
//! Statistics that a few outliers do not move.

/// The value below which a part of sorted values lies, between neighbours by their distance; not a number without values.
pub fn quantile(sorted: &[f64], part: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else {
        return f64::NAN;
    };
    let place = part * last as f64;
    let (low, high) = (place.floor() as usize, place.ceil() as usize);
    sorted[low] + (sorted[high] - sorted[low]) * (place - low as f64)
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// The median; not a number without values.
pub fn median(values: &[f64]) -> f64 {
    quantile(&sorted(values), 0.5)
}

/// Tukey's trimean: a quarter of the lower quartile, twice the median and the upper quartile.
pub fn trimean(values: &[f64]) -> f64 {
    let sorted = sorted(values);
    let [low, middle, high] = [0.25, 0.5, 0.75].map(|part| quantile(&sorted, part));
    (low + 2.0 * middle + high) / 4.0
}

/// The median absolute deviation from the median.
pub fn mad(values: &[f64]) -> f64 {
    let middle = median(values);
    let distances: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    median(&distances)
}

/// Standard deviation of the middle half, scaled to that of a normal distribution: other programs' interruptions are outside.
pub fn spread(values: &[f64]) -> f64 {
    1.4826 * mad(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_are_those_of_the_definitions() {
        let values = [4.0, 1.0, 3.0, 2.0, 5.0];
        assert_eq!(median(&values), 3.0);
        assert_eq!(trimean(&values), 3.0);
        assert_eq!(mad(&values), 1.0);
        assert_eq!(median(&[1.0, 2.0]), 1.5);
        assert_eq!(quantile(&[1.0, 2.0, 4.0], 0.75), 3.0);
        assert_eq!(spread(&values), 1.4826);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn outliers_move_nothing() {
        let mut values: Vec<f64> = (0..101).map(|index| 100.0 + f64::from(index % 5)).collect();
        let (before, spread) = (median(&values), mad(&values));
        for value in &mut values[..20] {
            *value = 1e9;
        }
        assert!((median(&values) - before).abs() <= 1.0);
        assert!(mad(&values) <= spread + 1.0);
    }
}
