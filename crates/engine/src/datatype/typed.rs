// SPDX-License-Identifier: MIT OR Apache-2.0
//! The basic types of datatypes, made on first use.

use std::sync::Arc;

use sys::sync::{AtomicBool, Ordering};

use super::Datatype;
use super::construct::VALUE_INDEX;
use super::contents::Combiner;
use super::predefined::Predefined;
use super::sequence::{NamedSignature, TypeSequence};
use super::signature::of_row;

/// Whether messages carry their type signatures.
static CHECKS: AtomicBool = AtomicBool::new(false);

/// Whether blocks of collectives carry their signatures.
static SIGNS: AtomicBool = AtomicBool::new(false);

/// From now on blocks of collectives carry their signatures, in the whole program.
pub(crate) fn start_signing() {
    SIGNS.store(true, Ordering::Relaxed);
}

/// Whether blocks of collectives carry their signatures (`RANKPOINT_CHECK=collectives`).
pub(crate) fn is_signing() -> bool {
    SIGNS.load(Ordering::Relaxed)
}

/// From now on messages carry their type signatures, in the whole program.
pub(crate) fn start_checking() {
    CHECKS.store(true, Ordering::Relaxed);
}

/// Whether messages carry their type signatures (`RANKPOINT_CHECK=types`): faces then pass the signature with the memory.
#[inline]
pub fn checks_types() -> bool {
    CHECKS.load(Ordering::Relaxed)
}

impl Datatype {
    /// The sequence of basic types of an element, and the type's name. The first call takes time in proportion to the number
    /// of old types.
    pub fn typed(&self) -> &NamedSignature {
        let mut stack = vec![self];
        while let Some(&last) = stack.last() {
            if last.typed.get().is_none() {
                let before = stack.len();
                let parts = last.contents().types.iter().map(|part| &***part);
                stack.extend(parts.filter(|part| part.typed.get().is_none()));
                if stack.len() > before {
                    continue;
                }
            }
            last.typed.get_or_init(|| last.make_typed());
            stack.pop();
        }
        self.typed.get_or_init(|| self.make_typed())
    }

    /// Joins the sequences of the old types, which exist.
    fn make_typed(&self) -> NamedSignature {
        let contents = self.contents();
        let part = |part: &Arc<Self>| part.typed.get().map(|typed| typed.sequence.clone());
        let sequence = if let Some(row) = self.row().or_else(|| self.reduces_as()) {
            sequence_of_row(row)
        } else if contents.combiner == Combiner::Struct {
            let parts = contents.types.iter().zip(contents.block_lengths());
            TypeSequence::of_parts(parts.filter_map(|(old, length)| Some((length, part(old)?))))
        } else if let Some(old) = contents.types.first() {
            let copies = self.size().checked_div(old.size()).unwrap_or(0);
            TypeSequence::of_parts(part(old).map(|old| (copies as u64, old)).into_iter())
        } else {
            TypeSequence::of_parts(std::iter::empty())
        };
        let name = self.name();
        let name = if !name.is_empty() {
            name
        } else if let Some(basic) = sequence.basic_name() {
            format!("{:?} of {basic}", contents.combiner)
        } else {
            format!("{:?}", contents.combiner)
        };
        NamedSignature {
            sequence,
            name: name.into(),
        }
    }
}

