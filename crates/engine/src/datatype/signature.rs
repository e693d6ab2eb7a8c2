// SPDX-License-Identifier: MIT OR Apache-2.0
//! Type signatures (MPI-5.0, section 5.1): the sequence of basic types, as a number that is compared between ranks.
//!
//! A basic type is a letter, and a letter is a map x -> a x + b modulo a prime. A sequence is the composition of its letters:
//! the same for the same sequence however it was constructed, another one for another order, and a repetition of n elements
//! takes log n steps. Letters are equal where the standard lets types of different languages meet: integers, floating point
//! numbers, complex numbers, characters and booleans of the same size.

use std::collections::HashMap;
use std::sync::Arc;

use super::Datatype;
use super::contents::{Combiner, Old};
use super::predefined::{Category, Number, PREDEFINED, Predefined, Shape};

/// 2^31 - 1.
const PRIME: u64 = 0x7fff_ffff;

/// A sequence of basic types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Signature(u64);

impl Signature {
    /// Unknown: of MPI_PACKED, or where the caller declares no types.
    pub const UNKNOWN: Self = Self(0);
    /// No basic types.
    pub const EMPTY: Self = Self(1 << 32);

    /// The signature with this number.
    pub const fn from_word(word: u64) -> Self {
        Self(word)
    }

    /// The signature as a number, different for different signatures.
    pub const fn to_word(self) -> u64 {
        self.0
    }

    fn letter(number: u64) -> Self {
        // Any constants that spread small numbers will do.
        let mixed = |factor: u64| (number + 1).wrapping_mul(factor) >> 16;
        let slope = mixed(0x9e37_79b9_7f4a_7c15) % (PRIME - 2) + 2;
        let offset = mixed(0xc2b2_ae3d_27d4_eb4f) % PRIME;
        Self(slope << 32 | offset)
    }

    /// This sequence, then another.
    #[must_use]
    pub const fn then(self, next: Self) -> Self {
        if self.0 == 0 || next.0 == 0 {
            return Self::UNKNOWN;
        }
        let (a, b) = (self.0 >> 32, self.0 & 0xffff_ffff);
        let (c, d) = (next.0 >> 32, next.0 & 0xffff_ffff);
        Self(((a * c % PRIME) << 32) | ((c * b + d) % PRIME))
    }

    /// This sequence so many times.
    #[must_use]
    pub const fn times(self, count: u64) -> Self {
        let (mut result, mut power, mut rest) = (Self::EMPTY, self, count);
        while rest > 0 {
            if rest % 2 == 1 {
                result = result.then(power);
            }
            power = power.then(power);
            rest /= 2;
        }
        result
    }

    /// Whether two sequences are known to differ.
    pub fn differs_from(self, other: Self) -> bool {
        self != other && self != Self::UNKNOWN && other != Self::UNKNOWN
    }

    /// The first predefined type with this signature.
    pub fn name(self) -> Option<&'static str> {
        let row = PREDEFINED.iter().find(|row| of_row(row) == self);
        row.filter(|_| self != Self::UNKNOWN).map(|row| row.name)
    }
}

/// Of one element of a predefined type.
pub(super) fn of_row(row: &Predefined) -> Signature {
    let class = match row.category {
        Category::CInteger | Category::FortranInteger | Category::MultiLanguage => 1,
        Category::FloatingPoint => 2,
        Category::Logical => 3,
        Category::Complex => 4,
        Category::Byte => 5,
        Category::Char | Category::Opaque => 6,
        Category::Pair => 0,
    };
    let is_float = |number: Number| {
        matches!(
            number,
            Number::F16 | Number::F32 | Number::F64 | Number::F80 | Number::F128
        )
    };
    let one = |class: u64, number: Number| Signature::letter(class * 256 + number as u64);
    match row.shape {
        _ if row.name == "MPI_PACKED" => Signature::UNKNOWN,
        // Characters of C and Fortran.
        Shape::One(number) if class == 6 => Signature::letter(6 * 256 + number.size() as u64),
        Shape::One(number) | Shape::Complex(number) => one(class, number),
        Shape::Pair(value, index) => {
            let part = |number| one(if is_float(number) { 2 } else { 1 }, number);
            part(value).then(part(index))
        }
    }
}

