// SPDX-License-Identifier: MIT OR Apache-2.0
//! IEEE binary128, which is REAL(16) in Fortran, in integer arithmetic: rounds to nearest even, keeps infinities, makes
//! every NaN the same one.

use super::kernel::Real;

/// A binary128 number, by its bits.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Quad(pub(super) u128);

const FRACTION_BITS: u32 = 112;
const FRACTION: u128 = (1 << FRACTION_BITS) - 1;
const SIGN: u128 = 1 << 127;
const INFINITY: u128 = 0x7fff << FRACTION_BITS;
const NAN: Quad = Quad(INFINITY | 1 << (FRACTION_BITS - 1));

impl Quad {
    const fn sign(self) -> u128 {
        self.0 & SIGN
    }

    const fn magnitude(self) -> u128 {
        self.0 & !SIGN
    }

    const fn is_nan(self) -> bool {
        self.magnitude() > INFINITY
    }

    /// Exponent (at least 1) and significand with its leading bit.
    const fn parts(self) -> (i32, u128) {
        match (self.magnitude() >> FRACTION_BITS) as i32 {
            0 => (1, self.0 & FRACTION),
            exponent => (exponent, self.0 & FRACTION | 1 << FRACTION_BITS),
        }
    }

    /// Rounds `significand * 2^(exponent - 3)`, whose three lowest bits lie below the precision and whose lowest one stands
    /// for everything further below.
    fn round(sign: u128, mut exponent: i32, mut significand: u128) -> Self {
        if significand == 0 {
            return Self(sign);
        }
        let excess = FRACTION_BITS as i32 + 3 - (127 - significand.leading_zeros() as i32);
        let shift = excess.min(exponent - 1);
        exponent -= shift;
        significand = if shift >= 0 {
            significand << shift
        } else {
            sticky_shift(significand, -shift as u32)
        };
        let (kept, rest) = (significand >> 3, significand & 7);
        let up = u128::from(rest > 4 || (rest == 4 && kept & 1 == 1));
        // The leading bit of a normal number adds one to the exponent field, and so does a carry out of the fraction.
        let field = (exponent as u128 - 1) << FRACTION_BITS;
        let magnitude = field + kept + up;
        Self(sign | magnitude.min(INFINITY))
    }
}

/// Shifts right; the lowest bit remembers whether anything was lost.
const fn sticky_shift(value: u128, by: u32) -> u128 {
    match by {
        0 => value,
        1..128 => value >> by | (value << (128 - by) != 0) as u128,
        _ => (value != 0) as u128,
    }
}

/// The product of two numbers of at most 113 bits, shifted right by 109 bits with a sticky lowest bit.
const fn scaled_product(a: u128, b: u128) -> u128 {
    const LOW: u128 = u64::MAX as u128;
    let (a_high, a_low, b_high, b_low) = (a >> 64, a & LOW, b >> 64, b & LOW);
    let (cross, low) = (a_high * b_low + a_low * b_high, a_low * b_low);
    let (low, carry) = low.overflowing_add(cross << 64);
    let high = a_high * b_high + (cross >> 64) + carry as u128;
    high << 19 | low >> 109 | (low << 19 != 0) as u128
}

impl Real for Quad {
    fn add(self, other: Self) -> Self {
        if self.is_nan() || other.is_nan() {
            return NAN;
        }
        let (big, small) = if self.magnitude() >= other.magnitude() {
            (self, other)
        } else {
            (other, self)
        };
        if big.magnitude() == INFINITY {
            let opposite = small.magnitude() == INFINITY && small.sign() != big.sign();
            return if opposite { NAN } else { big };
        }
        let ((exponent, left), (lower, right)) = (big.parts(), small.parts());
        let (left, right) = (
            left << 3,
            sticky_shift(right << 3, (exponent - lower) as u32),
        );
        if big.sign() == small.sign() {
            return Self::round(big.sign(), exponent, left + right);
        }
        // Equal magnitudes cancel to positive zero.
        let sign = if left == right { 0 } else { big.sign() };
        Self::round(sign, exponent, left - right)
    }

    fn sub(self, other: Self) -> Self {
        self.add(Self(other.0 ^ SIGN))
    }

    fn mul(self, other: Self) -> Self {
        let sign = self.sign() ^ other.sign();
        let zero = self.magnitude() == 0 || other.magnitude() == 0;
        let infinite = self.magnitude() == INFINITY || other.magnitude() == INFINITY;
        if self.is_nan() || other.is_nan() || (zero && infinite) {
            return NAN;
        }
        if infinite {
            return Self(sign | INFINITY);
        }
        if zero {
            return Self(sign);
        }
        let ((left_exponent, left), (right_exponent, right)) =
            (self.normalised(), other.normalised());
        let mut exponent = left_exponent + right_exponent - 16383;
        let mut product = scaled_product(left, right);
        if exponent < 1 {
            product = sticky_shift(product, (1 - exponent) as u32);
            exponent = 1;
        }
        Self::round(sign, exponent, product)
    }

