// SPDX-License-Identifier: MIT OR Apache-2.0
//! The predefined datatypes: one row each, found by the value of the handle.

use std::sync::{Arc, OnceLock};

use layout::Layout;

use super::Datatype;
use crate::errors::{Error, ErrorClass, Result};

/// MPI_DATATYPE_NULL.
pub const NULL_CODE: u32 = 0x200;

/// A representation of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// Signed, 1 byte.
    I8,
    /// Signed, 2 bytes.
    I16,
    /// Signed, 4 bytes.
    I32,
    /// Signed, 8 bytes.
    I64,
    /// Signed, 16 bytes.
    I128,
    /// Unsigned, 1 byte.
    U8,
    /// Unsigned, 2 bytes.
    U16,
    /// Unsigned, 4 bytes.
    U32,
    /// Unsigned, 8 bytes.
    U64,
    /// IEEE binary16.
    F16,
    /// IEEE binary32.
    F32,
    /// IEEE binary64.
    F64,
    /// The x87 format of 80 bits in 16 bytes.
    F80,
    /// IEEE binary128.
    F128,
}

impl Number {
    /// Size in bytes, which is also the alignment.
    pub const fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 | Self::F16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
            Self::I128 | Self::F80 | Self::F128 => 16,
        }
    }
}

/// The parts of an element of a predefined type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One number.
    One(Number),
    /// Real and imaginary part.
    Complex(Number),
    /// A value and an index, with the padding that C gives a struct of them.
    Pair(Number, Number),
}

impl Shape {
    /// Packed size in bytes.
    pub const fn size(self) -> usize {
        match self {
            Self::One(number) => number.size(),
            Self::Complex(part) => 2 * part.size(),
            Self::Pair(value, index) => value.size() + index.size(),
        }
    }

    /// Alignment in bytes.
    pub const fn alignment(self) -> usize {
        match self {
            Self::One(number) | Self::Complex(number) => number.size(),
            Self::Pair(value, index) => {
                if value.size() > index.size() {
                    value.size()
                } else {
                    index.size()
                }
            }
        }
    }

    /// Offset of a pair's index in bytes.
    pub const fn index_offset(value: Number, index: Number) -> usize {
        value.size().next_multiple_of(index.size())
    }

    /// Distance of consecutive elements in bytes.
    pub const fn extent(self) -> usize {
        match self {
            Self::Pair(value, index) => {
                (Self::index_offset(value, index) + index.size()).next_multiple_of(self.alignment())
            }
            _ => self.size(),
        }
    }

    /// The layout of one element.
    pub fn layout(self) -> Layout {
        if let Self::Pair(value, index) = self {
            let part = |number: Number| Layout::named(number.size(), number.size());
            let at = Self::index_offset(value, index) as i64;
            // Two small parts never exceed the limits of a layout.
            if let Ok(pair) = Layout::structure([(0, 1, &part(value)), (at, 1, &part(index))]) {
                return pair;
            }
        }
        Layout::aligned(self.size(), self.extent(), self.alignment() as u32)
    }
}

/// The groups of types for which reductions are defined (MPI-5.0, section 6.9.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Category {
    /// C integers.
    CInteger,
    /// Fortran integers.
    FortranInteger,
    /// Floating point, C and Fortran.
    FloatingPoint,
    /// Booleans, C and Fortran.
    Logical,
    /// Complex numbers, C and Fortran.
    Complex,
    /// MPI_BYTE.
    Byte,
    /// MPI_CHAR. MPI-5.0 calls it a printable character and defines no reduction for it; MPICH and
    /// Open MPI reduce it as an integer, and programs rely on that.
    Char,
    /// MPI_AINT, MPI_OFFSET, MPI_COUNT.
    MultiLanguage,
    /// A value and an index.
    Pair,
    /// Other characters and packed data: no reduction is defined.
    Opaque,
}

/// A predefined datatype.
#[derive(Debug, PartialEq, Eq)]
pub struct Predefined {
    /// The value of the handle in the ABI (0x201..0x2ff).
    pub code: u32,
    /// Name in C.
    pub name: &'static str,
    /// Which reductions are defined.
    pub category: Category,
    /// The parts of an element.
    pub shape: Shape,
    /// Whether this row stands for one of the table, with the size that a program's Fortran compiler gives the type.
    pub(super) is_resized: bool,
}

impl Predefined {
    /// Packed size of an element in bytes.
    #[inline(always)]
    pub const fn size(&self) -> usize {
        self.shape.size()
    }

    /// Whether another row has the same code.
    #[inline(always)]
    pub(crate) const fn is_resized(&self) -> bool {
        self.is_resized
    }