impl Datatype {
    /// The signature of one element.
    pub fn signature(&self) -> Signature {
        if let Some(row) = self.row().or_else(|| self.reduces_as()) {
            return of_row(row);
        }
        // Parts before wholes, each once: types may be nested deeper than the stack, and share parts.
        let mut known: HashMap<*const Self, Signature> = HashMap::new();
        let mut open: Vec<&Self> = vec![self];
        while let Some(&datatype) = open.last() {
            let missing = |part: &&Old| !known.contains_key(&Arc::as_ptr(part));
            match datatype.contents().types.iter().find(missing) {
                Some(part) => open.push(part),
                None => {
                    let signature = datatype.signature_of_parts(&known);
                    known.insert(std::ptr::from_ref(datatype), signature);
                    open.pop();
                }
            }
        }
        known[&std::ptr::from_ref(self)]
    }

    fn signature_of_parts(&self, known: &HashMap<*const Self, Signature>) -> Signature {
        if let Some(row) = self.row().or_else(|| self.reduces_as()) {
            return of_row(row);
        }
        let contents = self.contents();
        let parts = contents
            .types
            .iter()
            .map(|part| (part, known[&Arc::as_ptr(part)]));
        if contents.combiner == Combiner::Struct {
            let mut whole = Signature::EMPTY;
            for ((_, part), length) in parts.zip(contents.block_lengths()) {
                whole = whole.then(part.times(length));
            }
            return whole;
        }
        // All other constructors repeat their only type.
        parts.fold(Signature::EMPTY, |whole, (part, signature)| {
            let count = self.elements().checked_div(part.elements()).unwrap_or(0);
            whole.then(signature.times(count))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Width, predefined};
    use super::*;

    fn named(code: u32) -> Arc<Datatype> {
        Predefined::find(code).unwrap().datatype().clone()
    }

    #[test]
    fn equal_sequences_are_equal_however_they_were_made() {
        let (int, double) = (named(predefined::INT), named(predefined::DOUBLE));
        let five = Datatype::contiguous(5, &int, Width::Int).unwrap();
        let spread = Datatype::vector(5, 1, 3, &int, Width::Int).unwrap();
        let expected = int.signature().times(5);
        assert_eq!(five.signature(), expected);
        assert_eq!(spread.signature(), expected);
        let ten = Datatype::contiguous(2, &spread, Width::Int).unwrap();
        assert_eq!(ten.signature(), int.signature().times(10));
        let types = [int.clone(), double.clone()];
        let record = Datatype::structure(&[2, 1], &[0, 8], &types, Width::Int).unwrap();
        let by_hand = int
            .signature()
            .then(int.signature())
            .then(double.signature());
        assert_eq!(record.signature(), by_hand);
        assert_eq!(record.signature().times(0), Signature::EMPTY);
    }

    #[test]
    fn other_sequences_differ() {
        let (int, double) = (
            named(predefined::INT).signature(),
            named(predefined::DOUBLE).signature(),
        );
        assert!(int.then(double).differs_from(double.then(int)));
        assert!(int.times(3).differs_from(int.times(4)));
        assert!(!int.differs_from(named(predefined::PACKED).signature()));
        assert!(!int.differs_from(named(predefined::INTEGER).signature()));
        // Every letter is one, and only types that may meet share theirs.
        let mut all: Vec<_> = PREDEFINED.iter().map(of_row).collect();
        all.sort_by_key(|one| one.to_word());
        all.dedup();
        assert!(all.len() > 20, "{}", all.len());
        assert_eq!(int.name(), Some("MPI_INT"));
        assert_eq!(int.times(2).name(), Some("MPI_2INT"));
        assert_eq!(double.times(7).name(), None);
    }

    #[test]
    fn deep_and_shared_types_take_no_time() {
        let mut datatype = named(predefined::SHORT);
        for _ in 0..40 {
            let twice = [datatype.clone(), datatype.clone()];
            let apart = datatype.layout().extent();
            datatype = Datatype::structure(&[1, 1], &[0, apart], &twice, Width::Count).unwrap();
        }
        let short = named(predefined::SHORT).signature();
        assert_eq!(datatype.signature(), short.times(1 << 40));
    }
}
