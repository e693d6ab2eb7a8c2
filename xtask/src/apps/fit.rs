// SPDX-License-Identifier: MIT OR Apache-2.0
//! The model T = O + W/P: a turn takes a fixed time, and so much for each of a rank's points or atoms.

/// The model, fitted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Fit {
    /// O: seconds of a turn however little a rank has to do.
    pub(super) overhead_s: f64,
    /// W/P divided by what a rank has: seconds for each of them.
    pub(super) each_s: f64,
    /// How far the measured times are from the model at most, as a share of them.
    pub(super) deviation: f64,
}

/// Up to which size one path is faster than another one by a factor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Pays {
    Never,
    UpTo(f64),
    Always,
}

impl Fit {
    /// The fit with the least squares of relative deviations, so that short times count as much as long ones; `None` if there are not
    /// three different sizes.
    pub(super) fn of(points: &[(f64, f64)]) -> Option<Self> {
        let mut sizes: Vec<f64> = points.iter().map(|point| point.0).collect();
        sizes.sort_by(f64::total_cmp);
        sizes.dedup();
        if sizes.len() < 3 || points.iter().any(|point| point.1 <= 0.0) {
            return None;
        }
        // Sums of the normal equations for O / T + W size / T = 1.
        let (mut oo, mut ow, mut ww, mut o, mut w) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for &(size, seconds) in points {
            let (one, each) = (1.0 / seconds, size / seconds);
            oo += one * one;
            ow += one * each;
            ww += each * each;
            o += one;
            w += each;
        }
        let determinant = oo * ww - ow * ow;
        let mut fit = Self {
            overhead_s: (o * ww - w * ow) / determinant,
            each_s: (w * oo - o * ow) / determinant,
            deviation: 0.0,
        };
        let away = |&(size, seconds): &(f64, f64)| (fit.at(size) / seconds - 1.0).abs();
        fit.deviation = points.iter().map(away).fold(0.0, f64::max);
        Some(fit)
    }

    /// The model's time of a turn.
    pub(super) fn at(&self, size: f64) -> f64 {
        self.overhead_s + self.each_s * size
    }

    /// The size at which the fixed time is half of all.
    pub(super) fn half(&self) -> f64 {
        self.overhead_s / self.each_s
    }

    /// Up to which size this path takes the time of another one divided by a factor, or less.
    pub(super) fn pays_against(&self, other: &Self, factor: f64) -> Pays {
        let at_zero = other.overhead_s - factor * self.overhead_s;
        let with_each = other.each_s - factor * self.each_s;
        match (at_zero > 0.0, with_each >= 0.0) {
            (false, _) => Pays::Never,
            (true, true) => Pays::Always,
            (true, false) => Pays::UpTo(-at_zero / with_each),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(overhead_s: f64, each_s: f64) -> Fit {
        let point = |size: f64| (size, overhead_s + each_s * size);
        Fit::of(&[27.0, 108.0, 864.0, 6912.0].map(point)).unwrap()
    }

    fn is_near(one: f64, other: f64) -> bool {
        (one - other).abs() < 1e-6 * other.abs()
    }

    #[test]
    fn an_exact_model_is_found() {
        let fit = line(2e-6, 5e-9);
        assert!(is_near(fit.overhead_s, 2e-6) && is_near(fit.each_s, 5e-9));
        assert!(fit.deviation < 1e-9 && is_near(fit.half(), 400.0));
    }

    #[test]
    fn a_short_time_counts_as_much_as_a_long_one() {
        let fit = Fit::of(&[(1.0, 2e-6), (10.0, 1.1e-5), (1e6, 1.1)]).unwrap();
        assert!(fit.deviation < 0.1, "{fit:?}");
    }

    #[test]
    fn two_sizes_are_no_fit() {
        assert_eq!(Fit::of(&[(1.0, 1.0), (2.0, 2.0), (2.0, 2.1)]), None);
        assert_eq!(Fit::of(&[(1.0, 1.0), (2.0, 2.0), (3.0, 0.0)]), None);
    }

    #[test]
    fn the_shorter_path_pays_while_the_overhead_is_large() {
        let (long, short) = (line(2e-6, 5e-9), line(1e-6, 5e-9));
        // 2000 + 5 n = 1.25 (1000 + 5 n) at n = 600.
        match short.pays_against(&long, 1.25) {
            Pays::UpTo(size) => assert!(is_near(size, 600.0), "{size}"),
            other => panic!("{other:?}"),
        }
        assert_eq!(short.pays_against(&long, 2.5), Pays::Never);
        assert_eq!(long.pays_against(&short, 1.05), Pays::Never);
        let better = line(1e-6, 2e-9);
        assert_eq!(better.pays_against(&long, 1.5), Pays::Always);
    }
}