    /// The row of a handle value.
    pub fn find(code: u32) -> Option<&'static Self> {
        if let Some(resized) = super::fortran::resized(code) {
            return Some(resized);
        }
        let index = ROW_OF.get(code.wrapping_sub(NULL_CODE) as usize)?;
        PREDEFINED.get(usize::from(*index))
    }

    /// The datatype object of this row.
    pub fn datatype(&'static self) -> &'static Arc<Datatype> {
        static OBJECTS: [OnceLock<Arc<Datatype>>; 512] = [const { OnceLock::new() }; 512];
        let place = (self.code - NULL_CODE) as usize + 256 * usize::from(self.is_resized);
        OBJECTS[place].get_or_init(|| Datatype::predefined(self))
    }
}

/// C names: those that are no identifiers without their prefix, and the rule for all others.
macro_rules! c_name {
    (TWO_INT) => {
        "MPI_2INT"
    };
    (TWO_REAL) => {
        "MPI_2REAL"
    };
    (TWO_DOUBLE_PRECISION) => {
        "MPI_2DOUBLE_PRECISION"
    };
    (TWO_INTEGER) => {
        "MPI_2INTEGER"
    };
    ($name:ident) => {
        concat!("MPI_", stringify!($name))
    };
}

macro_rules! predefined {
    ($($code:literal $name:ident $category:ident $shape:ident($($number:ident),+);)*) => {
        /// Every predefined datatype, in the order of the handle values.
        pub const PREDEFINED: &[Predefined] = &[$(Predefined {
            code: $code,
            name: c_name!($name),
            category: Category::$category,
            shape: Shape::$shape($(Number::$number),+),
            is_resized: false,
        }),*];
        $(#[doc = concat!(c_name!($name), ".")]
        pub const $name: u32 = $code;)*
    };
}

predefined! {
    0x201 AINT MultiLanguage One(I64);
    0x202 COUNT MultiLanguage One(I64);
    0x203 OFFSET MultiLanguage One(I64);
    0x207 PACKED Opaque One(U8);
    0x208 SHORT CInteger One(I16);
    0x209 INT CInteger One(I32);
    0x20a LONG CInteger One(I64);
    0x20b LONG_LONG CInteger One(I64);
    0x20c UNSIGNED_SHORT CInteger One(U16);
    0x20d UNSIGNED CInteger One(U32);
    0x20e UNSIGNED_LONG CInteger One(U64);
    0x20f UNSIGNED_LONG_LONG CInteger One(U64);
    0x210 FLOAT FloatingPoint One(F32);
    0x212 C_FLOAT_COMPLEX Complex Complex(F32);
    0x213 CXX_FLOAT_COMPLEX Complex Complex(F32);
    0x214 DOUBLE FloatingPoint One(F64);
    0x216 C_DOUBLE_COMPLEX Complex Complex(F64);
    0x217 CXX_DOUBLE_COMPLEX Complex Complex(F64);
    0x218 LOGICAL Logical One(I32);
    0x219 INTEGER FortranInteger One(I32);
    0x21a REAL FloatingPoint One(F32);
    0x21b COMPLEX Complex Complex(F32);
    0x21c DOUBLE_PRECISION FloatingPoint One(F64);
    0x21d DOUBLE_COMPLEX Complex Complex(F64);
    0x21e CHARACTER Opaque One(U8);
    0x220 LONG_DOUBLE FloatingPoint One(F80);
    0x224 C_LONG_DOUBLE_COMPLEX Complex Complex(F80);
    0x225 CXX_LONG_DOUBLE_COMPLEX Complex Complex(F80);
    0x228 FLOAT_INT Pair Pair(F32, I32);
    0x229 DOUBLE_INT Pair Pair(F64, I32);
    0x22a LONG_INT Pair Pair(I64, I32);
    0x22b TWO_INT Pair Pair(I32, I32);
    0x22c SHORT_INT Pair Pair(I16, I32);
    0x22d LONG_DOUBLE_INT Pair Pair(F80, I32);
    0x230 TWO_REAL Pair Pair(F32, F32);
    0x231 TWO_DOUBLE_PRECISION Pair Pair(F64, F64);
    0x232 TWO_INTEGER Pair Pair(I32, I32);
    0x238 C_BOOL Logical One(U8);
    0x239 CXX_BOOL Logical One(U8);
    0x23c WCHAR Opaque One(I32);
    0x240 INT8_T CInteger One(I8);
    0x241 UINT8_T CInteger One(U8);
    0x243 CHAR Char One(I8);
    0x244 SIGNED_CHAR CInteger One(I8);
    0x245 UNSIGNED_CHAR CInteger One(U8);
    0x247 BYTE Byte One(U8);
    0x248 INT16_T CInteger One(I16);
    0x249 UINT16_T CInteger One(U16);
    0x250 INT32_T CInteger One(I32);
    0x251 UINT32_T CInteger One(U32);
    0x258 INT64_T CInteger One(I64);
    0x259 UINT64_T CInteger One(U64);
    0x2c0 LOGICAL1 Logical One(I8);
    0x2c1 INTEGER1 FortranInteger One(I8);
    0x2c8 LOGICAL2 Logical One(I16);
    0x2c9 INTEGER2 FortranInteger One(I16);
    0x2ca REAL2 FloatingPoint One(F16);
    0x2d0 LOGICAL4 Logical One(I32);
    0x2d1 INTEGER4 FortranInteger One(I32);
    0x2d2 REAL4 FloatingPoint One(F32);
    0x2d3 COMPLEX4 Complex Complex(F16);
    0x2d8 LOGICAL8 Logical One(I64);
    0x2d9 INTEGER8 FortranInteger One(I64);
    0x2da REAL8 FloatingPoint One(F64);
    0x2db COMPLEX8 Complex Complex(F32);
    0x2e0 LOGICAL16 Logical One(I128);
    0x2e1 INTEGER16 FortranInteger One(I128);
    0x2e2 REAL16 FloatingPoint One(F128);
    0x2e3 COMPLEX16 Complex Complex(F64);
    0x2eb COMPLEX32 Complex Complex(F128);
}

