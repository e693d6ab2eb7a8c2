// SPDX-License-Identifier: MIT OR Apache-2.0
//! Access modes (MPI-5.0, section 14.2.1).

use crate::errors::{Error, ErrorClass, Result};

/// The bits of a mode; the numbers are the ABI's.
#[expect(missing_docs, reason = "the names are the standard's")]
pub mod bits {
    pub const APPEND: i32 = 1;
    pub const CREATE: i32 = 2;
    pub const DELETE_ON_CLOSE: i32 = 4;
    pub const EXCL: i32 = 8;
    pub const RDONLY: i32 = 16;
    pub const RDWR: i32 = 32;
    pub const SEQUENTIAL: i32 = 64;
    pub const UNIQUE_OPEN: i32 = 128;
    pub const WRONLY: i32 = 256;
}

/// A mode that the standard allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode(i32);

impl Mode {
    /// Checks the bits of a mode.
    ///
    /// # Errors
    /// MPI_ERR_AMODE.
    pub fn new(amode: i32) -> Result<Self> {
        let wrong = |expected: &str| {
            let class = ErrorClass::ERR_AMODE;
            Err(Error::argument(class, "amode", amode, expected))
        };
        let mode = Self(amode);
        if !(0..2 * bits::WRONLY).contains(&amode) {
            return wrong("a sum of constants MPI_MODE_*");
        }
        let accesses = amode & (bits::RDONLY | bits::RDWR | bits::WRONLY);
        if accesses.count_ones() != 1 {
            return wrong("one of MPI_MODE_RDONLY, MPI_MODE_RDWR and MPI_MODE_WRONLY");
        }
        if mode.has(bits::RDONLY) && amode & (bits::CREATE | bits::EXCL) != 0 {
            return wrong("no MPI_MODE_RDONLY with MPI_MODE_CREATE or MPI_MODE_EXCL");
        }
        if mode.has(bits::RDWR) && mode.has(bits::SEQUENTIAL) {
            return wrong("no MPI_MODE_RDWR with MPI_MODE_SEQUENTIAL");
        }
        Ok(mode)
    }

    /// The number.
    pub const fn bits(self) -> i32 {
        self.0
    }

    /// Whether a bit is set.
    pub const fn has(self, bit: i32) -> bool {
        self.0 & bit != 0
    }

    /// Whether the file may be read.
    pub const fn reads(self) -> bool {
        !self.has(bits::WRONLY)
    }

    /// Whether the file may be written.
    pub const fn writes(self) -> bool {
        !self.has(bits::RDONLY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_512_combinations_follow_the_rules() {
        for amode in 0..512 {
            let has = |bit: i32| amode & bit != 0;
            let one = [bits::RDONLY, bits::RDWR, bits::WRONLY].map(has);
            let is_one = one.iter().filter(|&&it| it).count() == 1;
            let creates = has(bits::CREATE) || has(bits::EXCL);
            let allowed = is_one && !(one[0] && creates) && !(one[1] && has(bits::SEQUENTIAL));
            assert_eq!(Mode::new(amode).is_ok(), allowed, "{amode}");
        }
        for amode in [-1, 512, 1024 + 16, i32::MIN] {
            let error = Mode::new(amode).unwrap_err();
            assert_eq!(error.class(), ErrorClass::ERR_AMODE);
        }
    }
}
