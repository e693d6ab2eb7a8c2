// SPDX-License-Identifier: MIT OR Apache-2.0
//! The one predefined type of which a datatype consists, which accumulates need (MPI-5.0, section 12.3.4).

use std::collections::HashSet;

use super::contents::Combiner;
use super::signature::{Signature, of_row};
use super::{Datatype, Predefined};

impl Predefined {
    /// Whether elements of both types are the same numbers: types of different languages or names may be.
    pub(crate) fn agrees_with(&self, other: &Self) -> bool {
        let signature = of_row(self);
        self.code == other.code || (signature == of_row(other) && signature != Signature::UNKNOWN)
    }
}

impl Datatype {
    /// The predefined type of all basic elements, if they have the same.
    #[inline(always)]
    pub fn basic(&self) -> Option<&'static Predefined> {
        self.reduces_as().or_else(|| self.basic_of_parts())
    }

    #[inline(never)]
    fn basic_of_parts(&self) -> Option<&'static Predefined> {
        *self.basic.get_or_init(|| self.find_basic())
    }

    fn find_basic(&self) -> Option<&'static Predefined> {
        let mut found: Option<&'static Predefined> = None;
        // Types may be nested deeper than the stack, and share parts.
        let mut seen: HashSet<*const Self> = HashSet::new();
        let mut open: Vec<&Self> = vec![self];
        while let Some(datatype) = open.pop() {
            if datatype.elements() == 0 || !seen.insert(datatype) {
                continue;
            }
            if let Some(row) = datatype.reduces_as() {
                if found.is_some_and(|found| !found.agrees_with(row)) {
                    return None;
                }
                found = found.or(Some(row));
                continue;
            }
            let contents = datatype.contents();
            if contents.combiner == Combiner::Struct {
                let parts = contents.types.iter().zip(contents.block_lengths());
                open.extend(
                    parts
                        .filter(|(_, length)| *length > 0)
                        .map(|(old, _)| &***old),
                );
            } else {
                open.extend(contents.types.iter().map(|old| &***old));
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::{Width, predefined};
    use super::*;

    fn named(code: u32) -> Arc<Datatype> {
        Predefined::find(code).unwrap().datatype().clone()
    }

    #[test]
    fn types_of_one_number_have_a_basic_type() {
        let (int, double) = (named(predefined::INT), named(predefined::DOUBLE));
        let name = |datatype: &Datatype| datatype.basic().map(|row| row.name);
        assert_eq!(name(&int), Some("MPI_INT"));
        let spread = Datatype::vector(5, 1, 3, &double, Width::Int).unwrap();
        let twice = Datatype::contiguous(2, &spread, Width::Int).unwrap();
        assert_eq!(name(&twice), Some("MPI_DOUBLE"));
        let structure = |lengths: &[i64], types: &[Arc<Datatype>]| {
            Datatype::structure(lengths, &[0, 64], types, Width::Int).unwrap()
        };
        let mixed = [int.clone(), double.clone()];
        assert_eq!(name(&structure(&[1, 1], &mixed)), None);
        assert_eq!(name(&structure(&[0, 1], &mixed)), Some("MPI_DOUBLE"));
        let languages = structure(&[1, 1], &[int.clone(), named(predefined::INTEGER)]);
        assert!(languages.basic().unwrap().agrees_with(int.row().unwrap()));
        assert_eq!(name(&structure(&[0, 0], &mixed)), None);
    }
}
