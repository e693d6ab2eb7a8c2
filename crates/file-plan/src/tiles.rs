// SPDX-License-Identifier: MIT OR Apache-2.0
//! The bytes that a view makes visible (MPI-5.0, section 14.3): a filetype, repeated from a displacement on.
//!
//! A *position* counts the visible bytes from the first one, an *offset* all bytes of the file.

use std::ops::Range;

use layout::{Form, Layout, Order, SharedLayout};

/// Offsets of files end here.
const MOST_OFFSET: i128 = i64::MAX as i128;

/// A filetype, repeated from a displacement on.
#[derive(Clone, Debug)]
pub struct Tiles {
    displacement: u64,
    layout: SharedLayout,
    /// The offset of the first byte if all bytes from there on are visible.
    dense_from: Option<u64>,
    ascends: bool,
}

/// Contiguous runs of bytes in one element.
fn runs(layout: &Layout) -> u64 {
    let form = layout.form();
    let around = match form {
        Form::Regular(nest) => &*nest.dimensions,
        other => other.dimensions(),
    };
    let copies = around.iter().fold(1u64, |all, dimension| {
        all.saturating_mul(dimension.count as u64)
    });
    copies.saturating_mul(form.repeated_runs() as u64).max(1)
}

impl Tiles {
    /// The tiles of a filetype.
    pub fn new(displacement: u64, layout: SharedLayout) -> Self {
        let is_dense = layout.size() > 0 && layout.contiguous_start(2).is_some();
        let dense_from = layout
            .contiguous_start(2)
            .filter(|_| is_dense)
            .and_then(|start| displacement.checked_add_signed(start));
        let ascends = layout.order() == Order::Ascending && layout.extent() >= layout.true_extent();
        Self {
            displacement,
            layout,
            dense_from,
            ascends,
        }
    }

    /// Whether all bytes from the first one on are visible.
    pub const fn are_dense(&self) -> bool {
        self.dense_from.is_some()
    }

    /// Whether each visible byte lies behind the one before, in all tiles.
    pub const fn ascend(&self) -> bool {
        self.ascends
    }

    /// Bytes of a contiguous range, on average.
    pub fn mean_range(&self) -> u64 {
        if self.are_dense() {
            return u64::MAX;
        }
        self.layout.size() as u64 / runs(&self.layout)
    }

    /// The offset of the byte at a position; `None` if there is no such byte.
    pub fn offset_of(&self, position: u64) -> Option<u64> {
        let size = self.layout.size() as u64;
        if size == 0 {
            return None;
        }
        let (tile, within) = (position / size, (position % size) as usize);
        let mut found = 0;
        self.layout
            .for_each_run(within..within + 1, |offset, _| found = offset);
        let offset = i128::from(self.displacement)
            + i128::from(tile) * i128::from(self.layout.extent())
            + i128::from(found);
        (0..MOST_OFFSET).contains(&offset).then_some(offset as u64)
    }

    /// Visible bytes in front of an offset. Only for tiles that ascend.
    pub fn position_of(&self, offset: u64) -> u64 {
        let size = self.layout.size() as u64;
        let first = i128::from(self.displacement) + i128::from(self.layout.true_lower_bound());
        let relative = i128::from(offset) - first;
        if size == 0 || relative <= 0 {
            return 0;
        }
        let extent = i128::from(self.layout.extent()).max(1);
        let tile = relative / extent;
        let wanted = relative % extent + i128::from(self.layout.true_lower_bound());
        // The first byte of the tile that lies at the offset or behind it.
        let (mut low, mut high) = (0, size as usize);
        while low < high {
            let middle = low + (high - low) / 2;
            let mut found = 0;
            self.layout
                .for_each_run(middle..middle + 1, |offset, _| found = offset);
            if i128::from(found) < wanted {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        u64::try_from(tile * i128::from(size) + low as i128).unwrap_or(u64::MAX)
    }

    /// Calls `action` with the offset and the length of each range of these positions, whose first and last byte have offsets.
    pub fn for_each_range(&self, positions: Range<u64>, mut action: impl FnMut(u64, u64)) {
        if positions.is_empty() {
            return;
        }
        if let Some(first) = self.dense_from {
            action(first + positions.start, positions.end - positions.start);
            return;
        }
        let range = positions.start as usize..positions.end as usize;
        self.layout.for_each_run(range, |offset, bytes| {
            action(self.displacement.wrapping_add_signed(offset), bytes as u64);
        });
    }
}