    fn less(self, other: Self) -> bool {
        if self.is_nan() || other.is_nan() || (self.magnitude() | other.magnitude()) == 0 {
            return false;
        }
        match (self.sign() != 0, other.sign() != 0) {
            (true, false) => true,
            (false, true) => false,
            (false, false) => self.magnitude() < other.magnitude(),
            (true, true) => self.magnitude() > other.magnitude(),
        }
    }
}

impl Quad {
    /// As [`Self::parts`], with subnormal numbers shifted until their leading bit is in place.
    const fn normalised(self) -> (i32, u128) {
        let (exponent, significand) = self.parts();
        let shift = significand.leading_zeros() - (127 - FRACTION_BITS);
        (exponent - shift as i32, significand << shift)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The exact binary128 form of a normal binary64 number or zero.
    fn quad(value: f64) -> Quad {
        let bits = u128::from(value.to_bits());
        if value == 0.0 {
            return Quad(bits << 64);
        }
        let exponent = (bits >> 52 & 0x7ff) + 16383 - 1023;
        let fraction = (bits & ((1 << 52) - 1)) << 60;
        Quad((bits >> 63) << 127 | exponent << FRACTION_BITS | fraction)
    }

    /// The result of the compiler's run-time library. Its functions take binary128 numbers in vector registers, for which Rust
    /// has no stable type.
    #[expect(unsafe_code, reason = "the library's functions are foreign")]
    mod reference {
        use std::arch::{asm, x86_64::__m128i};

        unsafe extern "C" {
            fn __addtf3();
            fn __multf3();
        }

        macro_rules! call {
            ($function:ident, $a:expr, $b:expr) => {{
                let (a, b): ([u8; 16], [u8; 16]) = ($a.to_ne_bytes(), $b.to_ne_bytes());
                // SAFETY: the function takes two numbers in xmm0 and xmm1 and returns one in xmm0; any bits are valid.
                unsafe {
                    let mut result: __m128i = std::mem::transmute(a);
                    let other: __m128i = std::mem::transmute(b);
                    asm!("call {f}", f = sym $function, inout("xmm0") result,
                        inout("xmm1") other => _, clobber_abi("C"));
                    std::mem::transmute::<__m128i, u128>(result)
                }
            }};
        }

        pub(super) fn add(a: u128, b: u128) -> u128 {
            call!(__addtf3, a, b)
        }

        pub(super) fn multiply(a: u128, b: u128) -> u128 {
            call!(__multf3, a, b)
        }
    }

    fn agree(ours: Quad, theirs: u128) -> bool {
        ours.0 == theirs || (ours.is_nan() && Quad(theirs).is_nan())
    }

    #[test]
    fn arithmetic_agrees_with_the_compilers_library() {
        let mut state = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835u128;
        let mut next = || {
            state = state
                .wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645)
                .wrapping_add(0x5851_f42d_4c95_7f2d);
            state ^ state >> 67
        };
        let special = [
            0,
            SIGN,
            1,
            SIGN | 3,
            FRACTION,
            1 << FRACTION_BITS,
            INFINITY - 1,
            INFINITY,
            SIGN | INFINITY,
            NAN.0,
            quad(1.0).0,
            quad(-1.0).0,
        ];
        for round in 0..400_000 {
            let (mut a, mut b) = (next(), next());
            match round % 5 {
                // Near exponents, so that addition aligns and cancels.
                0 | 1 => {
                    b = b & (SIGN | FRACTION)
                        | (a & INFINITY).wrapping_add((next() % 230) << FRACTION_BITS) & INFINITY;
                }
                // Subnormal operands and results.
                2 => a &= SIGN | FRACTION >> (next() % 112),
                3 => {
                    a = a & (SIGN | FRACTION) | (next() % 0x2100) << FRACTION_BITS;
                    b = b & (SIGN | FRACTION) | (next() % 0x2100) << FRACTION_BITS;
                }
                _ => {
                    a = special[(next() % 12) as usize];
                    b = if round % 2 == 0 {
                        special[(next() % 12) as usize]
                    } else {
                        b
                    };
                }
            }
            let (x, y) = (Quad(a), Quad(b));
            assert!(agree(x.add(y), reference::add(a, b)), "{a:#x} + {b:#x}");
            assert!(
                agree(x.mul(y), reference::multiply(a, b)),
                "{a:#x} * {b:#x}"
            );
        }
    }

    #[test]
    fn order_is_that_of_the_numbers() {
        let ascending = [f64::MIN, -2.5, -2.0, -1e-300, 0.0, 1e-300, 2.0, 2.5];
        for (i, &a) in ascending.iter().enumerate() {
            for (j, &b) in ascending.iter().enumerate() {
                assert_eq!(quad(a).less(quad(b)), i < j);
            }
        }
        assert!(!quad(-0.0).less(quad(0.0)) && !NAN.less(quad(0.0)) && !quad(0.0).less(NAN));
    }
}