/// Index of the row of each of the 256 codes; 255 where there is none.
const ROW_OF: [u8; 256] = {
    let mut rows = [u8::MAX; 256];
    let mut row = 0;
    while row < PREDEFINED.len() {
        rows[(PREDEFINED[row].code - NULL_CODE) as usize] = row as u8;
        row += 1;
    }
    rows
};

const _: () = assert!(PREDEFINED.len() == 70);

/// The Fortran type of a class that has `size` bytes (MPI_Type_match_size).
///
/// # Errors
/// MPI_ERR_ARG when the class is unknown or has no type of this size.
pub fn match_size(class: i32, size: i32) -> Result<&'static Predefined> {
    // The ABI's numbers of the classes: logical (an extension), integer, real, complex.
    let instance = match class {
        191 => 0,
        192 => 1,
        193 => 2,
        194 => 3,
        _ => {
            let expected = "MPI_TYPECLASS_INTEGER, MPI_TYPECLASS_REAL or MPI_TYPECLASS_COMPLEX";
            return Err(Error::argument(
                ErrorClass::ERR_ARG,
                "typeclass",
                class,
                expected,
            ));
        }
    };
    let exponent = u32::try_from(size)
        .ok()
        .filter(|size| size.is_power_of_two() && *size <= 32)
        .map(u32::trailing_zeros);
    exponent
        .and_then(|exponent| Predefined::find(0x2c0 | exponent << 3 | instance))
        .ok_or_else(|| {
            let expected = "the size of a type of this class";
            Error::argument(ErrorClass::ERR_ARG, "size", size, expected)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_in_the_codes_are_the_sizes_of_the_rows() {
        let fixed = PREDEFINED.iter().filter(|row| row.code & 0x340 == 0x240);
        assert_eq!(fixed.clone().count(), 30);
        for row in fixed {
            assert_eq!(row.size(), 1 << (row.code >> 3 & 7), "{}", row.name);
        }
    }

    #[test]
    fn every_row_is_found_by_its_code() {
        let found = (0..0x400).filter_map(Predefined::find).count();
        assert_eq!(found, PREDEFINED.len());
        assert!(
            PREDEFINED
                .iter()
                .all(|row| Predefined::find(row.code) == Some(row))
        );
        assert_eq!(Predefined::find(NULL_CODE), None);
    }

    #[test]
    fn pairs_are_padded_like_c_structs() {
        let measured = [
            (FLOAT_INT, 8, 8),
            (DOUBLE_INT, 12, 16),
            (LONG_INT, 12, 16),
            (TWO_INT, 8, 8),
            (SHORT_INT, 6, 8),
            (LONG_DOUBLE_INT, 20, 32),
            (TWO_DOUBLE_PRECISION, 16, 16),
        ];
        for (code, size, extent) in measured {
            let row = Predefined::find(code).unwrap();
            let layout = row.shape.layout();
            assert_eq!(
                (layout.size(), layout.extent()),
                (size, extent),
                "{}",
                row.name
            );
            assert_eq!((row.size(), row.shape.extent()), (size, extent as usize));
        }
    }

    #[test]
    fn sizes_match_fortran_types() {
        assert_eq!(match_size(192, 8).unwrap().name, "MPI_INTEGER8");
        assert_eq!(match_size(193, 4).unwrap().name, "MPI_REAL4");
        assert_eq!(match_size(194, 32).unwrap().name, "MPI_COMPLEX32");
        for (class, size) in [(192, 3), (193, 32), (194, 2), (190, 4), (192, -8)] {
            assert_eq!(
                match_size(class, size).unwrap_err().class(),
                ErrorClass::ERR_ARG
            );
        }
    }
}
