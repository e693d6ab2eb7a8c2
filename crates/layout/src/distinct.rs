// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether bytes occur twice: what is received into must not overlap itself (MPI-5.0, section 5.1.11).

use crate::form::{Dimension, Form};
use crate::layout::Layout;

/// Most runs that are looked at one by one.
const MOST_RUNS: usize = 1 << 20;

impl Layout {
    /// The offset of a byte that `count` elements hold more than once; `None` if there is none, or if that is not known because
    /// millions of runs would have to be compared.
    pub fn repeated_byte(&self, count: usize) -> Option<i64> {
        if self.size() == 0 || count == 0 {
            return None;
        }
        if let Form::Regular(nest) = self.form() {
            let mut dimensions = nest.dimensions.to_vec();
            dimensions.push(Dimension {
                count,
                ..self.elements()
            });
            if are_apart(nest.block.bytes, &mut dimensions) {
                return None;
            }
        }
        // Elements that lie apart are all as the first.
        let are_like_one = self.extent().unsigned_abs() >= self.true_extent().unsigned_abs();
        let count = if are_like_one { 1 } else { count };
        let bytes = self.size().checked_mul(count)?;
        let mut runs: Vec<(i64, usize)> = Vec::new();
        if self.form().runs().saturating_mul(count) > MOST_RUNS {
            return None;
        }
        self.for_each_run(0..bytes, |offset, bytes| runs.push((offset, bytes)));
        if !runs.is_sorted_by_key(|&(offset, _)| offset) {
            runs.sort_unstable_by_key(|&(offset, _)| offset);
        }
        let overlap = runs
            .array_windows()
            .find(|[before, after]| before.0.saturating_add_unsigned(before.1 as u64) > after.0);
        overlap.map(|[_, after]| after.0)
    }
}

/// Whether each repetition, from the closest on, lies beyond all that is repeated: then nothing overlaps.
fn are_apart(bytes: usize, dimensions: &mut [Dimension]) -> bool {
    dimensions.sort_unstable_by_key(|it| it.stride.unsigned_abs());
    let mut span = bytes as u128;
    dimensions.iter().filter(|it| it.count > 1).all(|it| {
        let stride = u128::from(it.stride.unsigned_abs());
        let is_beyond = stride >= span;
        span += stride.saturating_mul(it.count as u128 - 1);
        is_beyond
    })
}
