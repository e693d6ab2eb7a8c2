// SPDX-License-Identifier: MIT OR Apache-2.0
//! The data representation `external32` (MPI-5.0, section 15.5.2): big-endian, with sizes that are the same everywhere.
//!
//! Data are packed in the processor's representation and converted number by number. Numbers have the size they have here, but for
//! C's `long` (4 bytes) and `wchar_t` (2 bytes); the x87 format becomes IEEE binary128.

use std::sync::Arc;

use super::contents::Combiner;
use super::predefined::{Number, Shape};
use super::{Datatype, Predefined};
use crate::errors::{Error, ErrorClass, Result};

/// How a number is represented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// The same bytes in the other order.
    Swapped(usize),
    /// A signed number of which the low half travels.
    SignedHalf(usize),
    /// An unsigned number of which the low half travels.
    UnsignedHalf(usize),
    /// The x87 format as binary128.
    Extended,
}

impl Form {
    const fn native(self) -> usize {
        match self {
            Self::Swapped(bytes) | Self::SignedHalf(bytes) | Self::UnsignedHalf(bytes) => bytes,
            Self::Extended => 16,
        }
    }

    const fn external(self) -> usize {
        match self {
            Self::Swapped(bytes) => bytes,
            Self::SignedHalf(bytes) | Self::UnsignedHalf(bytes) => bytes / 2,
            Self::Extended => 16,
        }
    }

    fn of_number(number: Number) -> Self {
        match number {
            Number::F80 => Self::Extended,
            other => Self::Swapped(other.size()),
        }
    }

    /// The numbers of one element of a predefined type: up to two forms.
    fn of(row: &Predefined) -> (Self, Option<Self>) {
        match (row.name, row.shape) {
            ("MPI_LONG", _) => (Self::SignedHalf(8), None),
            ("MPI_UNSIGNED_LONG", _) => (Self::UnsignedHalf(8), None),
            ("MPI_WCHAR", _) => (Self::UnsignedHalf(4), None),
            ("MPI_LONG_INT", _) => (Self::SignedHalf(8), Some(Self::Swapped(4))),
            (_, Shape::One(number)) => (Self::of_number(number), None),
            (_, Shape::Complex(part)) => (Self::of_number(part), Some(Self::of_number(part))),
            (_, Shape::Pair(value, index)) => {
                (Self::of_number(value), Some(Self::of_number(index)))
            }
        }
    }

    /// Converts one number to its external form.
    fn encode(self, native: &[u8], external: &mut [u8]) -> Result<()> {
        match self {
            Self::Swapped(_) => copy_reversed(native, external),
            Self::SignedHalf(bytes) | Self::UnsignedHalf(bytes) => {
                let (low, high) = native.split_at(bytes / 2);
                let negative = matches!(self, Self::SignedHalf(_)) && low[low.len() - 1] & 128 != 0;
                let filler = if negative { 0xff } else { 0 };
                if high.iter().any(|&byte| byte != filler) {
                    let text = format!("a number does not fit into {} bytes", bytes / 2);
                    return Err(Error::new(ErrorClass::ERR_CONVERSION, text));
                }
                copy_reversed(low, external);
            }
            Self::Extended => {
                let mut bits = [0; 16];
                bits[..10].copy_from_slice(&native[..10]);
                let bits = u128::from_le_bytes(bits);
                let sign_and_exponent = bits >> 64 << 112;
                // The explicit first bit of the fraction is implied in the other format.
                let fraction = (bits & (u128::from(u64::MAX) >> 1)) << 49;
                external.copy_from_slice(&(sign_and_exponent | fraction).to_be_bytes());
            }
        }
        Ok(())
    }

    /// Converts one number from its external form.
    fn decode(self, external: &[u8], native: &mut [u8]) {
        match self {
            Self::Swapped(_) => copy_reversed(external, native),
            Self::SignedHalf(bytes) | Self::UnsignedHalf(bytes) => {
                let (low, high) = native.split_at_mut(bytes / 2);
                copy_reversed(external, low);
                let negative = matches!(self, Self::SignedHalf(_)) && external[0] & 128 != 0;
                high.fill(if negative { 0xff } else { 0 });
            }
            Self::Extended => {
                let mut bits = [0; 16];
                bits.copy_from_slice(external);
                let bits = u128::from_be_bytes(bits);
                let exponent = (bits >> 112) as u16 & 0x7fff;
                let fraction = (bits << 16 >> 65) as u64;
                let first = u64::from(exponent != 0) << 63;
                native.fill(0);
                native[..8].copy_from_slice(&(first | fraction).to_le_bytes());
                native[8..10].copy_from_slice(&((bits >> 112) as u16).to_le_bytes());
            }
        }
    }
}

