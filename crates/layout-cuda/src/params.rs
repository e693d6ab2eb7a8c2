// SPDX-License-Identifier: MIT OR Apache-2.0
//! The parameters of a kernel, laid out as the kernels read them, and how kernels divide.

use layout::MAX_DIMENSIONS;

/// Dimensions that a kernel takes: those around a form, the elements, and the words of a run.
pub(super) const KERNEL_DIMENSIONS: usize = MAX_DIMENSIONS + 2;

/// Numbers that kernels divide are below this.
pub(super) const LIMIT: u64 = 1 << 31;

/// How to divide numbers below 2^31 by a constant: multiply, then shift.
///
/// With 2^(s-1) < divisor <= 2^s, the multiplier is 2^(31+s) / divisor rounded up: it has 32 bits, and what it is too large by,
/// times a number below 2^31, is less than what changes a quotient.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Divisor {
    pub(super) multiplier: u32,
    pub(super) shift: u32,
}

impl Divisor {
    /// Makes every quotient 0, and so the whole number the remainder.
    pub(super) const NEVER: Self = Self {
        multiplier: 0,
        shift: 0,
    };

    /// Divides by `divisor`, from 1 to 2^31; by more, numbers below 2^31 give 0.
    pub(super) const fn by(divisor: u64) -> Self {
        if divisor >= LIMIT {
            return Self::NEVER;
        }
        let shift = 31 + divisor.next_power_of_two().trailing_zeros();
        Self {
            multiplier: (1u64 << shift).div_ceil(divisor) as u32,
            shift,
        }
    }
}

/// One dimension.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(super) struct Axis {
    /// Bytes from one repetition to the next.
    pub(super) stride: i64,
    /// Repetitions, by which `by` divides; not read for the last dimension.
    pub(super) count: u32,
    pub(super) by: Divisor,
    unused: u32,
}

impl Axis {
    /// `count` repetitions; more than a launch has are the same as endless ones.
    pub(super) fn new(count: u64, stride: i64) -> Self {
        Self {
            stride,
            count: u32::try_from(count).unwrap_or(u32::MAX),
            by: Divisor::by(count),
            unused: 0,
        }
    }

    /// The same, never left.
    pub(super) const fn endless(self) -> Self {
        Self {
            by: Divisor::NEVER,
            ..self
        }
    }
}

/// The only parameter of each kernel. Kernels for few dimensions declare and read only the first part.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Params {
    /// Address of what word 0 is counted from in the laid-out memory.
    pub(super) laid_out: u64,
    /// Address of the first word of this launch in packed memory.
    pub(super) packed: u64,
    /// Address of the offsets of runs.
    pub(super) offsets: u64,
    /// Address of the packed positions of runs, relative to that of the first one.
    pub(super) starts: u64,
    /// Added to a position before it is looked up in `starts`.
    pub(super) origin: u64,
    /// Number of the first word of this launch.
    pub(super) first: u32,
    /// Words of this launch.
    pub(super) words: u32,
    /// Runs of a list or a pattern.
    pub(super) runs: u32,
    /// Words of a run of a list; of all runs of a pattern.
    pub(super) run_words: u32,
    pub(super) by_run_words: Divisor,
    pub(super) by_runs: Divisor,
    /// Dimensions in use.
    pub(super) dimensions: u32,
    unused: u32,
    pub(super) axes: [Axis; KERNEL_DIMENSIONS],
}

const _: () =
    assert!(size_of::<Axis>() == 24 && size_of::<Params>() == 80 + 24 * KERNEL_DIMENSIONS);
const _: () = assert!(
    size_of::<Params>() <= 4096,
    "a kernel's parameters end there"
);

impl Params {
    pub(super) fn new() -> Self {
        Self {
            laid_out: 0,
            packed: 0,
            offsets: 0,
            starts: 0,
            origin: 0,
            first: 0,
            words: 0,
            runs: 0,
            run_words: 0,
            by_run_words: Divisor::NEVER,
            by_runs: Divisor::NEVER,
            dimensions: 0,
            unused: 0,
            axes: [Axis::default(); KERNEL_DIMENSIONS],
        }
    }

    /// Adds a dimension outside the others.
    pub(super) fn push(&mut self, axis: Axis) {
        self.axes[self.dimensions as usize] = axis;
        self.dimensions += 1;
    }

    /// The parameters as bytes, as a launch hands them over.
    pub(super) fn bytes(&self) -> &[u8] {
        // SAFETY: `repr(C)` with fields that leave no padding (the assertion on its size), so every byte is initialised.
        unsafe { std::slice::from_raw_parts((&raw const *self).cast(), size_of::<Self>()) }
    }
}

#[cfg(test)]
mod tests {
    use super::{Divisor, LIMIT};

    fn divide(number: u64, by: Divisor) -> u64 {
        (number * u64::from(by.multiplier)) >> by.shift
    }

    #[test]
    fn quotients_are_exact_below_the_limit() {
        let divisors = (1..3000)
            .chain((1..31).flat_map(|bit| [(1 << bit) - 1, 1 << bit, (1 << bit) + 1]))
            .chain([LIMIT - 1, LIMIT, LIMIT + 1, u64::MAX]);
        for divisor in divisors.filter(|&divisor| divisor > 0) {
            let by = Divisor::by(divisor);
            let near = |number: u64| [number.saturating_sub(1), number, number + 1];
            let multiples = (0..40).map(|i| LIMIT / 40 * i / divisor * divisor);
            let numbers = multiples
                .chain([divisor.min(LIMIT), LIMIT - 2])
                .flat_map(near);
            for number in numbers.filter(|&number| number < LIMIT) {
                assert_eq!(divide(number, by), number / divisor, "{number} / {divisor}");
            }
        }
    }
}