/// A pair is its value and its index.
fn sequence_of_row(row: &'static Predefined) -> Arc<TypeSequence> {
    let basic = |row: &'static Predefined| TypeSequence::basic(of_row(row), row.name);
    let part = |code: u32| Some((1, basic(Predefined::find(code)?)));
    match VALUE_INDEX.iter().find(|(_, _, pair)| *pair == row.code) {
        Some(&(value, index, _)) => {
            TypeSequence::of_parts([part(value), part(index)].into_iter().flatten())
        }
        None => basic(row),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Types;
    use super::super::{Width, predefined};
    use super::*;
    use crate::identity::PeerIndex;

    fn named(code: u32) -> Arc<Datatype> {
        Predefined::find(code).unwrap().datatype().clone()
    }

    /// Whether a message of `sent` elements may be received as `received` ones.
    fn matches(sent: (&Arc<Datatype>, usize), received: (&Arc<Datatype>, usize)) -> bool {
        let signature = Types::new((sent.0.typed(), sent.1)).signature();
        let receive = Types::new((received.0.typed(), received.1));
        receive.mismatch(&signature, PeerIndex::new(0)).is_none()
    }

    #[test]
    fn only_the_sequence_of_basic_types_counts() {
        let (int, double) = (named(predefined::INT), named(predefined::DOUBLE));
        let width = Width::Int;
        let vector = Datatype::vector(3, 2, 5, &int, width).unwrap();
        let listed = Datatype::indexed(&[1, 5], &[9, 0], &int, width).unwrap();
        assert!(matches((&vector, 2), (&int, 12)));
        assert!(matches((&int, 5), (&listed, 1)));
        assert!(matches((&vector, 4), (&listed, 4)));
        assert!(!matches((&int, 7), (&listed, 1)));
        assert!(!matches((&vector, 1), (&double, 9)));

        let types = [int.clone(), double.clone()];
        let record = Datatype::structure(&[2, 1], &[0, 8], &types, width).unwrap();
        let moved = Datatype::structure(&[2, 1], &[40, 0], &types, width).unwrap();
        let turned = [double.clone(), int.clone()];
        let turned = Datatype::structure(&[1, 2], &[0, 8], &turned, width).unwrap();
        assert!(matches((&record, 3), (&moved, 3)));
        assert!(matches((&int, 2), (&record, 1)));
        assert!(!matches((&int, 3), (&record, 1)));
        assert!(!matches((&record, 1), (&turned, 1)));
        let column = Datatype::subarray(&[4, 4], &[2, 1], &[1, 0], 12, &record, width).unwrap();
        let kept = Datatype::resized(-8, 99, &Datatype::dup(&column).unwrap(), width).unwrap();
        assert!(matches((&kept, 2), (&record, 4)));
        let empty = Datatype::contiguous(0, &int, width).unwrap();
        assert!(matches((&empty, 5), (&double, 0)));
    }

    #[test]
    fn bytes_packed_data_pairs_and_kinds_match_as_the_standard_says() {
        let (int, byte) = (named(predefined::INT), named(predefined::BYTE));
        let (packed, double) = (named(predefined::PACKED), named(predefined::DOUBLE));
        assert!(matches((&byte, 8), (&byte, 8)));
        assert!(!matches((&byte, 8), (&int, 2)) && !matches((&int, 2), (&byte, 8)));
        assert!(matches((&packed, 8), (&int, 2)) && matches((&int, 2), (&packed, 8)));
        // Names and languages do not matter; kinds, signs and sizes do.
        assert!(matches((&int, 2), (&named(predefined::INTEGER), 2)));
        assert!(!matches((&int, 2), (&named(predefined::UNSIGNED), 2)));
        assert!(matches(
            (&named(predefined::LONG), 2),
            (&named(predefined::INT64_T), 2)
        ));
        assert!(!matches((&int, 2), (&named(predefined::FLOAT), 2)));
        assert!(!matches((&int, 2), (&named(predefined::LONG), 1)));
        let pair = named(predefined::DOUBLE_INT);
        let record = Datatype::structure(&[1, 1], &[0, 8], &[double, int], Width::Int).unwrap();
        assert!(matches((&pair, 3), (&record, 3)));
        let kind = |digits| Datatype::f90_real(digits, 30).unwrap();
        assert!(matches((&kind(6), 2), (&kind(6), 2)));
        assert!(matches((&kind(6), 2), (&named(predefined::REAL4), 2)));
        assert!(!matches((&kind(6), 2), (&kind(10), 1)));
    }

    #[test]
    fn names_are_the_program_s_or_say_what_the_type_is() {
        let int = named(predefined::INT);
        let vector = Datatype::vector(3, 2, 5, &int, Width::Int).unwrap();
        assert_eq!(&*int.typed().name, "MPI_INT");
        assert_eq!(&*vector.typed().name, "Vector of MPI_INT");
        let column = Datatype::vector(3, 2, 5, &int, Width::Int).unwrap();
        column.set_name("column");
        assert_eq!(&*column.typed().name, "column");
        let types = [int, named(predefined::CHAR)];
        let record = Datatype::structure(&[1, 1], &[0, 4], &types, Width::Int).unwrap();
        assert_eq!(&*record.typed().name, "Struct");
    }

    #[test]
    fn chains_of_any_depth_have_a_sequence() {
        let mut datatype = named(predefined::INT);
        for level in 0..4_000 {
            let types = [datatype.clone(), named(predefined::CHAR)];
            datatype = if level % 2 == 0 {
                Datatype::structure(&[1, 1], &[0, 4], &types, Width::Int).unwrap()
            } else {
                Datatype::resized(0, 8, &datatype, Width::Int).unwrap()
            };
        }
        assert!(matches((&datatype, 3), (&datatype, 4)));
    }
}
