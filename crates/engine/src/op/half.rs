// SPDX-License-Identifier: MIT OR Apache-2.0
//! IEEE binary16 arithmetic: widened to binary32, whose 24 bits of precision make the rounding of each single operation
//! exact (more than twice 11 bits plus two), and rounded back to nearest even.

use super::kernel::Real;

/// A binary16 number, by its bits.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Half(pub(super) u16);

impl Half {
    pub(super) fn widen(self) -> f32 {
        let bits = u32::from(self.0);
        let sign = (bits & 0x8000) << 16;
        let magnitude = bits & 0x7fff;
        let wide = match magnitude {
            0..0x400 => (magnitude as f32 * f32::from_bits(0x3380_0000)).to_bits(),
            0x400..0x7c00 => (magnitude << 13) + (112 << 23),
            _ => 0x7f80_0000 | (magnitude & 0x3ff) << 13,
        };
        f32::from_bits(sign | wide)
    }

    pub(super) fn round(value: f32) -> Self {
        let bits = value.to_bits();
        let sign = (bits >> 16) as u16 & 0x8000;
        let magnitude = bits & 0x7fff_ffff;
        let rounded = match magnitude {
            0x7f80_0001.. => 0x7e00,
            // 65520 and above round to infinity.
            0x477f_f000.. => 0x7c00,
            0x3880_0000.. => {
                let odd = magnitude >> 13 & 1;
                ((magnitude - (112 << 23) + 0xfff + odd) >> 13) as u16
            }
            // Below 2^-14: adding 0.5 aligns the last bit of a subnormal with the last bit of the sum, which the processor
            // rounds.
            _ => (f32::from_bits(magnitude) + 0.5)
                .to_bits()
                .wrapping_sub(0x3f00_0000) as u16,
        };
        Self(sign | rounded)
    }
}

impl Real for Half {
    fn add(self, other: Self) -> Self {
        Self::round(self.widen() + other.widen())
    }

    fn sub(self, other: Self) -> Self {
        Self::round(self.widen() - other.widen())
    }

    fn mul(self, other: Self) -> Self {
        Self::round(self.widen() * other.widen())
    }

    fn less(self, other: Self) -> bool {
        self.widen() < other.widen()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value of a finite number by the definition of the format.
    fn definition(bits: u16) -> f64 {
        let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
        let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 0x3ff));
        match exponent {
            0 => sign * fraction * 2f64.powi(-24),
            _ => sign * (1.0 + fraction / 1024.0) * 2f64.powi(exponent - 15),
        }
    }

    #[test]
    fn every_number_survives_widening_and_rounding() {
        for bits in 0..=u16::MAX {
            let half = Half(bits);
            if bits & 0x7c00 == 0x7c00 && bits & 0x3ff != 0 {
                assert!(half.widen().is_nan());
                assert!(Half::round(half.widen()).widen().is_nan());
                continue;
            }
            assert_eq!(Half::round(half.widen()).0, bits);
            if bits & 0x7c00 != 0x7c00 {
                assert_eq!(f64::from(half.widen()), definition(bits));
            }
        }
        assert!(Half(0x7c00).widen().is_infinite());
    }

    #[test]
    fn results_round_to_nearest_even() {
        for bits in 0..0x7bffu16 {
            let (low, high) = (definition(bits), definition(bits + 1));
            let middle = (low + high) / 2.0;
            let even = bits + (bits & 1);
            assert_eq!(Half::round(middle as f32).0, even, "{bits:#x}");
            let above = f32::from_bits((middle as f32).to_bits() + 1);
            assert_eq!(Half::round(above).0, bits + 1);
            let below = f32::from_bits((middle as f32).to_bits() - 1);
            assert_eq!(Half::round(below).0, bits);
        }
        assert_eq!(Half::round(65519.996).0, 0x7bff);
        assert_eq!(Half::round(65520.0).0, 0x7c00);
        assert_eq!(Half::round(-1e30).0, 0xfc00);
    }
}
