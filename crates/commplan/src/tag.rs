// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tags that name direction, sender and receiver.

use crate::error::Error;
use crate::grid::Grid;

/// What MPI guarantees of MPI_TAG_UB (MPI-5.0, section 3.2.4).
pub const MIN_TAG_UB: i32 = 32767;

/// Where direction, sender and receiver stand in a tag, from the high bits to the low ones.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TagLayout {
    /// Bits for the index of the direction.
    pub direction_bits: u32,
    /// Bits for the sender's thread, and as many for the receiver's.
    pub thread_bits: u32,
}

impl TagLayout {
    /// The layout for a grid, whatever tags the library has.
    pub fn of(grid: &Grid) -> Self {
        Self {
            direction_bits: bits(grid.stencil().directions().len()),
            thread_bits: bits(grid.thread_count()),
        }
    }

    /// The layout, if all its tags are at most `tag_ub`.
    ///
    /// # Errors
    /// When there are too few bits; the error tells how many.
    pub fn within(grid: &Grid, tag_ub: i32) -> Result<Self, Error> {
        let layout = Self::of(grid);
        let available = (i64::from(tag_ub.max(0)) + 1).ilog2();
        if layout.bits() > available {
            return Err(Error::TagBits {
                direction: layout.direction_bits,
                thread: layout.thread_bits,
                tag_ub,
                available,
            });
        }
        Ok(layout)
    }

    /// All bits.
    pub const fn bits(self) -> u32 {
        self.direction_bits + 2 * self.thread_bits
    }

    /// The tag of a message: index of the direction that the sender sends in, sender's and receiver's thread.
    pub const fn tag(self, direction: usize, sender: usize, receiver: usize) -> usize {
        ((direction << self.thread_bits | sender) << self.thread_bits) | receiver
    }
}

/// Bits that tell so many values apart.
fn bits(values: usize) -> u32 {
    values.next_power_of_two().ilog2()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stencil::Stencil;

    #[test]
    fn sixty_four_threads_need_more_bits_than_mpi_guarantees() {
        let grid = Grid::new(Stencil::TwentySeven, &[4, 4, 4], &[2, 2, 2]).unwrap();
        let error = TagLayout::within(&grid, MIN_TAG_UB).unwrap_err();
        assert_eq!(
            error.to_string(),
            "tags need 17 bits (5 for the direction, 6 for the sender, 6 for the receiver), but MPI_TAG_UB 32767 has 15"
        );
        assert!(TagLayout::within(&grid, (1 << 17) - 2).is_err());
        let layout = TagLayout::within(&grid, (1 << 17) - 1).unwrap();
        assert_eq!(layout.tag(25, 63, 0), (25 << 12) + (63 << 6));
        let small = Grid::new(Stencil::Five, &[1, 1], &[2, 2]).unwrap();
        assert_eq!(TagLayout::within(&small, MIN_TAG_UB).unwrap().bits(), 2);
        assert!(TagLayout::within(&small, -1).is_err());
    }
}
