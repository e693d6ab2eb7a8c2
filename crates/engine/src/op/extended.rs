// SPDX-License-Identifier: MIT OR Apache-2.0
//! The x87 format of 80 bits, which is `long double` in C on x86-64.
//!
//! Rust has no such type, so the instructions are written out. A number takes 16 bytes in memory, of which 10 count.
#![expect(unsafe_code, reason = "the x87 instructions have no intrinsics")]

use super::kernel::Real;

/// An 80-bit number in its 16 bytes.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub(super) struct Extended(pub(super) [u8; 16]);

#[cfg(not(target_arch = "x86_64"))]
compile_error!("long double is an x87 number here; this architecture needs its own kernel");

macro_rules! instruction {
    ($operation:literal, $left:expr, $right:expr) => {{
        let mut result = Self([0; 16]);
        // SAFETY: the three pointers lead to 16 bytes each, of which 10 are accessed; every x87 register is declared
        // overwritten, so the register stack is empty before and, as two loads meet two pops, after.
        unsafe {
            std::arch::asm!(
                "fld tbyte ptr [{left}]",
                "fld tbyte ptr [{right}]",
                $operation,
                "fstp tbyte ptr [{result}]",
                left = in(reg) &raw const $left,
                right = in(reg) &raw const $right,
                result = in(reg) &raw mut result,
                out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                options(nostack),
            );
        }
        result
    }};
}

impl Real for Extended {
    #[inline]
    fn add(self, other: Self) -> Self {
        instruction!("faddp st(1), st", self, other)
    }

    #[inline]
    fn sub(self, other: Self) -> Self {
        instruction!("fsubp st(1), st", self, other)
    }

    #[inline]
    fn mul(self, other: Self) -> Self {
        instruction!("fmulp st(1), st", self, other)
    }

    #[inline]
    fn less(self, other: Self) -> bool {
        let less: u8;
        // SAFETY: both pointers lead to 16 bytes, of which 10 are read; the registers as in `instruction`. "Above" is false
        // for unordered operands.
        unsafe {
            std::arch::asm!(
                "fld tbyte ptr [{left}]",
                "fld tbyte ptr [{right}]",
                "fucomip st, st(1)",
                "seta {less}",
                "fstp st(0)",
                left = in(reg) &raw const self,
                right = in(reg) &raw const other,
                less = out(reg_byte) less,
                out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                options(nostack, readonly),
            );
        }
        less != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The exact 80-bit form of a finite binary64 number.
    fn extended(value: f64) -> Extended {
        let mut bytes = [0; 16];
        if value != 0.0 {
            let bits = value.to_bits();
            let exponent = (bits >> 52 & 0x7ff) as u16 + (16383 - 1023);
            let significand = 1 << 63 | (bits & ((1 << 52) - 1)) << 11;
            bytes[..8].copy_from_slice(&u64::to_le_bytes(significand));
            bytes[8..10].copy_from_slice(&(exponent | (bits >> 48) as u16 & 0x8000).to_le_bytes());
        }
        Extended(bytes)
    }

    #[test]
    fn arithmetic_keeps_64_bits_of_precision() {
        let (tiny, one) = (2f64.powi(-63), 1.0);
        let sum = extended(one).add(extended(tiny));
        assert_eq!(sum.0[..8], (1u64 << 63 | 1).to_le_bytes());
        assert_eq!(sum.sub(extended(one)).0[..10], extended(tiny).0[..10]);
        assert_eq!(
            extended(5.5).sub(extended(7.25)).0[..10],
            extended(-1.75).0[..10]
        );
        assert_eq!(
            extended(-1.5).mul(extended(4.25)).0[..10],
            extended(-6.375).0[..10]
        );
        let far = extended(f64::MAX).mul(extended(f64::MAX));
        assert!(extended(f64::MAX).less(far));
        assert!(extended(-2.0).less(extended(1.0)) && !extended(1.0).less(extended(-2.0)));
        assert!(!extended(3.0).less(extended(3.0)));
        let infinity = (0..15).fold(far, |number, _| number.mul(number));
        let not_a_number = infinity.sub(infinity);
        assert!(!not_a_number.less(extended(0.0)) && !extended(0.0).less(not_a_number));
    }
}