fn copy_reversed(from: &[u8], to: &mut [u8]) {
    for (target, byte) in to.iter_mut().zip(from.iter().rev()) {
        *target = *byte;
    }
}

/// Where a conversion has come in both representations.
struct Walk<'a, F: FnMut(Form, usize, usize) -> Result<()>> {
    native: usize,
    external: usize,
    action: &'a mut F,
}

impl<F: FnMut(Form, usize, usize) -> Result<()>> Walk<'_, F> {
    fn numbers(&mut self, row: &Predefined, count: u64) -> Result<()> {
        let (first, second) = Form::of(row);
        for _ in 0..count {
            for form in [Some(first), second].into_iter().flatten() {
                (self.action)(form, self.native, self.external)?;
                self.native += form.native();
                self.external += form.external();
            }
        }
        Ok(())
    }

    /// Walks `count` elements. The remaining work is a list, because recursion over deeply nested types would overflow the stack.
    fn elements(&mut self, datatype: &Arc<Datatype>, count: u64) -> Result<()> {
        let mut left = vec![(datatype, count)];
        while let Some((datatype, count)) = left.pop() {
            if count == 0 || datatype.size() == 0 {
                continue;
            }
            if let Some(row) = datatype.row() {
                self.numbers(row, count)?;
                continue;
            }
            let contents = datatype.contents();
            if contents.combiner != Combiner::Struct {
                // However often the constructor repeats its type, it repeats it in packing order.
                let old = &contents.types[0];
                let times = (datatype.size() / old.size().max(1)) as u64;
                left.push((old, times * count));
                continue;
            }
            left.push((datatype, count - 1));
            let lengths = contents.block_lengths();
            let parts = contents.types.iter().map(|old| &**old).zip(lengths);
            left.extend(parts.rev());
        }
        Ok(())
    }
}

impl Datatype {
    /// Calls `action` with the form and both positions of each number of `count` elements.
    fn for_each_number(
        self: &Arc<Self>,
        count: u64,
        mut action: impl FnMut(Form, usize, usize) -> Result<()>,
    ) -> Result<()> {
        let mut walk = Walk {
            native: 0,
            external: 0,
            action: &mut action,
        };
        walk.elements(self, count)
    }

    /// Bytes of one element in `external32`.
    pub fn external_size(self: &Arc<Self>) -> u64 {
        let mut bytes = 0;
        let mut left = vec![(self, 1)];
        while let Some((datatype, count)) = left.pop() {
            if let Some(row) = datatype.row() {
                let (first, second) = Form::of(row);
                let each = first.external() + second.map_or(0, Form::external);
                bytes += each as u64 * count;
                continue;
            }
            let contents = datatype.contents();
            if contents.combiner == Combiner::Struct {
                let lengths = contents.block_lengths();
                let parts = contents.types.iter().zip(lengths);
                left.extend(parts.map(|(part, length)| (&**part, length * count)));
            } else if let Some(old) = contents.types.first().filter(|old| old.size() > 0) {
                left.push((old, (datatype.size() / old.size()) as u64 * count));
            }
        }
        bytes
    }

    /// Converts packed elements to `external32`. Both slices hold as many elements.
    ///
    /// # Errors
    /// MPI_ERR_CONVERSION for a number that does not fit.
    pub fn encode_external(
        self: &Arc<Self>,
        count: u64,
        native: &[u8],
        external: &mut [u8],
    ) -> Result<()> {
        self.for_each_number(count, |form, from, to| {
            let target = &mut external[to..to + form.external()];
            form.encode(&native[from..from + form.native()], target)
        })
    }

    /// Converts elements from `external32` to packed ones. Both slices hold as many elements.
    ///
    /// # Errors
    /// None at present.
    pub fn decode_external(
        self: &Arc<Self>,
        count: u64,
        external: &[u8],
        native: &mut [u8],
    ) -> Result<()> {
        self.for_each_number(count, |form, to, from| {
            let target = &mut native[to..to + form.native()];
            form.decode(&external[from..from + form.external()], target);
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Width, predefined};
    use super::*;

    fn named(name: &str) -> Arc<Datatype> {
        let row = (0..0x400)
            .filter_map(Predefined::find)
            .find(|row| row.name == name);
        row.unwrap().datatype().clone()
    }

    fn there_and_back(datatype: &Arc<Datatype>, native: &[u8], external: &[u8]) {
        let count = (native.len() / datatype.size()) as u64;
        assert_eq!(datatype.external_size() * count, external.len() as u64);
        let mut out = vec![0; external.len()];
        datatype.encode_external(count, native, &mut out).unwrap();
        assert_eq!(out, external);
        let mut back = vec![0xaa; native.len()];
        datatype
            .decode_external(count, external, &mut back)
            .unwrap();
        assert_eq!(back, native);
    }

    #[test]
    fn numbers_become_big_endian() {
        there_and_back(&named("MPI_SHORT"), &[1, 2, 3, 4], &[2, 1, 4, 3]);
        there_and_back(
            &named("MPI_LONG"),
            &(-2i64).to_le_bytes(),
            &[255, 255, 255, 254],
        );
        there_and_back(
            &named("MPI_UNSIGNED_LONG"),
            &0xfffe_dcbau64.to_le_bytes(),
            &[0xff, 0xfe, 0xdc, 0xba],
        );
        there_and_back(
            &named("MPI_DOUBLE"),
            &1.5f64.to_le_bytes(),
            &1.5f64.to_be_bytes(),
        );
        let complex = [1.5f32.to_le_bytes(), 2.5f32.to_le_bytes()].concat();
        let swapped = [1.5f32.to_be_bytes(), 2.5f32.to_be_bytes()].concat();
        there_and_back(&named("MPI_C_FLOAT_COMPLEX"), &complex, &swapped);
    }

    #[test]
    fn extended_numbers_become_binary128() {
        // -1.5: sign and exponent 0xbfff, fraction 1.1 in binary with its first bit.
        let mut native = [0; 16];
        native[7] = 0xc0;
        native[8] = 0xff;
        native[9] = 0xbf;
        let mut external = [0; 16];
        external[..3].copy_from_slice(&[0xbf, 0xff, 0x80]);
        there_and_back(&named("MPI_LONG_DOUBLE"), &native, &external);
        there_and_back(&named("MPI_LONG_DOUBLE"), &[0; 16], &[0; 16]);
    }

    #[test]
    fn a_number_that_does_not_fit_is_an_error() {
        let mut out = [0; 4];
        for value in [1i64 << 31, -(1 << 31) - 1] {
            let error = named("MPI_LONG").encode_external(1, &value.to_le_bytes(), &mut out);
            assert_eq!(error.unwrap_err().class(), ErrorClass::ERR_CONVERSION);
        }
    }

    #[test]
    fn sizes_are_computed_and_not_counted() {
        let long = named("MPI_LONG");
        let many = Datatype::contiguous(1 << 40, &long, Width::Count).unwrap();
        assert_eq!(many.external_size(), 1 << 42);
        let none = Datatype::contiguous(0, &long, Width::Int).unwrap();
        assert_eq!(none.external_size(), 0);
    }

    #[test]
    fn structs_are_walked_in_packing_order() {
        let types = [named("MPI_INT"), named("MPI_LONG"), named("MPI_CHAR")];
        let record = Datatype::structure(&[1, 2, 3], &[0, 8, 24], &types, Width::Int).unwrap();
        let two = Datatype::vector(2, 1, 3, &record, Width::Int).unwrap();
        let mut native = Vec::new();
        let mut external = Vec::new();
        for number in 0..2u8 {
            native.extend(i32::from(number).to_le_bytes());
            external.extend(i32::from(number).to_be_bytes());
            for long in [5i64, -7] {
                native.extend(long.to_le_bytes());
                external.extend((long as i32).to_be_bytes());
            }
            native.extend([1, 2, 3]);
            external.extend([1, 2, 3]);
        }
        there_and_back(&two, &native, &external);
        let pair = Predefined::find(predefined::SHORT_INT).unwrap().datatype();
        there_and_back(pair, &[1, 0, 2, 0, 0, 0], &[0, 1, 0, 0, 0, 2]);
    }
}
